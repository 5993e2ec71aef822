"""Checks that the machines of a cluster give comparable measurements."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.evaluation.backend import MachineSpec
from trainer.evaluation.ray_runtime import RayError
from trainer.evaluation.ray_worker import Identity

DIGITS = 12
"""The number of digest characters shown for a build."""


def compare_machines(
    own: Identity, workers: Sequence[Identity], scenarios: Sequence[MachineSpec]
) -> str | None:
    """Return a warning about different machines; None if they are alike.

    Args:
        own: the machine of the search.
        workers: the machines that measure.
        scenarios: the scenarios they measure.

    Raises:
        RayError: their results are not comparable; the message names the machines.
    """
    versions = {worker.host: worker.version for worker in workers if worker.version != own.version}
    if versions:
        raise RayError(
            f"machines have other versions of Heddle than this one, {own.version}: "
            f"{_listed(versions)}; install the same version on each"
        )
    cores = {worker.host: str(worker.cores) for worker in workers}
    real = any(spec.cores is None and not spec.shareable for spec in scenarios)
    if real and len(set(cores.values())) > 1:
        raise RayError(
            f"machines have different numbers of cores: {_listed(cores)}; set machine.cores to a "
            "number that each of them has"
        )
    builds = {worker.host: worker.build[:DIGITS] for worker in workers if worker.build != own.build}
    if builds:
        return (
            f"machines have another build of the engine than this one, {own.build[:DIGITS]}: "
            f"{_listed(builds)}. Install the same wheel on each: throughput depends on the "
            "compiler"
        )
    return None


def _listed(by_host: dict[str, str]) -> str:
    return ", ".join(f"{host} has {what}" for host, what in sorted(by_host.items()))
