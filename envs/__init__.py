"""Measure protocols and policy tables on the engine, and compare them.

Importing the package registers `PolicyEnv` and `VectorPolicyEnv` with Gymnasium as
`heddle/Policy-v0`.
"""

from __future__ import annotations

from envs.backoff_sweep import BackoffSweep, SweepPlan, sweep_backoff
from envs.baselines import (
    BASELINES,
    UnknownPolicyError,
    is_tuned,
    policy_names,
    subject_of,
    with_backoff,
)
from envs.comparison import Comparison, ComparisonPlan, Row, compare
from envs.errors import Interrupted, MeasuringError
from envs.evaluator import THREADS, Evaluation, Evaluator
from envs.policy_watcher import Event, PolicyWatcher, Switched
from envs.published_policy import Missing, PublishedFile, PublishedPolicy, Refused
from envs.ratio_interval import RatioInterval, ratio_interval
from envs.registration import register
from envs.reseeded import reseeded
from envs.result import Arrivals, Machine, Result
from envs.round import Outcome, Run, RunRound, finished, run_in_turns
from envs.serving import Reloaded, Report, serve
from envs.subject import NATIVE, Subject, of_policy, scheduled, static_silo
from envs.table import comparison_table, machine_words
from envs.trimmed_mean import trimmed_mean
from envs.tuned_backoff import TUNED, TunedBackoff, untuned
from envs.type_result import Latency, TypeResult

register()

__all__ = [
    "BASELINES",
    "NATIVE",
    "THREADS",
    "TUNED",
    "Arrivals",
    "BackoffSweep",
    "Comparison",
    "ComparisonPlan",
    "Evaluation",
    "Evaluator",
    "Event",
    "Interrupted",
    "Latency",
    "Machine",
    "MeasuringError",
    "Missing",
    "Outcome",
    "PolicyWatcher",
    "PublishedFile",
    "PublishedPolicy",
    "RatioInterval",
    "Refused",
    "Reloaded",
    "Report",
    "Result",
    "Row",
    "Run",
    "RunRound",
    "Subject",
    "SweepPlan",
    "Switched",
    "TunedBackoff",
    "TypeResult",
    "UnknownPolicyError",
    "compare",
    "comparison_table",
    "finished",
    "is_tuned",
    "machine_words",
    "of_policy",
    "policy_names",
    "ratio_interval",
    "register",
    "reseeded",
    "run_in_turns",
    "scheduled",
    "serve",
    "static_silo",
    "subject_of",
    "sweep_backoff",
    "trimmed_mean",
    "untuned",
    "with_backoff",
]
