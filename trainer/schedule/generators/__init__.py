"""Workloads as the benchmarks draw them, reduced to which keys a transaction reads and writes."""

from trainer.schedule.generators.registry import GENERATORS, generate

__all__ = ["GENERATORS", "generate"]
