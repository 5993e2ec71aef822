"""`heddle machine calibrate`: measure the costs of virtual cores that model this machine."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

import click
from omegaconf import OmegaConf
from rich import box
from rich.table import Table

from envs.calibration import Calibration, CalibrationPlan, steps
from envs.calibration import calibrate as calibrate_here
from envs.engine_interface import load_engine
from envs.host import (
    Host,
    LoadMeter,
    disturbance_warning,
    local_machine,
    machine_warnings,
    this_host,
)
from trainer.checkpoint import WritingError, write_atomically
from trainer.command.costs import published_costs
from trainer.command.errors import FAILED, INTERRUPTED, UsageError, one_message
from trainer.command.output import make_progress_console, print_table, refuse_bad_output
from trainer.command.settings import compose_settings, settings_text
from trainer.config import CalibrateConfig
from trainer.evaluation.measure import Counter
from trainer.progress import make_display
from trainer.run_version import heddle_version


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@one_message
def calibrate(settings: tuple[str, ...], show: bool) -> None:
    r"""Measure this machine and write the costs of virtual cores that model it.

    The command probes latencies of caches, memory, transfers between cores and single instructions.
    It fits the time of the engine's own steps on one core, over several workloads and protocols.
    It takes a few minutes and needs an otherwise idle machine. Costs that could not be measured
    are reported.

    \b
    Examples:
      heddle machine calibrate output=my-server.yaml
      heddle evaluate machine=virtual machine.cores=16 machine/costs=my-server.yaml
    """
    if show:
        click.echo(settings_text("calibrate", settings), nl=False)
        return
    config = compose_settings("calibrate", settings, CalibrateConfig)
    refuse_bad_output(config.output)
    host = this_host()
    if host.quota is not None and host.quota < host.cores:
        raise UsageError(
            f"a control group limits this process to the time of {host.quota:g} of {host.cores} "
            "cores (cpu.max): throttled cores can't be calibrated; run this without the quota"
        )
    for doubt in machine_warnings(local_machine("threads", 1), host):
        click.echo(f"warning: {doubt}", err=True)
    meter = LoadMeter()
    plan = CalibrationPlan(config.seconds, config.rounds, config.virtual_seconds)
    with make_display(make_progress_console()) as display:
        counter = Counter(display, "calibrate", steps(plan))
        found = calibrate_here(load_engine().probe, plan, published_costs(), counter.step)
    disturbed = disturbance_warning(meter.others(), local_machine("threads", 1))
    text = _document(found, asdict(config), host, disturbed)
    _write(config.output, text)
    print_table(_fits(found))
    for name, why in found.assumed.items():
        click.echo(f"not measured: {name} ({why}); it is set to {found.costs[name]:g}")
    for case, why in found.left_out.items():
        click.echo(f"warning: left out: {case}: {why}", err=True)
    if disturbed is not None:
        click.echo(f"warning: {disturbed}", err=True)
    click.echo(f"\n{text}" if config.output is None else f"costs: {config.output}")
    if found.interrupted:
        click.echo("interrupted: the engine's own steps were not measured", err=True)
        raise SystemExit(INTERRUPTED)
    if not found.fits:
        raise SystemExit(FAILED)


def _write(output: str | None, text: str) -> None:
    """Write the costs to the file, if one is set; print them if that fails."""
    if output is None:
        return
    try:
        write_atomically(Path(output), text)
    except WritingError:
        click.echo(f"\n{text}", nl=False)
        raise


def _fits(found: Calibration) -> Table:
    """Return a table of the times of one virtual core and one real core."""
    table = Table(
        title="time per transaction on one core, µs", title_justify="left", box=box.SIMPLE_HEAD
    )
    table.add_column("workload", no_wrap=True)
    table.add_column("policy", no_wrap=True)
    for name in ("real", "virtual", "error"):
        table.add_column(name, justify="right", no_wrap=True)
    for fit in found.fits:
        options = dict(fit.workload)
        words = " ".join([options.pop("name"), *(f"{k}={v}" for k, v in options.items())])
        table.add_row(
            words,
            fit.subject,
            f"{fit.measured_ns / 1e3:.2f}",
            f"{fit.predicted_ns / 1e3:.2f}",
            f"{fit.error:+.1%}",
        )
    return table


def _document(
    found: Calibration, settings: dict[str, object], host: Host, disturbed: str | None
) -> str:
    """Return the costs as `machine/costs` reads them, with their origin in comments."""
    lines = [
        f"# Measured by heddle machine calibrate {heddle_version()}, "
        f"{datetime.now(UTC).isoformat(timespec='minutes')}.",
        f"# {host.words}; clock source {host.clock}; {host.compiler}; commit {host.commit}.",
        f"# Slices of {settings['seconds']} s, {settings['rounds']} rounds.",
        *(f"# Not measured: {name}: {why}." for name, why in found.assumed.items()),
        *(f"# Left out: {case}." for case in found.left_out),
        *([] if disturbed is None else [f"# Doubtful: {disturbed}."]),
    ]
    rounded = {
        name: round(value, 3) if isinstance(value, float) else value
        for name, value in found.costs.items()
    }
    return "\n".join(lines) + "\n" + OmegaConf.to_yaml(OmegaConf.create(rounded))
