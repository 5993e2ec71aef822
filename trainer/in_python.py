"""`heddle train`, `evaluate` and `timeline` as functions, for notebooks and programs.

Settings are texts as on the command line: `train("workload=ycsb", "search.seconds=60")`. An error
is an exception whose message names the cure. `train` starts processes, so a program must call it
under `if __name__ == "__main__":`, as Python's `multiprocessing` requires; a notebook need not.
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
    """Learn a policy and compare it with the baselines.

    Args:
        settings: as `heddle train` takes them; `resume=RUN` resumes a run.

    Returns:
        The results in the run's folder: policy, learning curve, and the comparisons in each
        scenario, of which there is one unless `robust.scenarios` sets more.

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
        A row per policy; ratios are relative to the first.

    Raises:
        UsageError: a setting is wrong.
        UnknownPolicyError, PolicyFileError: a policy can't be found, or is not for the workload.
        MeasuringError: a policy can't run, or the database was not consistent afterwards.
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
        settings: as `heddle timeline` takes them; those of files and images have no effect.

    Raises:
        UsageError: a setting is wrong.
        UnknownPolicyError, PolicyFileError: the policy can't be found, or is not for the workload.
        MeasuringError: it can't run.
    """
    return record_timeline(timeline_settings(settings))


def _refuse_violations(comparison: Comparison | None) -> None:
    if comparison is not None and comparison.violations:
        raise MeasuringError(f"consistency violated: {'; '.join(comparison.violations)}")
