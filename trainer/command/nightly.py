"""`heddle nightly`: retrain when the peak hour shifts; publish only significant improvements."""

from __future__ import annotations

import click

from trainer.command.errors import UsageError, one_message, resumed_by
from trainer.command.settings import settings_text
from trainer.shell_words import heddle_command

DAYS, ROUNDS = 10, 5
"""Default nights of a backtest, and comparisons on each next day."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--rollback", is_flag=True, help="Serve the previous policy again.")
@click.option("--backtest", is_flag=True, help="Retrain on past days; measure each next day.")
@click.option(
    "--days", type=click.IntRange(min=1), help="Set the nights of a backtest. [default: 10]"
)
@click.option(
    "--rounds",
    type=click.IntRange(min=2),
    help="Set the comparisons on each next day. [default: 5]",
)
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@one_message
def nightly(
    settings: tuple[str, ...],
    rollback: bool,
    backtest: bool,
    days: int | None,
    rounds: int | None,
    show: bool,
) -> None:
    r"""Retrain when the peak hour of a trace shifts; publish only significant improvements.

    state=DIR is the folder with the served policy (policy.json), the previous policies and all
    decisions. A finished night is not repeated; an interrupted one resumes.

    --backtest retrains on the last --days days of a trace, each night with no knowledge of the
    days after it. It measures the served policy and all baselines on the peak hour of each next
    day, and writes backtest.md, backtest.json and backtest.png into state=DIR, a folder of its own.

    \b
    Exit codes:
      0: skipped, promoted, kept or rolled back; with --backtest done
      1: a step failed; with --backtest no day could be measured
      2: a setting is wrong or the folder is damaged
      3: the day can't be used
      4: there is too little to judge on
      5: another process uses the folder
      130: interrupted; the message has the command that resumes

    If the night fails, the published policy stays.

    \b
    Examples:
      heddle nightly trace=shop state=served
      heddle nightly trace=shop state=served day=2019-11-29 search.seconds=600
      heddle nightly --rollback state=served
      heddle nightly --backtest trace=shop state=backtest --days 30 machine.cores=48
    """
    if show:
        click.echo(settings_text("nightly", settings), nl=False)
        return
    if backtest:
        if rollback:
            raise UsageError("--rollback: has no effect with --backtest; leave one out")
        from trainer.command.backtest import run_past_nights

        run_past_nights(settings, days or DAYS, rounds or ROUNDS)
        return
    if days is not None or rounds is not None:
        option = "--rounds" if days is None else "--days"
        raise UsageError(f"{option}: has no effect without --backtest; add it, or leave this out")
    typed = [*settings, *(["--rollback"] if rollback else [])]
    with resumed_by(heddle_command("nightly", *typed)):
        from trainer.command.one_night import exit_code_of_night

        code = exit_code_of_night(settings, rollback)
    if code:
        raise SystemExit(code)
