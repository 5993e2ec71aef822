"""`heddle lab`: research tools for search methods, schedules and classifiers.

Exit codes: 0 success, 1 a file could not be written, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import click

from traces.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "searches": LazyCommand(
        "trainer.command.contest:searches",
        "Compare search methods by the runs of a sweep.",
    ),
    "makespan": LazyCommand(
        "trainer.schedule.commands:makespan",
        "Print how many time units a schedule takes.",
    ),
    "schedules": LazyCommand(
        "trainer.schedule.commands:schedules",
        "Order a workload by every policy and compare them.",
    ),
    "sample": LazyCommand(
        "trainer.schedule.sampling_command:sample",
        "Draw serializable schedules uniformly.",
    ),
    "generate": LazyCommand(
        "trainer.schedule.generators.command:generate_workload",
        "Draw a workload: tpcc, ycsb, smallbank and others.",
    ),
    "classify": LazyCommand(
        "trainer.classifier.command:classify",
        "Learn from a trace which hot keys transactions touch.",
    ),
}
"""The commands below `heddle lab`, in the order of the help. To add one, name it here."""


@click.group(
    "lab",
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def lab() -> None:
    """Compare search methods, order transactions in a model, learn hot keys.

    In the model, a workload is a JSON file with a list of transactions. Each transaction is a list
    of [op, key] with op r (read), w (write) or * (a filler of one time unit). The makespan is that
    of "Towards Optimal Transaction Scheduling" (VLDB 2024), section 2.1.
    """
