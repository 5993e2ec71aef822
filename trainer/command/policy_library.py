"""The commands of `heddle policy` for the bundled policies: list, verify and add."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click
from omegaconf import OmegaConf
from rich import box
from rich.table import Table

from envs import BASELINES
from envs.host import this_host
from envs.objective import THROUGHPUT, Objective
from envs.workload import TRACED
from policies import PolicyDocument, PolicyFileError, load, save, shipped
from policies.command import HELP
from policies.errors import write_failure_reason
from policies.policy_digest import policy_digest
from policies.protocol import (
    EXTERNAL,
    ISOLATION,
    PLACES,
    STORE,
    fixed_options,
    protocol_name,
    store_name,
    typed,
    without_places,
)
from policies.shipped import library_names, library_path
from traces.result_file import JSON, OUTPUT, file_text, named_output, print_json, with_format
from trainer.checkpoint import write_atomically
from trainer.command.errors import FAILED, INTERRUPTED, LONGEST, UsageError, one_message
from trainer.command.groups import group_choices, group_settings
from trainer.command.output import (
    make_progress_console,
    print_table,
    refuse_bad_output,
    write_and_show,
)
from trainer.command.saved_settings import settings_of
from trainer.command.scenarios import as_trained, compose_scenarios
from trainer.command.settings import (
    compose_config,
    compose_settings,
    merge_overrides,
    parse_overrides,
    to_settings,
    value_of,
)
from trainer.config import TrainConfig, workload_options
from trainer.policy_library.entry import RECORD, Entry, adding, read_entry, with_record
from trainer.policy_library.measuring import (
    FRESH,
    Measurement,
    Scores,
    measure_scores,
    store_options,
)
from trainer.policy_library.naming import distinguishing_options, entry_name, invalid_name_reason
from trainer.policy_library.start import fit_to_store, nearest_entries
from trainer.policy_library.verdict import TOLERANCE, Verdict, verify_entry
from trainer.progress import make_display
from trainer.repeats import SEED_STRIDE
from trainer.run_folder import RunFolder, RunFolderError
from trainer.run_version import heddle_version
from trainer.search.space import store_of
from trainer.store_training import check_store_training, with_store_baselines

PROTOCOLS = "search.protocols"
"""The setting that names the store."""

LIST_EXAMPLES = """
\b
Examples:
  heddle policy list
  heddle policy list --folder shared/tables
  heddle evaluate policy=silo_tuned,tpcc_1_warehouse_48_virtual_cores machine=virtual
"""

VERIFY_EXAMPLES = """
\b
Examples:
  heddle policy verify
  heddle policy verify --quick
  heddle policy verify tpcc_1_warehouse_48_virtual_cores --seed 7
  heddle policy verify --folder shared/tables
"""

ADD_EXAMPLES = """
\b
Examples:
  heddle policy add runs/RUN
  heddle policy add policy.json workload.warehouses=4 machine.cores=16 --folder shared/tables
  heddle policy add policy.json 'search.protocols=[external:store=sqlite:folder=/data]'
