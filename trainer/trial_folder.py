"""The folder of a failing trial: the trial, the findings and the history."""

from __future__ import annotations

from pathlib import Path

from envs.trial import Trial, Verdict
from envs.trial_pool import TrialPool
from policies.errors import write_failure_reason
from trainer.checkpoint import WritingError, write_atomically

TRIAL_FILE = "trial.json"
HISTORY_FILE = "history.parquet"
FINDINGS_FILE = "findings.txt"


def keep_trial(trial: Trial, verdict: Verdict, folder: Path, pool: TrialPool) -> Path:
    """Write a trial and its findings, and its history if it can be reproduced.

    Args:
        trial: the trial.
        verdict: its verdict.
        folder: is created if it is missing.
        pool: runs the trial again for the history.

    Returns:
        The trial's file: `heddle check replay=FILE` runs it again.

    Raises:
        WritingError: it can't be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / HISTORY_FILE).unlink(missing_ok=True)
        if verdict.report and trial.machine["kind"] == "virtual":
            pool.run_one(trial, history=folder / HISTORY_FILE)
    except OSError as error:
        raise WritingError(f"{folder}: can't be written: {write_failure_reason(error)}") from error
    write_atomically(folder / TRIAL_FILE, trial.to_json())
    write_atomically(folder / FINDINGS_FILE, "\n".join(verdict.findings))
    return folder / TRIAL_FILE
