"""`heddle trace record`: run a workload and record its trace."""

from __future__ import annotations

from pathlib import Path

import click

from envs import TUNED, Evaluator, is_tuned, machine_words, subject_of, untuned
from envs.recorded_trace import RecordedTrace
from envs.result import Result
from traces.errors import TraceError
from traces.manifest import RECORDER, Manifest, Source
from traces.new_folder import refuse_existing
from traces.output import bar, print_table
from traces.tally import Tally
from traces.writer import TraceWriter
from trainer.command.errors import UsageError, one_message
from trainer.command.evaluator import open_evaluator
from trainer.command.settings import compose_settings, settings_text
from trainer.config import RecordConfig, workload_options


@click.command("record", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@one_message
def record(settings: tuple[str, ...], show: bool) -> None:
    r"""Run a workload on real cores and write its trace.

    output= is the folder of the trace, which can be used like an imported one. For each transaction
    the trace has the accesses and keys of the attempt that committed or rolled back. Transactions
    that only read a snapshot have no accesses in it.

    \b
    Examples:
      heddle trace record output=tpcc
      heddle trace record workload=ycsb workload.theta=0.9 policy=ic3 seconds=2 output=hot
      heddle train workload=replay workload.trace=tpcc machine=virtual
    """
    if show:
        click.echo(settings_text("trace_record", settings), nl=False)
        return
    config = compose_settings("trace_record", settings, RecordConfig)
    folder = _folder(config)
    evaluator = open_evaluator(config.workload, config.machine, config.seed)
    try:
        result, trace = _run(config, evaluator)
    finally:
        evaluator.close()
    try:
        _write(config, folder, result, trace)
    except TraceError as error:
        raise UsageError(str(error)) from None


def _folder(config: RecordConfig) -> Path:
    """Return the folder for the trace; check the settings before anything runs.

    Raises:
        UsageError: the folder can't be used, or a setting is wrong.
    """
    if config.machine.kind != "threads":
        raise UsageError(
            f"machine={config.machine.kind}: a trace is recorded on real cores; leave it out. To "
            "record a run on virtual cores, use heddle timeline"
        )
    if is_tuned(config.policy):
        raise UsageError(f"policy={TUNED}: needs a sweep of its backoff; record silo instead")
    if not config.output:
        raise UsageError("output= names no folder; set it, such as output=trace")
    if "\0" in config.output:
        raise UsageError("output=: is not a path")
    folder = Path(config.output)
    try:
        refuse_existing(folder, config.replace)
    except TraceError as error:
        raise UsageError(str(error).replace("give --replace", "set replace=true")) from None
    return folder


def _run(config: RecordConfig, evaluator: Evaluator) -> tuple[Result, RecordedTrace]:
    subject = subject_of(config.policy, evaluator.signature, untuned)
    return evaluator.record_trace(
        subject, config.seconds, seed=config.seed, bytes_max=config.mib_max << 20
    )


def _write(config: RecordConfig, folder: Path, result: Result, trace: RecordedTrace) -> None:
    workload = workload_options(config.workload)
    where = machine_words(result.machine)
    files = (f"{workload.get('name', 'workload')} under {config.policy} on {where}",)
    manifest = Manifest(config.name or folder.absolute().name, Source(RECORDER, files), trace.types)
    tally = Tally()
    with (
        TraceWriter(folder, manifest, replace=config.replace) as writer,
        bar("writing", result.commits) as shown,
    ):
        for table in trace.tables(config.sessions):
            writer.write(table)
            tally.add(table)
            shown.update(tally.transactions.total(), "")
    print_table(tally.table())
    click.echo(f"{folder}: {tally.transactions_text()}")
    click.echo(
        f"recorded in {result.duration_s:.3g} s on {where}: {result.throughput:,.0f} commits/s"
    )
    if result.duration_s < 0.9 * config.seconds:
        click.echo(
            f"that is less than seconds={config.seconds:g}: the recording reached "
            f"mib_max={config.mib_max}; raise it for a longer trace"
        )
