"""A stand-in for the compiled engine: throughput is a known function of the table.

`silo` commits 100 000 × `EXPONENTIAL` transactions a second. A table commits 100 000 × (1 + gain):
half of the gain grows with the PUBLIC writes in even states, half with the proximity of the backoff
to `BEST_BACKOFF_US`. Runs take no time. A table named `die` ends the process, and `explode` fails
in the engine. `NOISE` disturbs the throughput: equally for equal inputs, or differently in each run
of a session with `NOISE_BY_RUN`. Runs on virtual cores have no noise and no side effects. With
`BEST_BY_WAREHOUSES` the best backoff depends on the workload, and the throughput is multiplied by
the number of warehouses. A constant backoff above `STARVED_ABOVE_US` starves one type: the
throughput is unchanged, but the mixed throughput is 0. The backoff of tables adapts to
`ADAPTED_US` in every run.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from types import MappingProxyType
from typing import Any

from engine import check_protocol, option_specs
from tests.trainer.fake_signatures import SIGNATURES

__all__ = ["check_protocol", "option_specs"]  # the stand-in has the engine's declarations

BASE = 100_000.0
BEST_BACKOFF_US = 4.0
EXPONENTIAL = 1.0
BEST_BY_WAREHOUSES: dict[str, float] = {}
STARVED_ABOVE_US = math.inf
ADAPTED_US: float | None = None
CORES_MAX = {"threads": 1024, "virtual": 256}
NOISE = 0.0
NOISE_BY_RUN = True
SECONDS_PER_RUN = 0.0
VIOLATIONS: list[str] = []


class probe:  # noqa: N801  (stands for a module)
    """Hardware with 512 KiB and 16 MiB of cache."""

    @staticmethod
    def load_ns(size: int) -> float:
        return 4.0 if size <= 512 << 10 else 16.0 if size <= 16 << 20 else 130.0

    @staticmethod
    def independent_load_ns(size: int) -> float:
        return 13.0

    @staticmethod
    def transfer_ns(one: int, other: int) -> float:
        return 50.0 + abs(one - other)

    @staticmethod
    def atomic_ns() -> float:
        return 2.0

    @staticmethod
    def pause_ns() -> float:
        return 24.0

    @staticmethod
    def stream_ns(size: int) -> float:
        return 3.0


class EngineError(RuntimeError):
    pass


class PolicyError(ValueError):
    pass


class Interrupted(KeyboardInterrupt):
    result: dict[str, Any] | None = None


def workloads() -> list[str]:
    return sorted(SIGNATURES)


def protocols() -> list[str]:
    return ["silo", "two_phase_locking", "mvto", "mvschedo", "aria", "policy_table"]


def guard_memory(reserve_bytes: int, groups: Sequence[tuple[str, str, int]] = ()) -> None:
    pass


def memory_left() -> int:
    return 64 << 30


def check_machine(machine: Mapping[str, str]) -> None:
    if machine["kind"] not in {"threads", "virtual"}:
        raise ValueError(f"machine: option 'kind' is {machine['kind']!r}")


def check_schedule(schedule: Mapping[str, str], signature: Mapping[str, Any] | None = None) -> None:
    if schedule["policy"] not in {"fifo", "smf", "tsdefer", "partition"}:
        raise ValueError(f"schedule: option 'policy' is {schedule['policy']!r}")


def signature(workload: Mapping[str, str]) -> dict[str, Any]:
    if workload["name"] not in SIGNATURES:
        raise ValueError(f"no workload {workload['name']!r}; there are {', '.join(workloads())}")
    return SIGNATURES[workload["name"]]


class Policy:
    def __init__(self, json_text: str, signature: Mapping[str, Any]) -> None:
        self.document = json.loads(json_text)
        self.json = json_text
        if self.document["signature"] != signature:
            raise PolicyError("the policy is for another workload")


@dataclass
class RunOptions:
    protocol: str = "silo"
    protocol_options: dict[str, str] = field(default_factory=dict)
    policy: Policy | None = None
    backoff: str = "exponential"
    backoff_us: float = 0.0
    schedule: dict[str, str] = field(default_factory=dict)
    seconds: float = 1.0
    warmup: float = 0.0
    seed: int = 1
    watchdog_s: float = 10.0
    epoch_us: float = 10_000.0
    exclusive_after: int = 64
    intervals: int = 0
    switches: Sequence[tuple[float, Policy]] = ()


class Session:
    def __init__(
        self,
        workload: Mapping[str, str],
        workers: int,
        seed: int = 1,
        machine: Mapping[str, str] = MappingProxyType({"kind": "threads"}),
    ) -> None:
        most = CORES_MAX[machine["kind"]]
        if not 1 <= workers <= most:
            raise ValueError(f"workers must be between 1 and {most}, not {workers}")
        self.workload, self.workers, self.seed = dict(workload), workers, seed
        self.machine = dict(machine)
        self.grown_bytes = 0
        self.memory_bytes = 1 << 20
        self.runs = 0

    def run(
        self, options: RunOptions, *, on_copy: bool = False, check: bool = False
    ) -> dict[str, Any]:
        assert on_copy == (self.machine["kind"] == "virtual")
        protocol, policy, schedule = options.protocol, options.policy, options.schedule
        backoff_us, seconds, seed = options.backoff_us, options.seconds, options.seed
        intervals, switches = options.intervals, options.switches
        self.runs += 1
        self.grown_bytes += 0 if on_copy else 1 << 20
        if SECONDS_PER_RUN:
            time.sleep(SECONDS_PER_RUN)
        assert (policy is not None) == (protocol == "policy_table")
        name = policy.document["name"] if policy else ""
        if name == "die":
            os._exit(1)
        if name == "explode":
            raise EngineError("worker 0 is stuck")
        warehouses = str(self.workload.get("warehouses", "1"))
        best_us = BEST_BY_WAREHOUSES.get(warehouses, BEST_BACKOFF_US)
        relative = _relative(protocol, policy, options.backoff, backoff_us, best_us)
        if BEST_BY_WAREHOUSES:
            relative *= float(warehouses)
        if NOISE and not on_copy:
            number = self.runs if NOISE_BY_RUN else 0
            text = f"{seed} {number} {protocol} {backoff_us} {policy and policy.json}"
            draw = Random(hashlib.sha256(text.encode()).digest())
            relative *= max(0.1, draw.gauss(1.0, NOISE))
        result = self._result(protocol, name, BASE * relative, seconds, seed)
        if self.workload["name"] == "transfer" and schedule:
            raise ValueError("workload transfer passes no hints of its keys")
        if schedule:
            result["schedule"] = {"options": dict(schedule), "hot": 3}
        if backoff_us > STARVED_ABOVE_US:
            result["mixed_throughput"] = 0.0
        if check:
            result["violations"] = self.check()
        if intervals:
            result["intervals"] = self._intervals(policy, seconds, intervals, switches)
            result["switches"] = [
                {"at_s": at_s, "policy": other.document["name"]} for at_s, other in switches
            ]
        return result

    def _intervals(
        self,
        policy: Policy | None,
        seconds: float,
        count: int,
        switches: Sequence[tuple[float, Policy]],
    ) -> list[dict[str, Any]]:
        """Return intervals, each with the throughput of the table at its begin."""
        types = [entry["name"] for entry in signature(self.workload)["types"]]
        found, length = [], seconds / count
        for at in range(count):
            over = [other for at_s, other in switches if at_s <= at * length + 1e-9]
            running = over[-1] if over else policy
            commits = int(BASE * _relative("policy_table", running, "policy", 0.0) * length)
            found.append(
                {
                    "start_s": at * length,
                    "seconds": length,
                    "commits": dict.fromkeys(types, commits // len(types)),
                    "aborts": dict.fromkeys(types, commits // 9),
                }
            )
        return found

    def run_trial(self, options: RunOptions, *, finish_s: float) -> dict[str, Any]:
        assert self.machine["kind"] == "virtual"
        if options.policy and options.policy.document["name"] == "die":
            os._exit(1)
        return {"findings": [], "report": {"transactions": 10}, "grown_bytes": 0}

    def check(self) -> list[str]:
        return list(VIOLATIONS)

    def stop(self) -> None:
        pass

    def _result(
        self, protocol: str, name: str, throughput: float, seconds: float, seed: int
    ) -> dict[str, Any]:
        types = [entry["name"] for entry in signature(self.workload)["types"]]
        states = sum(len(entry["accesses"]) for entry in signature(self.workload)["types"])
        commits = int(throughput * seconds)
        share = commits // len(types)
        latency: dict[str, Any] = {"mean": 10.0, "p50": 8.0, "p90": 20.0, "p99": 40.0}
        latency |= {"p999": 80.0, "max": 99.0}
        latency["norms"] = {str(power): 10.0 + power for power in (2, 3, 4, 6, 8)}
        return {
            "schema_version": 1,
            "protocol": protocol,
            "policy": name,
            "workload": self.workload,
            "machine": {"kind": self.machine["kind"], "cores": self.workers},
            "seed": seed,
            "duration_s": seconds,
            "commits": commits,
            "throughput": throughput,
            "mixed_throughput": throughput,
            "abort_rate": 0.1,
            "types": {
                type_name: {
                    "commits": share,
                    "rollbacks": 0,
                    "aborts": share // 9,
                    "unfinished": 1,
                    "time_s": self.workers * seconds / len(types),
                    "throughput": throughput / len(types),
                    "latency_us": latency,
                }
                | ({"backoff_us": ADAPTED_US} if ADAPTED_US and protocol == "policy_table" else {})
                for type_name in types
            },
            "aborts": {
                "by_reason": {"read_validation": commits // 9},
                "by_state": [0] * states + [commits // 9],
            },
            "time_s": {"useful": 1.0, "waiting": 0.1, "wasted": 0.1, "backoff": 0.1, "commit": 0.1},
            "waiting_by_state_s": [seconds / states / 10] * states,
            "violations": [],
        }


def _relative(
    protocol: str,
    policy: Policy | None,
    backoff: str,
    backoff_us: float,
    best_us: float = BEST_BACKOFF_US,
) -> float:
    if protocol == "two_phase_locking":
        return 0.7
    if policy is None:
        if backoff == "static":
            return 1.0 + 0.2 * _nearness(backoff_us, best_us)
        return EXPONENTIAL
    rows = policy.document["backoff"].values()
    near = sum(_nearness(row["initial_us"], best_us) * (sum(row["abort"]) == 0.0) for row in rows)
    return 1.0 + 0.2 * near / len(rows) + 0.2 * _agreement(policy.document["cc"])


def _nearness(backoff_us: float, best_us: float) -> float:
    """Return 1 at the best constant, and half as much for each factor of 2; 0 counts as 0.01."""
    return 0.5 ** abs(math.log2(max(0.01, backoff_us) / best_us))


def _agreement(rows: list[dict[str, Any]]) -> float:
    """Return -1 to 1: PUBLIC writes in even states add; early validation and waits subtract."""
    points = 0.0
    for row in rows:
        public = row["write_visibility"] == "PUBLIC"
        points += (1.0 if row["state"] % 2 == 0 else -1.0) if public else 0.0
        points -= 0.5 * row["early_validation"] + 0.2 * (row["read_version"] == "DIRTY")
        points -= sum(0.1 for wait in row["wait"].values() if wait != "NO_WAIT")
    return points / len(rows)
