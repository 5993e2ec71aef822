"""`heddle machine compare`: compare the order of policies on virtual and real cores."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import Random

import click
from rich import box
from rich.table import Table

from envs import TUNED, Evaluator, Subject, is_tuned, of_policy, subject_of, untuned
from envs.fidelity import Fidelity, FidelityPlan, measure_fidelity
from envs.host import this_host
from policies import ACTION_GROUPS, Encoding, Signature, resolve, to_json
from policies.protocol import TABLE
from traces.result_file import JSON, print_json, with_format
from trainer.checkpoint import write_atomically
from trainer.command.comparing import as_list
from trainer.command.errors import UsageError, one_message
from trainer.command.output import (
    make_output_folder,
    make_progress_console,
    print_table,
    write_and_show,
)
from trainer.command.settings import compose_settings, settings_text
from trainer.config import FidelityConfig, workload_options
from trainer.evaluation.measure import Counter
from trainer.fidelity_plot import plot_fidelity
from trainer.progress import make_display
from trainer.run_version import heddle_version
from trainer.search.mutation import mutate_cells
from trainer.search.space import Space

GENTLEST, STEP = 0.02, 0.02
"""Probability of changing a cell in a table's first mutant, and its increase per mutant."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@with_format
@one_message
def compare(settings: tuple[str, ...], show: bool, form: str) -> None:
    r"""Compare the order of policies on virtual and real cores.

    The command runs policies on real cores and on as many virtual ones. It reports the rank
    correlation (Spearman, Kendall), the regret of trusting the virtual order, and the errors of
    throughput and abort rate. Calibrate first: machine/costs=FILE.

    \b
    Examples:
      heddle machine compare machine/costs=my-server.yaml output=fidelity
      heddle machine compare machine.cores=8 workload.warehouses=2 policy=silo,occ,learned.json
      heddle machine compare workload=ycsb workload.theta=0.9
    """
    overrides = [as_list(text) for text in settings]
    if show:
        click.echo(settings_text("fidelity", overrides), nl=False)
        return
    config = compose_settings("fidelity", overrides, FidelityConfig)
    if any(map(is_tuned, (config.reference, *config.policy))):
        name = "reference" if is_tuned(config.reference) else "policy"
        raise UsageError(
            f"{name}={TUNED}: needs a sweep of its backoff on each machine; use silo instead"
        )
    if config.machine.kind != "virtual":
        raise UsageError(
            f"machine={config.machine.kind}: must be the virtual machine, which is compared with "
            "real cores; leave it out, or set machine.cores"
        )
    usable = len(os.sched_getaffinity(0))
    cores = config.machine.cores or usable
    if cores > usable:
        raise UsageError(
            f"machine.cores={cores}: only {usable} real cores are usable here; set at most that"
        )
    folder = make_output_folder(config.output, "fidelity.json")
    found = _measure(config, cores)
    title = f"{cores} real cores and {cores} virtual ones, relative to {config.reference}"
    document = _document(config, cores, found)

    def show_results() -> None:
        if form == JSON:
            print_json(document)
        else:
            print_table(_table(found, title))
            click.echo(_words(found))
        for name, why in found.skipped.items():
            click.echo(f"not measured: {name}: {why}", err=True)

    write_and_show(
        lambda: _write(document, found, cores, config.reference, folder),
        show_results,
        as_json=form == JSON,
    )


def _measure(config: FidelityConfig, cores: int) -> Fidelity:
    workload = workload_options(config.workload)
    try:
        real = Evaluator(workload, cores, seed=config.seed)
        virtual = Evaluator(workload, cores, machine=config.machine.options(), seed=config.seed)
        reference = subject_of(config.reference, real.signature, untuned)
        subjects = _subjects(config, real.signature)
        if len(subjects) < 3:
            raise UsageError(
                f"{len(subjects)} policies to compare: three are needed; raise random= or mutated="
            )
    except ValueError as error:
        raise UsageError(str(error)) from error
    plan = FidelityPlan(
        config.seconds,
        config.rounds,
        config.warmup,
        config.virtual_seconds,
        config.virtual_rounds,
        config.virtual_warmup,
    )
    try:
        with make_display(make_progress_console()) as display:
            rounds = config.rounds + config.virtual_rounds
            counter = Counter(display, f"run {len(subjects)} policies on both machines", rounds)
            return measure_fidelity(
                real, virtual, subjects, reference, plan, config.seed, counter.step
            )
    finally:
        real.close()
        virtual.close()


