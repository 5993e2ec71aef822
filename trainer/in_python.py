"""`heddle train`, `evaluate` and `timeline` as functions, for notebooks and programs.

Settings are written as they are typed, a text each: `train("workload=ycsb", "search.seconds=60")`.
What goes wrong is an exception whose message says what would be right. `train` starts processes, so
a program calls it behind `if __name__ == "__main__":`, as Python's `multiprocessing` demands; a
notebook need not.
"""

from __future__ import annotations

from envs import Comparison, MeasuringError
from envs.timeline import Timeline
from trainer.command.errors import INTERRUPTED
from trainer.command.evaluate import evaluate_settings, measure
from trainer.command.timeline import record as record_timeline
from trainer.command.timeline import timeline_settings
from trainer.command.train import train_once, with_resume
from trainer.report.saved_run import SavedRun, read_run


def train(*settings: str) -> SavedRun:
    """Learn a policy, choose the best by measuring anew, compare it with the baselines.

    Args:
        settings: as `heddle train` takes them; `resume=RUN` resumes a run.

    Returns:
        What the run left in its folder: policy, learning curve, and the comparisons in each of
        its scenarios, of which there is one unless `robust.scenarios` says otherwise.

    Raises:
        UsageError: a setting is wrong.
        UnknownPolicyError, PolicyFileError: a policy can't be found, or is not for the workload.
        RunFolderError, CheckpointError, HeldError, WritingError: the run's folder can't be used.
        MeasuringError: nothing can run, or the database was not consistent afterwards.
        KeyboardInterrupt: it was interrupted; `resume=RUN` resumes it.
    """
    ended = train_once(*with_resume(settings))
    if ended.code == INTERRUPTED:
        raise KeyboardInterrupt
    run = read_run(ended.folder)
    for scenario in run.scenarios:
        _refuse_violations(scenario.comparison)
        _refuse_violations(scenario.validation)
    return run


def evaluate(*settings: str) -> Comparison:
    """Measure protocols and policies side by side, in interleaved repeats.

    Args:
        settings: as `heddle evaluate` takes them, such as `policy=silo,ic3,policy.json`.

    Returns:
        A row a policy; the first is what ratios are taken to.

    Raises:
        UsageError: a setting is wrong.
        UnknownPolicyError, PolicyFileError: a policy can't be found, or is not for the workload.
        MeasuringError: one can't run, or the database was not consistent afterwards.
        KeyboardInterrupt: it was interrupted.
    """
    comparison = measure(evaluate_settings(settings))
    if comparison.interrupted:
        raise KeyboardInterrupt
    _refuse_violations(comparison)
    return comparison


def record(*settings: str) -> Timeline:
    """Record every access, wait, publication, abort and commit of a short run on virtual cores.

    Args:
        settings: as `heddle timeline` takes them; `output=` and what is drawn are of no account.

    Raises:
        UsageError: a setting is wrong.
        UnknownPolicyError, PolicyFileError: the policy can't be found, or is not for the workload.
        MeasuringError: it can't run.
    """
    return record_timeline(timeline_settings(settings))


def _refuse_violations(comparison: Comparison | None) -> None:
    if comparison is not None and comparison.violations:
        raise MeasuringError(f"consistency violated: {'; '.join(comparison.violations)}")
