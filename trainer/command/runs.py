"""`heddle runs`: list, compare, tag and remove the runs of `heddle train`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.table import Table

from traces.lazy_group import HintingGroup
from trainer.command.errors import FAILED, UsageError, one_message
from trainer.command.output import print_table
from trainer.run_folder import RunFolder, find_run_folder
from trainer.shell_words import heddle_command
from trainer.sweep_folder import find_sweep

if TYPE_CHECKING:
    from trainer.runs.summary import RunSummary

LISTED = 50
"""The default number of runs to list."""

COMPARE_MAX = 8
"""The most runs of a table; a page can show more."""

LIST_EXAMPLES = """
\b
Examples:
  heddle runs list
  heddle runs list --tag baseline --sort score
  heddle runs list --format json
"""
COMPARE_EXAMPLES = """
\b
Examples:
  heddle runs compare RUN OTHER
  heddle runs compare sweeps/SWEEP/001-tpcc-guided-seed1 sweeps/SWEEP/002-tpcc-guided-seed2
"""
TAG_EXAMPLES = """
\b
Examples:
  heddle runs tag RUN baseline ticket=42
  heddle runs tag RUN OTHER --untag baseline
"""
REMOVE_EXAMPLES = """
\b
Examples:
  heddle runs remove RUN
  heddle runs remove --yes RUN OTHER
