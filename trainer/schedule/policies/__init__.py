"""Scheduling policies: each takes a batch and answers with an order."""

from trainer.schedule.policies.registry import POLICIES, Entry
from trainer.schedule.policies.task import Task

__all__ = ["POLICIES", "Entry", "Task"]
