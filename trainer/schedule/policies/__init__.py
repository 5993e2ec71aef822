"""Scheduling policies: each returns an order of a batch."""

from trainer.schedule.policies.registry import POLICIES, Entry
from trainer.schedule.policies.task import Task

__all__ = ["POLICIES", "Entry", "Task"]