"""


with_folder = click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Use the policies in this folder. [default: the library]",
)


@click.command("list", epilog=LIST_EXAMPLES, context_settings=HELP)
@with_folder
@with_format
@one_message
def list_(folder: Path | None, form: str) -> None:
    """List the bundled policies and their recorded scores.

    Scores of tables for the engine are simulated. Those of policies in front of an external store
    are from real cores, which the list names. The list shows the workload's contention and the
    options that differ from their defaults; the files have all options. An unreadable file is
    reported and left out, with exit code 1.
    """
    entries: list[Entry] = []
    unreadable = False
    for name in _names_in(folder):
        try:
            entries.append(read_entry(library_path(name, folder)))
        except PolicyFileError as error:
            unreadable = True
            click.echo(f"error: {error}", err=True)
    if form == JSON:
        print_json({"tables": [_listed(entry) for entry in entries]})
    else:
        in_engine = [entry for entry in entries if entry.measurement.store is None]
        in_store = [entry for entry in entries if entry.measurement.store is not None]
        if in_engine:
            print_table(_table_of(in_engine))
        if in_store:
            print_table(_store_table_of(in_store))
        for entry in entries:
            if notes := list(_notes(entry)):
                click.echo("\n  ".join([f"{entry.name}:", *notes]))
    if unreadable:
        raise SystemExit(FAILED)


def _names_in(folder: Path | None) -> list[str]:
    """Return the names of the tables in a folder; None: in the library.

    Raises:
        UsageError: there is no such folder, or no table in it.
    """
    if folder is None:
        return library_names()
    try:
        names = library_names(folder) if folder.is_dir() else None
    except (OSError, ValueError) as error:
        raise UsageError(f"--folder {folder}: can't be read: {error}") from None
    if names is None:
        raise UsageError(f"--folder {folder}: there is no such folder")
    if not names:
        raise UsageError(
            f"--folder {folder}: contains no table (*{shipped.ENDING}); add one with heddle policy "
            "add --folder"
        )
    return names


def _table_of(entries: Sequence[Entry]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("table", "workload", "virtual cores"):
        table.add_column(name)
    for name in ("× the best baseline", "measured"):
        table.add_column(name, justify="right")
    for entry in entries:
        how = entry.measurement
        table.add_row(
            entry.name,
            _workload_words(how.workload),
            str(how.cores),
            _margin_words(entry),
            entry.date[:10],
        )
    return table


def _store_table_of(entries: Sequence[Entry]) -> Table:
    """Return the policies in front of a store, whose notes say how they were measured."""
    table = Table(box=box.SIMPLE_HEAD)
    for name in ("policy in front of a store", "workload"):
        table.add_column(name)
    table.add_column("× the best baseline", justify="right")
    for entry in entries:
        table.add_row(entry.name, _workload_words(entry.measurement.workload), _margin_words(entry))
    return table


def _margin_words(entry: Entry) -> str:
    return f"{entry.margin:.2f} ({entry.best_baseline})"


def _notes(entry: Entry) -> Iterator[str]:
    """Yield what the table has no column for: an objective, and how a store was measured."""
    how = entry.measurement
    if how.objective != THROUGHPUT:
        yield how.objective.text
    if how.store is not None:
        options = {**how.store, ISOLATION: how.isolation}
        shown = (f"{key} {text}" for key, text in options.items() if key not in (STORE, *PLACES))
        yield ", ".join([store_name(how.store), *shown])
        yield f"measured {entry.date[:10]} on {entry.hardware}"


def _listed(entry: Entry) -> dict[str, object]:
    how = entry.measurement
    on_store = {"store": how.store, "isolation": how.isolation, "hardware": entry.hardware}
    return {
        "table": entry.name,
        "workload": dict(how.workload),
        "machine": how.machine["kind"],
        "cores": how.cores,
        **({} if how.store is None else on_store),
        "margin": entry.margin,
        "best_baseline": entry.best_baseline,
        "objective": entry.measurement.objective.as_dict(),
        "date": entry.date,
    }


@click.command(epilog=VERIFY_EXAMPLES, context_settings=HELP)
@click.argument("names", metavar="[TABLE|FILE|output=FILE]...", nargs=-1)
@click.option(
    "--tolerance",
    type=click.FloatRange(0.0, 1.0),
    help=f"Allow this relative loss of margin. [default: {TOLERANCE}; any in a store]",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 10**12),
    help="Measure on other inputs than those recorded.",
)
@click.option("--quick", is_flag=True, help="Measure only the best of the recorded baselines.")
@click.option(
    "--output", metavar="FILE", help="Write results to this file, CSV if it ends in .csv."
)
@click.option("--json", "json_file", hidden=True)  # the former name of --output
@with_folder
@with_format
@one_message
def verify(
    names: tuple[str, ...],
    tolerance: float | None,
    seed: int | None,
    quick: bool,
    output: str | None,
    json_file: str | None,
    folder: Path | None,
    form: str,
) -> None:
    """Measure bundled policies again; by default all of them.

    A policy holds if it is valid for its workload and unchanged since it was added, beats every
    baseline, and keeps its margin over the best baseline within the tolerance. The exit code is 1
    if a policy does not hold. One in front of a store needs the store and runs on real cores, where
    the margin depends on the hardware. The database is in the folder that TMPDIR names.
    """
    if tolerance is not None and math.isnan(tolerance):
        raise UsageError("--tolerance nan: must be from 0 to 1")
    words = [name for name in names if name.startswith(OUTPUT)]
    names = tuple(name for name in names if name not in words)
    named = named_output(words, *(Path(file) for file in (output, json_file) if file is not None))
    output = None if named is None else str(named)
    refuse_bad_output(output)
    there = _names_in(folder)
    entries = [_read(name, folder, there) for name in names or there]
    verdicts: list[Verdict] = []
    interrupted = False
    with make_display(make_progress_console()) as display:
        try:
            for at, entry in enumerate(entries, start=1):
                number = f"{at}/{len(entries)}"
                verdicts.append(verify_entry(entry, tolerance, seed, display, number, quick=quick))
        except KeyboardInterrupt:
            interrupted = True

    tables = [verdict.as_dict() for verdict in verdicts]
    document = {
        "version": heddle_version(),
        "host": this_host().as_dict(),
        "tolerance": tolerance,
        "seed": seed,
        "quick": quick,
        "interrupted": interrupted,
        "tables": tables,
    }

    def write() -> list[str]:
        if named is None:
            return []
        write_atomically(named, file_text(named, document, tables))
        return [f"results: {named}"]

    def show() -> None:
        if form == JSON:
            print_json(document)
        else:
            _show_verdicts(verdicts)

    write_and_show(write, show, as_json=form == JSON)
    if interrupted:
        click.echo(f"interrupted: {len(verdicts)} of {len(entries)} policies verified", err=True)
        raise SystemExit(INTERRUPTED)
    if any(verdict.problem for verdict in verdicts):
        raise SystemExit(FAILED)


def _show_verdicts(verdicts: list[Verdict]) -> None:
    print_table(_verdict_table(verdicts))
    for verdict in verdicts:
        if verdict.entry.changed:
            command = adding(verdict.entry.path)
            click.echo(
                f"{verdict.entry.name}: to keep the change, measure it again with: {command}",
                err=True,
            )


@click.command(epilog=ADD_EXAMPLES, context_settings=HELP)
@click.argument("source", metavar="RUN|FILE")
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option(
    "--name", help="Name the policy. [default: its present name, or its workload and cores]"
)
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    help="Write the file to this folder. [default: the library]",
)
@click.option("--replace", is_flag=True, help="Replace an existing policy of that name.")
@one_message
def add(
    source: str, settings: tuple[str, ...], name: str | None, folder: Path | None, replace: bool
) -> None:
    """Measure a trained policy and add it to the bundled ones.

    RUN is the folder of a run on virtual cores or in front of a store. FILE is a policy file whose
    provenance names workload and cores. The settings are those of heddle train. The policy is
    measured on inputs that its training has not seen, by the objective of its training. It is added
    only if it beats every baseline in every repeat, and is within its limits. The nearest policies
    of the library are measured as well.

    A policy in front of a store is compared with external and external_tuned, in the same store
    with the same durability and isolation. The file that is added has no folder and no dsn.
    """
    trained = _read_trained(source, settings)
    target = _target(trained, name, folder or shipped.FOLDER, replace)
    try:
        how = _measurement(trained)
        document = fit_to_store(trained.document, how.store)
        others = _others(document, how)
        with make_display(make_progress_console()) as display:
            scores = measure_scores(document, how, display, "compare", others)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from error
    print_table(_scores_table(scores))
    if scores.exceeded is not None:
        click.echo(f"not added: exceeds its limits: {scores.exceeded}", err=True)
        raise SystemExit(FAILED)
    if scores.unbeaten:
        click.echo(
            f"not added: {', '.join(scores.unbeaten)} was as fast in at least one repeat", err=True
        )
        raise SystemExit(FAILED)
    save(with_record(document, target.stem, how, scores), target)
    click.echo(f"added: {target}")
    best = min(scores.others, key=lambda name: scores.others[name], default=None)
    if best is not None and scores.others[best] < 1.0:
        click.echo(f"{best} is faster there; start a search from it with 'search.start=[{best}]'")


def _others(document: PolicyDocument, how: Measurement) -> dict[str, PolicyDocument]:
    """Return the nearest policies of the library that differ from the document."""
    mine = policy_digest(document)
    near = nearest_entries(how.workload, how.cores, document.signature, how.store)
    return {
        name: other
        for name, other in near.items()
        if policy_digest(other) != mine and name not in how.baselines
    }


@dataclass(frozen=True)
class _Trained:
    """A policy, and the settings under which to measure it.

    Attributes:
        document: the policy.
        config: the settings.
        stem: of the file's name.
        recorded: its recorded measurement; None if there is none.
        as_before: whether to repeat the recorded measurement, since no setting was given.
    """

    document: PolicyDocument
    config: TrainConfig
    stem: str
    recorded: Measurement | None = None
    as_before: bool = True

    def name(self) -> str:
        """Return its present name, or a name of its workload and cores if these have changed."""
        workload = workload_options(self.config.workload)
        cores = self.config.machine.cores or 0
        before, store = self.recorded, store_options(self.config.search)
        # There may be several tables of one place, and it must not replace the others.
        if (
            before is not None
            and (dict(before.workload), before.cores) == (workload, cores)
            and before.store == (None if store is None else without_places(store))
            and invalid_name_reason(self.stem) is None
        ):
            return self.stem
        return entry_name(workload, _usual_options(workload["name"]), cores, store)


def _measurement(trained: _Trained) -> Measurement:
    """Return how to measure a table: as recorded, if it is, but on inputs that it has not seen.

    Raises:
        ValueError: the record could not be read again.
    """
    seed = (trained.config.seed + FRESH) * SEED_STRIDE
    if trained.recorded is not None and trained.as_before:
        how = replace(trained.recorded, seed=seed)
    else:
        warmup = trained.document.provenance.get("warmup_s", 0.0)
        if not isinstance(warmup, int | float) or not 0.0 <= warmup < math.inf:
            raise ValueError(f"provenance.warmup_s={warmup!r}: must be a number of seconds")
        how = Measurement.of(trained.config, seed, _objective(trained.document), float(warmup))
    try:
        return Measurement.from_dict(how.as_dict())
    except ValueError as error:
        raise ValueError(f"can't be recorded: {error}") from error


def _objective(document: PolicyDocument) -> Objective:
    """Return the objective that a policy was trained for.

    Raises:
        ValueError: there are several, one for each scenario, or it can't be read.
    """
    found = document.provenance.get("objective", THROUGHPUT.as_dict())
    if isinstance(found, list):
        raise ValueError("its limits differ by scenario; the library has tables of one place")
    try:
        return Objective.from_dict(found)
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"provenance.objective can't be read: {error}") from None


def _read(name: str, folder: Path | None, there: Sequence[str]) -> Entry:
    """Read a table by its name in the folder, or by its file."""
    if name in there:
        return read_entry(library_path(name, folder))
    if not name.endswith(".json") and not Path(name).exists():
        where = "the library" if folder is None else folder
        raise UsageError(f"{name}: {where} has no such table; there are {', '.join(there)}")
    return read_entry(Path(name))


def _read_trained(source: str, settings: tuple[str, ...]) -> _Trained:
    path = Path(source)
    recorded = None
    if path.is_dir():
        folder = RunFolder(path)
        try:
            config, overrides = _settings_of_run(folder, settings)
        except RunFolderError as error:
            raise UsageError(f"{source}: is not a readable folder of a run") from error
        document = load(folder.policy)
    else:
        document = load(path)
        overrides = [*_settings_of(document, source), *settings]
        config = compose_settings("train", overrides, TrainConfig)
        if RECORD in document.provenance:
            with suppress(PolicyFileError):  # a new measurement replaces a damaged record
                recorded = read_entry(path).measurement
    config = as_trained(config, scenarios := compose_scenarios(config, overrides))
    if not path.is_dir() and value_of(settings, PROTOCOLS) is None:
        config = _in_its_store(config, document)
    try:
        if value_of(settings, PROTOCOLS) is not None and value_of(settings, "baselines") is None:
            config = _with_default_baselines(config)  # those of the run name its store
        config = with_store_baselines(config)
        check_store_training(config, scenarios)
    except ValueError as error:
        raise UsageError(f"{source}: {error}") from error
    if config.machine.kind != "virtual" and store_of(config.search) is None:
        raise UsageError(
            f"{source}: machine={config.machine.kind}: tables for the engine are measured on "
            "virtual cores; set machine=virtual"
        )
    if len(scenarios) > 1:
        raise UsageError(
            f"{source}: was trained for several workloads; set the one to measure, such as "
            "'robust.scenarios=[]' workload.warehouses=4"
        )
    if config.workload.get("name") in TRACED:
        raise UsageError(f"{source}: was trained for a trace, which the library can't contain")
    return _Trained(document, config, path.stem, recorded, as_before=not settings)


def _with_default_baselines(config: TrainConfig) -> TrainConfig:
    return replace(config, baselines=list(BASELINES)) if store_of(config.search) else config


def _in_its_store(config: TrainConfig, document: PolicyDocument) -> TrainConfig:
    """Return the settings with the store of a policy that is for one."""
    if protocol_name(document.protocol) != EXTERNAL:
        return config
    assert document.protocol is not None
    protocols = [typed(EXTERNAL, fixed_options(document.protocol["options"]))]
    return replace(config, search=replace(config.search, protocols=protocols))


def _settings_of_run(folder: RunFolder, settings: Sequence[str]) -> tuple[TrainConfig, list[str]]:
    """Return the settings of a run, changed by those of this command.

    Args:
        folder: of the run.
        settings: the overrides of this command.

    Returns:
        The settings, and their overrides: the run's, then those of this command.

    Raises:
        RunFolderError: the run's overrides can't be read.
        UsageError: a setting is wrong.
    """
    typed, made_with = settings_of(folder)
    if not settings:
        return made_with, typed
    overrides = merge_overrides(typed, settings)
    today = compose_config("train", overrides)
    merged = OmegaConf.structured(made_with)
    here = parse_overrides(settings)
    keys = [override.key_or_group.replace("/", ".") for override in here]
    # An experiment, which is not a setting itself, may set anything.
    if any(key.partition(".")[0] not in merged for key in keys) or any(o.is_delete() for o in here):
        return to_settings(today, TrainConfig), overrides
    for key in sorted(keys, key=lambda name: name.count(".")):  # a group before its settings
        OmegaConf.update(merged, key, OmegaConf.select(today, key), merge=False)
    return to_settings(merged, TrainConfig), overrides


def _settings_of(document: PolicyDocument, source: str) -> Iterator[str]:
    """Yield the workload, machine and seed of a policy's provenance as overrides.

    Runs of a policy for a store have the length of `timing=store`.
    """
    workload, machine = (document.provenance.get(key) for key in ("workload", "machine"))
    if (
        not isinstance(workload, dict)
        or not isinstance(machine, dict)
        or "name" not in workload
        or not machine.keys() >= {"kind", "cores"}
    ):
        raise UsageError(
            f"{source}: its provenance does not name workload, machine and cores; name the folder "
            "of the run that trained it"
        )
    # The seed determines the inputs that the policy has seen.
    if isinstance(seed := document.provenance.get("seed"), int):
        yield f"seed={seed}"
    if protocol_name(document.protocol) == EXTERNAL:
        yield "timing=store"
    yield f"machine={machine.get('kind')}"
    yield f"machine.cores={machine.get('cores')}"
    yield f"workload={workload['name']}"
    yield from (f"workload.{key}={value}" for key, value in workload.items() if key != "name")


def _target(trained: _Trained, name: str | None, folder: Path, replace: bool) -> Path:
    """Return the file to write; refuse one that can't be written, before anything is measured."""
    name = trained.name() if name is None else name
    _refuse_bad_name(name)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(
            f"--folder {folder}: can't be created: {write_failure_reason(error)}"
        ) from error
    target = folder / f"{name}.json"
    if target.exists() and not replace:
        raise UsageError(f"{target}: exists already; replace it with --replace, or set --name")
    refuse_bad_output(str(target), "--folder")
    return target


