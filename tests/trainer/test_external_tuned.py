"""`heddle evaluate policy=external_tuned`, on SQLite."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from tests.envs.test_external import needs_sqlite
from trainer.command.main import heddle

BRIEF = (
    "workload=smallbank",
    "workload.accounts=100",
    "machine.cores=2",
    "run.seconds=0.05",
    "run.repeats=1",
    "verdict.repeats_max=1",
    "tuning.slice_seconds=0.01",
    "tuning.rounds=1",
    "tuning.finalists=2",
    "tuning.final_rounds=1",
)


@needs_sqlite
def test_the_settings_that_are_found_are_in_the_table() -> None:
    names = "policy=external_tuned:durability=off,external:durability=off"
    found = CliRunner().invoke(heddle, ["evaluate", names, *BRIEF])
    assert found.exit_code == 0, found.output
    assert "external_tuned:durability=off: 2 at a time, " in found.output
    assert "suit it best here (4 settings were tried)" in found.output
    assert "external_tuned:durability=off (2 at a time, " in found.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["evaluate", "policy=external_tuned:concurrency=3"], "finds concurrency itself; leave it"),
        (
            ["check", "policy=external_tuned", "machine=threads"],
            "only heddle evaluate has this name",
        ),
        (["evaluate", "policy=external_tuned", "machine=virtual"], "use machine=threads"),
    ],
)
def test_what_it_cannot_do_is_said_with_the_cure(arguments: list[str], message: str) -> None:
    settings = ["workload=smallbank", "workload.accounts=100", "machine.cores=2"]
    found = CliRunner().invoke(heddle, [*arguments, *settings])
    assert found.exit_code != 0
    assert message in found.output
    assert "Traceback" not in found.output
