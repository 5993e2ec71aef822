"""A contest as people read it: one table a workload, as rows that a terminal and a page share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rich import box
from rich.table import Table

from trainer.contest.standing import CaseStanding, MethodStanding, Standing
from trainer.contest.statistics import Pair, smallest_p_of_blocks

SIGNIFICANT = 0.05


@dataclass(frozen=True)
class Sheet:
    """A table, before it is drawn.

    Attributes:
        title: above it.
        columns: the first is words, the others are figures.
        rows: as texts.
        notes: below it.
    """

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


def sheets(standing: Standing) -> Iterator[Sheet]:
    """All tables of a contest."""
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
            "all workloads: differences between methods, a pair of runs for each workload and seed",
            standing.overall,
            _words_of_all(standing),
        )


def as_table(sheet: Sheet) -> Table:
    """For a terminal."""
    table = Table(title=sheet.title, title_justify="left", box=box.SIMPLE_HEAD)
    for number, column in enumerate(sheet.columns):
        table.add_column(column, justify="right" if number else "left", no_wrap=not number)
    for row in sheet.rows:
        table.add_row(*row)
    table.caption = "; ".join(sheet.notes)
    table.caption_justify = "left"
    return table


def as_markdown(sheet: Sheet) -> str:
    """For a page."""
    lines = [f"### {sheet.title}", "", _line(sheet.columns)]
    lines.append(_line(["---", *("--:" for _ in sheet.columns[1:])]))
    lines += [_line(row) for row in sheet.rows]
    lines += ["", *(f"{note}.  " for note in sheet.notes), ""]
    return "\n".join(lines)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _methods(case: CaseStanding, share: float) -> Sheet:
    best = ", ".join(f"{name} {score:.3f}" for name, score in case.baselines.items())
    unequal = f"champions are of {case.evaluations} to {case.evaluations_max} evaluations: their "
    unequal += "scores are not of equal cost, and neither are the differences"
    return Sheet(
        f"{case.case}, {case.evaluations} evaluations a run",
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
            "Score: the champion's throughput ÷ silo_tuned's, measured anew, median over the runs",
            f"here silo_tuned has {case.tuned.words}; best known {case.best_known:.3f}; "
            f"baselines: {best}",
            *([unequal] if case.evaluations_max > case.evaluations else []),
            *(
                f"{method.unsuccessful} of {len(method.runs)} runs of {method.method} found no "
                "table that can be used, and count with the score 0"
                for method in case.methods
                if method.unsuccessful
            ),
        ),
    )


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
    """With how few evaluations the best method has what each other has after all of its own."""
    best = case.methods[0]
    return Sheet(
        f"{case.case}: how soon {best.method} has what the others end with",
        ("method", "ends with", "after", "had it after", f"{best.method} after", "runs", "share"),
        tuple(
            (
                one.method,
                f"{one.score:.3f}",
                f"{one.spent:.0f}",
                "–" if one.first is None else f"{one.first:.0f}",
                "–" if one.after is None else f"{one.after:.0f}",
                f"{one.runs}/{len(best.runs)}",
                "–" if one.share is None else f"{one.share:.1%}",
            )
            for one in case.overtakings
        ),
        (
            "In evaluations until it was there for the first time, medians over the runs; "
            "everything is measured anew",
        ),
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
        "of these workloads alone: seeds of one are no further workloads",
        *_too_few(smallest_p_of_blocks(standing.blocks), len(standing.overall)),
    )


def _too_few(smallest: float, pairs: int) -> tuple[str, ...]:
    """What is to be said where no difference can be significant."""
    least = smallest * pairs
    if least < SIGNIFICANT:
        return ()
    return (
        f"with so few runs no p is below {smallest:.2g}, {min(1.0, least):.2g} once "
        "corrected: nothing here can be significant",
    )
