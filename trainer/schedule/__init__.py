"""Scheduling transactions offline: batches, scheduling policies, and their makespans.

The model is the makespan of Cheng et al., "Towards Optimal Transaction Scheduling" (VLDB 2024),
§2.1; its rules are in `engine/schedule/rules.h`. See `docs/schedule.md`.
"""
