"""The results of a contest: one table per workload, as rows for a terminal and a page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from envs.objective import BEYOND, Objective
from trainer.contest.standing import CaseStanding, MethodStanding, Standing
from trainer.contest.statistics import Pair, smallest_p_of_blocks

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Sheet:
    """A table in rows.

    Attributes:
        title: above it.
        columns: the first has words, the others numbers.
        rows: as texts.
        notes: below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def sheets(standing: Standing) -> Iterator[Sheet]:
    """Yield all tables of a contest."""
    for case in standing.cases:
        yield _methods(case, standing.share)
        if case.overtakings:
            yield _overtakings(case)
        if case.pairs:
            yield _differences(
                f"{case.case}: differences between methods", case.pairs, _words(case)
            )
    if standing.overall and len(standing.cases) > 1:
        yield _differences(
            "all workloads: differences between methods, paired by workload and seed",
            standing.overall,
            _words_of_all(standing),
        )


def as_table(sheet: Sheet) -> Table:
    """Return the table for a terminal."""
    table = Table(title=sheet.title, title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(sheet.columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=not number)
    for row in sheet.rows:
        table.add_row(*row)
    table.caption = "; ".join(sheet.notes)
    table.caption_justify = "left"
    return table


def as_markdown(sheet: Sheet) -> str:
    """Return the table in Markdown."""
    lines = [f"### {sheet.title}", "", _line(sheet.columns)]
    lines.append(_line(["---", *("--:" for _ in sheet.columns[1:])]))
    lines += [_line(row) for row in sheet.rows]
    lines += ["", *(f"{note}.  " for note in sheet.notes), ""]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _methods(case: CaseStanding, share: float) -> Sheet:
    best = ", ".join(f"{name} {score:.3f}" for name, score in case.baselines.items())
    unequal = f"champions have {case.evaluations} to {case.evaluations_max} evaluations: their "
    unequal += "scores and the differences are not of equal cost"
    return Sheet(
        f"{case.case}, {case.evaluations} evaluations per run",
        (
            "method",
            "runs",
            "score",
            "quartiles",
            "area",
            f"to {share:.0%} of best",
            f"after {case.equal_seconds:.0f} s",
            "search s",
            "drop",
        ),
        tuple(_row(method) for method in case.methods),
        (
            f"Score: the champion's {case.objective.words} relative to silo_tuned, measured again, "
            f"median over the runs{'' if case.objective.is_throughput else '; above 1 is better'}",
            *_limits(case.objective),
            f"silo_tuned has {case.tuned.words} here; best known {case.best_known:.3f}; "
            f"baselines: {best}",
            *([unequal] if case.evaluations_max > case.evaluations else []),
            *(
                f"{method.unsuccessful} of {len(method.runs)} runs of {method.method} found no "
                "usable table, and count with the score 0"
                for method in case.methods
                if method.unsuccessful
            ),
        ),
    )


def _limits(objective: Objective) -> list[str]:
    """Return the note for a contest under limits."""
    if not objective.limits:
        return []
    limits = ", ".join(limit.text for limit in objective.limits)
    return [f"Limits: {limits}; a table that exceeds one has at most the score {BEYOND:g}"]


def _row(method: MethodStanding) -> tuple[str, ...]:
    score, after, drop = method.score, method.reached_after, method.drop
    reached = f"{method.reached}/{len(method.runs)} runs"
    return (
        method.method,
        str(len(method.runs)),
        f"{score.median:.3f}",
        f"{score.low:.3f} – {score.high:.3f}",
        f"{method.area.median:.3f}",
        reached if after is None else f"{after:.0f} ({reached})",
        f"{method.at_equal_time:.3f}",
        f"{method.seconds:.0f}",
        f"{drop.median:.1%} ({drop.low:.0%} – {drop.high:.0%})",
    )


def _overtakings(case: CaseStanding) -> Sheet:
    """Return the evaluations of the best method until it has the final score of each other one."""
    best = case.methods[0]
    return Sheet(
        f"{case.case}: evaluations until {best.method} has the final score of each other method",
        (
            "method",
            "final score",
            "evaluations",
            "had it after",
            f"{best.method} after",
            "runs",
            "share",
        ),
        tuple(
            (
                overtaking.method,
                f"{overtaking.score:.3f}",
                f"{overtaking.spent:.0f}",
                "–" if overtaking.first is None else f"{overtaking.first:.0f}",
                "–" if overtaking.after is None else f"{overtaking.after:.0f}",
                f"{overtaking.runs}/{len(best.runs)}",
                "–" if overtaking.share is None else f"{overtaking.share:.1%}",
            )
            for overtaking in case.overtakings
        ),
        ("Evaluations until the first time, medians over the runs; everything is measured again",),
    )


def _differences(title: str, pairs: Sequence[Pair], notes: tuple[str, ...]) -> Sheet:
    return Sheet(
        title,
        ("methods", "first is better", "p", "p corrected", "significant"),
        tuple(
            (
                f"{pair.first}, {pair.second}",
                f"{pair.effect:.0%}",
                f"{pair.p:.3g}",
                f"{pair.corrected:.3g}",
                "yes" if pair.corrected < SIGNIFICANT else "no",
            )
            for pair in pairs
        ),
        notes,
    )


def _words(case: CaseStanding) -> tuple[str, ...]:
    test = "Mann-Whitney, two-sided, corrected for the number of pairs by Holm"
    return (test, *_too_few(case.smallest_p, len(case.pairs)))


def _words_of_all(standing: Standing) -> tuple[str, ...]:
    return (
        "Wilcoxon's signed ranks, two-sided, corrected for the number of pairs by Holm",
        "for these workloads only: seeds of one are no further workloads",
        *_too_few(smallest_p_of_blocks(standing.blocks), len(standing.overall)),
    )


def _too_few(smallest: float, pairs: int) -> tuple[str, ...]:
    """Return the note for too few runs, with which no difference can be significant."""
    least = smallest * pairs
    if least < SIGNIFICANT:
        return ()
    return (
        f"with so few runs, p is at least {smallest:.2g}, or {min(1.0, least):.2g} when "
        "corrected: nothing here can be significant",
    )
