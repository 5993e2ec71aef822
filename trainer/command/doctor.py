"""`heddle doctor`: report the machine and what will not work on it."""

from __future__ import annotations

from collections.abc import Sequence

import click
from rich import box
from rich.table import Table

from envs.host import this_host
from traces.result_file import JSON, print_json, with_format
from trainer.command.errors import FAILED, one_message
from trainer.command.output import print_table
from trainer.doctor import Finding, examine
from trainer.run_version import heddle_version


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@with_format
@one_message
def doctor(form: str) -> None:
    r"""Report what will not work on this machine.

    The command examines the engine, the libraries, cores, quotas, the clock source, memory, shared
    memory, the current folder and the limits that Ray depends on. It measures nothing.

    \b
    Exit codes: 0 Heddle works here; 1 a required component is missing.

    \b
    Examples:
      heddle doctor
      heddle doctor --format json
    """
    findings = examine()
    if form == JSON:
        print_json(
            {
                "schema_version": 1,
                "heddle_version": heddle_version(),
                "host": this_host().as_dict(),
                "findings": [finding.as_dict() for finding in findings],
            }
        )
    else:
        _show(findings)
    if any(finding.needed for finding in findings):
        raise SystemExit(FAILED)


def _show(findings: Sequence[Finding]) -> None:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("", no_wrap=True)
    table.add_column("what", no_wrap=True)
    table.add_column("found")
    for finding in findings:
        mark = "✗" if finding.needed else "!" if finding.effect else "✓"
        table.add_row(mark, finding.name, finding.found)
    print_table(table)
    problems = [finding for finding in findings if finding.effect]
    if not problems:
        click.echo("everything works here")
    for finding in problems:
        click.echo(f"{finding.name}: {finding.effect}; {finding.cure}")