def _refuse_bad_name(name: str) -> None:
    """Refuse a name by which commands could not find the table.

    Raises:
        UsageError: it is one.
    """
    why = invalid_name_reason(name)
    if why is not None:
        raise UsageError(f"--name {name[:LONGEST]}: {why}")


def _usual_options(name: str) -> dict[str, str]:
    """Return a workload's default options; empty if there is no such workload."""
    if name not in group_choices()["workload"]:
        return {}
    return workload_options(group_settings("workload", name))


def _workload_words(workload: Mapping[str, str]) -> str:
    name = workload.get("name", "")
    shown = distinguishing_options(workload, _usual_options(name))
    return ", ".join([name, *(f"{key} {value}" for key, value in shown.items())])


def _scores_table(scores: Scores) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("compared with")
    table.add_column("ratio", justify="right")
    table.add_column("lowest of the repeats", justify="right")
    for name in sorted(scores.to, key=lambda name: scores.to[name]):
        lowest = scores.lowest.get(name, math.nan)
        table.add_row(name, f"{scores.to[name]:.3f}", f"{lowest:.3f}")
    table.add_section()
    for name, ratio in sorted(scores.others.items(), key=lambda item: item[1]):
        table.add_row(name, f"{ratio:.3f}", "")
    return table


def _verdict_table(verdicts: list[Verdict]) -> Table:
    table = Table(box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    table.add_column("× the best baseline\nrecorded", justify="right")
    table.add_column("\nnow", justify="right")
    table.add_column("verdict")
    for verdict in verdicts:
        now = verdict.scores
        table.add_row(
            verdict.entry.name,
            f"{verdict.entry.margin:.3f} ({verdict.entry.best_baseline})",
            f"{now.margin:.3f} ({now.best_baseline})" if now else "–",
            verdict.problem or "holds",
            style="bold red" if verdict.problem else None,
        )
    return table