def _subjects(config: FidelityConfig, signature: Signature) -> list[Subject]:
    """Return all policies to compare: the named ones, random tables, and mutants of the tables."""
    named = [subject_of(name, signature, untuned) for name in config.policy]
    drawn = [
        subject_of(f"random:{config.seed * 1000 + number}", signature, untuned)
        for number in range(config.random)
    ]
    return _distinct([*named, *drawn, *_mutants(config, signature)])


def _distinct(subjects: Sequence[Subject]) -> list[Subject]:
    """Return the policies under distinct names: files in different folders may share a name."""
    seen: dict[str, int] = {}
    renamed = []
    for subject in subjects:
        seen[subject.name] = seen.get(subject.name, 0) + 1
        number = seen[subject.name]
        renamed.append(
            subject if number == 1 else replace(subject, name=f"{subject.name} ({number})")
        )
    return renamed


def _mutants(config: FidelityConfig, signature: Signature) -> list[Subject]:
    """Return mutants of each table in turn, those with few changes first."""
    random = Random(config.seed)
    tables = [
        (name, resolve(name, signature))
        for name in config.policy
        if subject_of(name, signature, untuned).protocol == TABLE
    ]
    mutants = []
    for number in range(config.mutated if tables else 0):
        name, document = tables[number % len(tables)]
        plain, turn = replace(document, schedule=None), number // len(tables)
        encoding = Encoding(signature)
        mutant = encoding.encode(plain)
        mutate_cells(mutant, Space(encoding, ACTION_GROUPS), GENTLEST + STEP * turn, 99, random)
        label = f"{Path(name).stem}~{turn + 1}"
        mutated = encoding.decode(mutant, label, schedule=document.schedule)
        mutants.append(of_policy(label, to_json(mutated)))
    return mutants


def _table(found: Fidelity, title: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("policy", no_wrap=True)
    for name in ("real", "±", "virtual", "real commits/s", "virtual", "real aborts", "virtual"):
        table.add_column(name, justify="right", no_wrap=True)
    for point in found.points:
        table.add_row(
            point.name,
            f"{point.real:.3f}",
            f"{point.real_error:.3f}",
            f"{point.virtual:.3f}",
            f"{point.real_throughput:,.0f}",
            f"{point.virtual_throughput:,.0f}",
            f"{point.real_aborts:.1%}",
            f"{point.virtual_aborts:.1%}",
        )
    return table


def _words(found: Fidelity) -> str:
    chosen = max(found.points, key=lambda point: point.virtual)
    return (
        f"Spearman {found.spearman:.3f}, Kendall {found.kendall:.3f} over {len(found.points)} "
        f"policies\n"
        f"regret {found.regret:.1%}: the virtual machine would choose {chosen.name}, real cores "
        f"{found.points[0].name}\n"
        f"median error of throughput {found.throughput_error:.1%}, of the abort rate "
        f"{found.abort_error:.2%} of all attempts"
    )


def _document(config: FidelityConfig, cores: int, found: Fidelity) -> dict[str, object]:
    return found.as_dict(
        workload=workload_options(config.workload),
        machine=config.machine.options() | {"cores": str(cores)},
        seed=config.seed,
        version=heddle_version(),
        host=this_host().as_dict(),
    )


def _write(
    document: dict[str, object], found: Fidelity, cores: int, reference: str, folder: Path | None
) -> list[str]:
    """Write the files that output= asks for; return the lines that name them."""
    if folder is None:
        return []
    results, picture = folder / "fidelity.json", folder / "fidelity.png"
    write_atomically(results, json.dumps(document, indent=1) + "\n")
    plot_fidelity(found, cores, reference, picture)
    return [f"results: {results}", f"picture: {picture}"]
