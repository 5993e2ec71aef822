"""A table of the scores of a policy that was trained for several workloads."""

from __future__ import annotations

from rich import box
from rich.table import Table

from envs import machine_words
from trainer.outcome import LEARNED, Closing, Outcome


def scenarios_table(outcome: Outcome, objective: str) -> Table:
    """Return a table of the learned policy's scores, by scenario and over all scenarios.

    Args:
        outcome: of a training that was compared in every scenario.
        objective: the heading of the last column.
    """
    table = Table(title="in all scenarios", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column(f"{LEARNED} ÷", no_wrap=True)
    for closing in outcome.closings:
        table.add_column(_heading(closing), justify="right", no_wrap=True)
    table.add_column(objective.replace(" ", "\n"), justify="right", no_wrap=True)
    by_scenario = [closing.comparison.scores(LEARNED) for closing in outcome.closings]
    for name, score in outcome.scores.items():
        table.add_row(name, *(f"{scores[name]:.3f}" for scores in by_scenario), f"{score:.3f}")
    table.caption = "throughput relative to each baseline: geometric means over the repeats"
    table.caption_justify = "left"
    return table


def _heading(closing: Closing) -> str:
    words = closing.scenario.label.split(", ")
    if not any(word.startswith("cores ") for word in words):
        words.append(machine_words(closing.comparison.rows[0].machine))
    return "\n".join(words)