"""

runs_dir_option = click.option(
    "--runs-dir",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Set the folder of the runs.",
)


format_option = click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="Print a table, or all results as JSON.",
)


@click.group(
    cls=HintingGroup,
    short_help="List, compare, tag and remove runs.",
    context_settings={"help_option_names": ["-h", "--help"]},
)
def runs() -> None:
    """List, compare, tag and remove the runs of heddle train.

    RUN is a run's name below --runs-dir, or its folder.
    """


@runs.command("list", epilog=LIST_EXAMPLES)
@runs_dir_option
@click.option(
    "--tag", "tags", multiple=True, metavar="KEY[=VALUE]", help="List only runs with this tag."
)
@click.option(
    "--sort",
    type=click.Choice(["began", "score", "size"]),
    default="began",
    show_default=True,
    help="Sort by start, score or size.",
)
@click.option(
    "-n",
    "--newest",
    type=click.IntRange(1),
    default=LISTED,
    show_default=True,
    help="List at most this number of runs.",
)
@format_option
@one_message
def list_runs(runs_dir: Path, tags: tuple[str, ...], sort: str, newest: int, form: str) -> None:
    """List runs, including those of sweeps, the newest last."""
    from trainer.runs.summary import find_runs, read_summary
    from trainer.runs.tags import TagError, parse_tags

    try:
        wanted = parse_tags(tags)
    except TagError as error:
        raise UsageError(str(error)) from error
    folders = find_runs(runs_dir)
    if not tags and sort == "began":
        folders = folders[-newest:]
    found = [read_summary(folder, runs_dir) for folder in folders]
    found = [
        run
        for run in found
        if all(key in run.tags and value in ("", run.tags[key]) for key, value in wanted.items())
    ]
    if sort == "score":
        found.sort(key=lambda run: run.score if run.score is not None else -1.0)
    elif sort == "size":
        found.sort(key=lambda run: run.bytes)
    found = found[-newest:]
    if form == "json":
        click.echo(json.dumps([run.as_dict() for run in found], indent=1, ensure_ascii=False))
        return
    if not found:
        tagged = f" with the tag {' '.join(tags)}" if tags else ""
        click.echo(f"no runs{tagged} in {runs_dir}")
        return
    print_table(_list_table(found))
    everything = len(find_runs(runs_dir))
    if not tags and everything > len(found):
        click.echo(f"the newest {len(found)} of {everything} runs; -n {everything} lists all")


def _list_table(found: Sequence[RunSummary]) -> Table:
    from trainer.runs.removal import size_words
    from trainer.runs.tags import tag_words

    table = Table(title="Runs")
    for name in ("run", "state", "workload", "machine", "search"):
        table.add_column(name, overflow="fold")
    table.add_column("× best baseline,\nmean of repeats", justify="right")
    table.add_column("on real cores", justify="right")
    table.add_column("verdict", overflow="fold")
    table.add_column("tags", overflow="fold")
    table.add_column("size", justify="right")
    for run in found:
        table.add_row(
            run.name,
            run.state,
            run.workload,
            run.machine,
            run.search,
            "–" if run.score is None else f"{run.score:.3f} × {run.baseline}",
            "–" if run.score_on_threads is None else f"{run.score_on_threads:.3f}",
            (run.verdict or "–").partition(":")[0],
            tag_words(run.tags) or "–",
            size_words(run.bytes),
        )
    return table


@runs.command(epilog=COMPARE_EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@runs_dir_option
@format_option
@one_message
def compare(names: tuple[str, ...], runs_dir: Path, form: str) -> None:
    """Show results of runs side by side, and the settings that differ.

    Compare throughput only of runs on the same machine, each without any other load. Ratios are
    always comparable, because both sides were measured in the same run.
    """
    from trainer.report.saved_run import SavedRunError, read_run
    from trainer.runs.comparing import differing, results, settings_of

    folders = _folders(names, runs_dir)
    if len(folders) < 2:
        raise UsageError("only one run is named; name two, such as heddle runs compare RUN OTHER")
    if len(folders) > COMPARE_MAX and form == "table":
        typed = heddle_command("report", *map(Path, names))
        raise UsageError(
            f"{len(folders)} runs are named; a table has at most {COMPARE_MAX}; make a page with: "
            f"{typed}"
        )
    try:
        saved = [read_run(folder) for folder in folders]
    except SavedRunError as error:
        raise UsageError(str(error)) from error
    tables = [results(run) for run in saved]
    settings = [settings_of(run) for run in saved]
    keys = differing(settings)
    if form == "json":
        document = [
            {"run": name, "results": found, "settings": {key: own.get(key) for key in keys}}
            for name, found, own in zip(names, tables, settings, strict=True)
        ]
        click.echo(json.dumps(document, indent=1, ensure_ascii=False))
        return
    rows = list(dict.fromkeys(row for found in tables for row in found))
    print_table(_side_by_side("Results", names, rows, tables))
    click.echo()
    if keys:
        print_table(_side_by_side("Settings that differ", names, keys, settings))
    else:
        click.echo("all settings are the same")


def _side_by_side(
    title: str, names: Sequence[str], rows: Sequence[str], tables: Sequence[dict[str, str]]
) -> Table:
    table = Table(title=title)
    table.add_column("", overflow="fold")
    for name in names:
        table.add_column(Path(name).name, justify="right", overflow="fold")
    for row in rows:
        table.add_row(row, *(found.get(row, "–") for found in tables))
    return table


@runs.command(epilog=TAG_EXAMPLES)
@click.argument("words", nargs=-1, required=True, metavar="RUN... [KEY[=VALUE]]...")
@runs_dir_option
@click.option("--untag", "removed", multiple=True, metavar="KEY", help="Remove a tag.")
@one_message
def tag(words: tuple[str, ...], runs_dir: Path, removed: tuple[str, ...]) -> None:
    """Tag runs, in their folders and in their MLflow records.

    An argument that names no run is a tag: KEY or KEY=VALUE.
    """
    from trainer.runs.recorded import RunRecord
    from trainer.runs.tags import TagError, parse_tags, read_tags, tag_words, write_tags

    names = [word for word in words if _is_run(word, runs_dir)]
    try:
        tags = parse_tags([word for word in words if word not in names])
    except TagError as error:
        raise UsageError(str(error)) from error
    if not names:
        _folders(words[:1], runs_dir)  # raises an error that lists the runs
    if not tags and not removed:
        raise UsageError("no tag is named; name one, such as heddle runs tag RUN baseline")
    for folder in _folders(names, runs_dir):
        earlier = read_tags(folder).items()
        kept = {key: value for key, value in earlier if key not in removed} | tags
        write_tags(folder, kept)
        click.echo(f"{folder.path}: {tag_words(kept) or 'no tags'}")
        failed = RunRecord(folder, runs_dir).tag(tags, removed)
        if failed is not None:
            click.echo(f"{folder.path}: the tags are only in its folder; {failed}", err=True)


@runs.command(epilog=REMOVE_EXAMPLES)
@click.argument("names", nargs=-1, required=True, metavar="RUN...")
@runs_dir_option
@click.option("--yes", is_flag=True, help="Remove without asking.")
@click.option("--keep-record", is_flag=True, help="Keep the MLflow record.")
@one_message
def remove(names: tuple[str, ...], runs_dir: Path, yes: bool, keep_record: bool) -> None:
    """Remove runs: their folders and their MLflow records.

    MLflow can restore deleted records until mlflow gc frees their storage. A record with a
    registered policy stays. A run in progress is not removed. A sweep that resumes repeats its
    removed runs.
    """
    from trainer.runs.recorded import RunRecord
    from trainer.runs.removal import refuse_link, remove_run, size_words
    from trainer.runs.summary import read_summary

    folders = _folders(names, runs_dir)
    for folder in folders:
        if reason := refuse_link(folder.path):
            raise UsageError(reason)
    for run in (read_summary(folder, runs_dir) for folder in folders):
        click.echo(f"{run.path}: {run.state}, {size_words(run.bytes)}")
    if not yes:
        many = f"these {len(folders)} runs" if len(folders) > 1 else "this run"
        click.confirm(f"remove {many}?", abort=True)
    failed = False
    for folder in folders:
        record = RunRecord(folder, runs_dir)
        try:
            remove_run(folder)
        except (ValueError, RuntimeError) as error:
            failed = True
            click.echo(f"error: {error}", err=True)
            continue
        stays = None if keep_record else record.delete()
        click.echo(f"removed: {folder.path}" + (f"; {stays}" if stays else ""))
    if failed:
        raise SystemExit(FAILED)


def _is_run(word: str, runs_dir: Path) -> bool:
    from trainer.runs.summary import is_run

    return any(is_run(path) for path in (runs_dir / word, Path(word)))


def _folders(names: Sequence[str], runs_dir: Path) -> list[RunFolder]:
    """Return the named runs.

    Raises:
        UsageError: a run is named twice, or a name is that of a sweep.
    """
    from trainer.runs.summary import is_run

    found: dict[Path, RunFolder] = {}
    for name in names:
        path = next((place for place in (runs_dir / name, Path(name)) if is_run(place)), None)
        if path is None:
            sweep = find_sweep(runs_dir, name)
            if sweep is not None:
                raise UsageError(f"{name}: is a sweep; name its runs, such as {sweep.path}/*")
            path = find_run_folder(runs_dir, name, name or "''").path
        if path.resolve() in found:
            raise UsageError(f"{name}: is named twice; name it once")
        found[path.resolve()] = RunFolder(path)
    return list(found.values())
