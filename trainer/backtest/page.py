"""The page about a backtest, in Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from trainer.backtest.step import Step
from trainer.backtest.verdict import measured, no_gain_reasons, verdict_of
from trainer.nightly.page import markdown_table


def page_of(steps: Sequence[Step], confidence: float) -> str:
    """Return the page.

    Args:
        steps: all steps.
        confidence: of the intervals, 0 to 1.
    """
    verdict = verdict_of(steps)
    sections = [f"# Backtest of {len(steps)} night{'' if len(steps) == 1 else 's'}"]
    night = steps[0].night
    made_up = ", a synthetic trace" if night.synthetic else ""
    sections.append(f"Trace {night.trace}{made_up}, by Heddle {night.version}.")
    sections.append(verdict.line if verdict else "No day could be measured.")
    if reasons := no_gain_reasons(steps):
        sections += ["## Reasons for no gain", " ".join(reasons)]
    if days := measured(steps):
        sections += [
            "## Days",
            f"The whole peak hour of each day, on {days[0].machine}. A ratio is the throughput of "
            "the published policy relative to the day's best baseline, on the same inputs, in "
            f"{days[0].rounds} rounds with different schedules. The {confidence:.0%} interval is a "
            "bootstrap over the rounds. The backoff of silo_tuned is tuned on that same hour.",
            markdown_table([HEAD, *_rows(steps)]),
        ]
    if left_out := [step.reason for step in steps if step.next_day is None]:
        sections += ["## Not measured", "\n".join(f"- {reason}" for reason in left_out)]
    return "\n\n".join(sections) + "\n"


HEAD = (
    "night of",
    "ended",
    "next day",
    "requests",
    "conflict rate",
    "served",
    "best baseline",
    "commits/s",
    "aborts",
    "lost to conflicts",
    "published ÷ best",
    "from",
    "to",
)


def _rows(steps: Sequence[Step]) -> Iterator[tuple[str, ...]]:
    for step in steps:
        day = step.next_day
        if day is None:
            continue
        yield (
            f"{step.night.day}",
            f"{step.night.outcome}",
            f"{day.day} {day.hours}",
            f"{day.requests:,}",
            f"{day.conflict_rate:.4f}",
            day.served,
            day.best,
            f"{day.throughput[day.best]:,.0f}",
            f"{day.abort_rate[day.best]:.1%}",
            f"{day.to_conflicts:.0%}",
            f"{day.ratio:.4f}",
            f"{day.low:.4f}",
            f"{day.high:.4f}",
        )
