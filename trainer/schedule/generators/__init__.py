"""Workloads of benchmarks, reduced to the keys that a transaction reads and writes."""

from trainer.schedule.generators.registry import GENERATORS, generate

__all__ = ["GENERATORS", "generate"]
