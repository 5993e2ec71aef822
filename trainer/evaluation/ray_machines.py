"""Whether the machines of a cluster measure the same."""

from __future__ import annotations

from collections.abc import Sequence

from trainer.evaluation.backend import MachineSpec
from trainer.evaluation.ray_runtime import RayError
from trainer.evaluation.ray_worker import Identity

DIGITS = 12
"""Characters of a digest that distinguish two builds."""


def compare_machines(
    own: Identity, workers: Sequence[Identity], scenarios: Sequence[MachineSpec]
) -> str | None:
    """What must be known of machines that are unlike; None if there is nothing.

    Args:
        own: of the process that searches.
        workers: of those that measure.
        scenarios: what they measure.

    Raises:
        RayError: results of them can't be compared; the message names the machines.
    """
    versions = {one.host: one.version for one in workers if one.version != own.version}
    if versions:
        raise RayError(
            f"machines have other versions of Heddle than this one, {own.version}: "
            f"{_listed(versions)}; install the same on each"
        )
    cores = {one.host: str(one.cores) for one in workers}
    real = any(spec.cores is None and not spec.shareable for spec in scenarios)
    if real and len(set(cores.values())) > 1:
        raise RayError(
            f"machines have different numbers of cores: {_listed(cores)}; set machine.cores to a "
            "number that each of them has"
        )
    builds = {one.host: one.build[:DIGITS] for one in workers if one.build != own.build}
    if builds:
        return (
            f"machines have another build of the engine than this one, {own.build[:DIGITS]}: "
            f"{_listed(builds)}. Install the same wheel on each: another compiler makes other "
            "throughput"
        )
    return None


def _listed(by_host: dict[str, str]) -> str:
    return ", ".join(f"{host} has {what}" for host, what in sorted(by_host.items()))
