"""The variance of latency of the best baseline and the learned table, for the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from envs import Subject, TunedBackoff, of_policy, subject_of, untuned, with_backoff
from policies import PolicyDocument, to_json
from policies.in_words import policy_words
from trainer.config import ReportVarianceConfig
from trainer.report.drawn import as_svg, style
from trainer.report.recording import recording_evaluator
from trainer.report.saved_run import SavedScenario
from trainer.variance.comparison import differences
from trainer.variance.factors import top_factors
from trainer.variance.picture import trees_figure
from trainer.variance.profile import Profile, profile_of
from trainer.variance.tables import recording_words
from trainer.variance.tree import TAIL

FACTORS = 3
LEAST_SHARE = 0.01
DRAWN_SHARE = 0.05


@dataclass(frozen=True)
class VarianceRow:
    """Latency of one transaction type under one policy.

    Attributes:
        type: name of the type.
        policy: display name of the policy.
        mean: mean latency in µs.
        sd: standard deviation in µs.
        p99: 99th percentile in µs.
        factors: the most responsible factors, each with its share of the variance.
    """

    type: str
    policy: str
    mean: str
    sd: str
    p99: str
    factors: list[str]


@dataclass(frozen=True)
class VarianceView:
    """The section of a scenario.

    Attributes:
        name: the scenario's label among several, in brackets.
        rows: the latencies, by type and policy.
        changes: for each type, the factors that make the difference.
        svg: the variance trees.
        note: a summary of the recordings.
    """

    name: str
    rows: list[VarianceRow]
    changes: list[str]
    svg: str
    note: str


def variance_view(
    run: SavedScenario,
    baseline: str,
    tuned: TunedBackoff | None,
    learned: tuple[str, PolicyDocument],
    config: ReportVarianceConfig,
    ident: str,
) -> VarianceView:
    """Record the best baseline and the learned table, and decompose their variance.

    Args:
        run: a scenario on virtual cores.
        baseline: name of the best baseline.
        tuned: the backoff of `silo_tuned` in the run; None if it was not tuned.
        learned: name of the learned table, and the table.
        config: the length of the recording.
        ident: one word, unique in the page.

    Raises:
        NoRecordingError: the recording is not possible.
    """
    with recording_evaluator(run) as evaluator:
        named = [subject_of(baseline, evaluator.signature, untuned)]
        subjects: Sequence[Subject] = with_backoff(named, tuned) if tuned is not None else named
        subjects = [*subjects, of_policy(learned[0], to_json(learned[1]))]
        profiles = [
            _named(
                profile_of(
                    evaluator.record_events(
                        subject,
                        config.seconds,
                        warmup=config.warmup,
                        seed=config.seed,
                        events=config.events,
                    )
                )
            )
            for subject in subjects
        ]
    types = list(dict.fromkeys(name for profile in profiles for name in profile.types))
    with style():
        svg = as_svg(trees_figure(profiles, types, DRAWN_SHARE), ident) if types else ""
    return VarianceView(
        name="",
        rows=[
            _row(name, profile) for name in types for profile in profiles if name in profile.types
        ],
        changes=_changes(profiles),
        svg=svg,
        note="; ".join(map(recording_words, profiles)) + ".",
    )


def _named(profile: Profile) -> Profile:
    return replace(profile, subject=policy_words(profile.subject))


def _row(name: str, profile: Profile) -> VarianceRow:
    kind = profile.types[name]
    return VarianceRow(
        type=name,
        policy=profile.subject,
        mean=_us(kind.tree.mean_us),
        sd=_us(kind.sd_us),
        p99=_us(kind.percentile_us(100 * TAIL)),
        factors=[
            f"{factor.words}: {factor.share:.0%}"
            for factor in top_factors(kind.tree, FACTORS, LEAST_SHARE)
        ],
    )


def _changes(profiles: Sequence[Profile]) -> list[str]:
    first, second = profiles
    found: Mapping[str, list[str]] = {
        difference.name: [f"{change.words} ({change.share:.0%})" for change in difference.changes]
        for difference in differences(first, second, FACTORS, LEAST_SHARE)
    }
    return [f"{name}: {', '.join(words)}" for name, words in found.items() if words]


def _us(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.1f}"
