"""`heddle schedule`: the offline model of schedules, and the classifier that they are made by.

Exit codes: 0 fine, 1 a file could not be written, 2 bad input, 130 interrupted.
"""

from __future__ import annotations

import click

from traces.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "makespan": LazyCommand(
        "trainer.schedule.commands:makespan",
        "Print how many time units a schedule takes.",
    ),
    "compare": LazyCommand(
        "trainer.schedule.commands:compare_policies",
        "Order a workload by every policy, and compare them.",
    ),
    "classify": LazyCommand(
        "trainer.classifier.command:classify",
        "Learn from a trace which hot keys transactions touch.",
    ),
    "sample": LazyCommand(
        "trainer.schedule.sampling_command:sample",
        "Draw serializable schedules uniformly.",
    ),
    "generate": LazyCommand(
        "trainer.schedule.generators.command:generate_workload",
        "Draw a workload: tpcc, ycsb, smallbank and others.",
    ),
}
"""The commands below `heddle schedule`, in the order of the help. To add one, name it here."""


@click.group(
    "schedule",
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def schedule() -> None:
    """Order a batch of known transactions so that it takes little time, in a model; learn hot keys.

    A workload is a JSON file: a list of transactions, each a list of [op, key] with op r (read),
    w (write) or * (a filler, which takes one time unit). The model is the makespan of "Towards
    Optimal Transaction Scheduling" (VLDB 2024), section 2.1.
    """
