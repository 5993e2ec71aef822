"""`heddle policy`: policy files, the bundled policies and MLflow's registry.

Exit codes of `diff`, as of diff(1): 0 no difference, 1 the policies differ, 2 bad input. Exit codes
of the others: 1 the disk is full or failed, or a policy does not hold; 2 bad input; 130 if
interrupted.
"""

from __future__ import annotations

import click

from traces.lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "show": LazyCommand("policies.command:show", "Draw a policy as a table."),
    "validate": LazyCommand("policies.command:validate", "Check that policies are valid."),
    "diff": LazyCommand("policies.command:diff", "List the cells in which two policies differ."),
    "convert": LazyCommand(
        "policies.command:convert", "Convert Polyjuice's text format into a policy file."
    ),
    "export": LazyCommand(
        "trainer.command.registry:export", "Write a policy of MLflow's registry to a file."
    ),
    "promote": LazyCommand(
        "trainer.command.registry:promote", "Make a version in the registry the champion."
    ),
    "list": LazyCommand("trainer.command.policy_library:list_", "List the bundled policies."),
    "verify": LazyCommand(
        "trainer.command.policy_library:verify", "Measure bundled policies again."
    ),
    "add": LazyCommand(
        "trainer.command.policy_library:add", "Measure a policy and add it to the bundled ones."
    ),
}
"""The commands below `heddle policy`, in the order of the help. To add one, name it here."""


@click.group(
    "policy",
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"]},
)
def policy() -> None:
    """Show, validate, compare, convert, export, promote, list, verify and add policies.

    POLICY is the path of a policy file, the name of a bundled policy (heddle policy list), a seed
    policy (occ, two_phase_locking_star, ic3, tebaldi, random:SEED), or a policy of MLflow's
    registry (registry:MODEL@ALIAS, registry:MODEL/VERSION). A seed policy is built for one
    workload, by default tpcc.
    """
