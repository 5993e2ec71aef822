"""Measure the virtual machine's costs on this machine (`heddle machine calibrate`).

Probes of the hardware measure latencies. The costs of the engine's own instructions are fitted, so
that one virtual core runs a range of workloads and protocols as fast as one real core does.
"""

from __future__ import annotations

import math
import os
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from envs.baselines import subject_of
from envs.errors import MeasuringError
from envs.evaluator import Evaluator
from envs.subject import Subject
from envs.tuned_backoff import untuned

LINE_BYTES = 64
FAR_FROM_CACHES = 256 << 20
"""A working set larger than any cache, in bytes."""

MOST_FETCHES = 64
"""An upper bound of the cache lines that a core fetches at the same time."""

TRIALS = {
    "word_ns": 5.0,
    "lookup_ns": 50.0,
    "insert_ns": 50.0,
    "row_ns": 50.0,
    "control_ns": 50.0,
    "transaction_ns": 200.0,
    "exposed": 1.0,
}
"""The costs that are fitted, with the value each is tried with. Time is linear in all of them."""

BASE = dict.fromkeys(TRIALS, 0.0) | {"transaction_ns": 200.0}
"""The values of the other costs while one is tried. Every transaction costs something, or virtual
time would stand still where reads hit a cache and copies cost nothing."""

CASES: Sequence[tuple[Mapping[str, str], str]] = (
    ({"name": "tpcc", "mix": "read_write"}, "silo"),
    ({"name": "tpcc", "mix": "new_order_payment"}, "silo"),
    ({"name": "tpcc", "mix": "full"}, "silo"),
    ({"name": "tpcc", "mix": "read_write"}, "two_phase_locking"),
    ({"name": "tpcc", "mix": "read_write"}, "ic3"),
    ({"name": "tpcc", "mix": "read_write"}, "two_phase_locking_star"),
    ({"name": "tpcc", "mix": "read_write"}, "random:1003"),
    ({"name": "tpcc", "mix": "read_write"}, "random:1009"),
    ({"name": "ycsb", "theta": "0.9"}, "silo"),
    ({"name": "ycsb", "theta": "0.9"}, "two_phase_locking"),
    ({"name": "ycsb", "theta": "0.9"}, "ic3"),
    ({"name": "ycsb", "theta": "0", "records": "1000"}, "silo"),
    ({"name": "ycsb", "theta": "0", "records": "1000", "read": "100", "rmw": "0"}, "silo"),
    ({"name": "ycsb", "theta": "0", "records": "1000", "index": "ordered"}, "silo"),
    ({"name": "ycsb", "theta": "0", "records": "2000000"}, "silo"),
    ({"name": "ycsb", "theta": "0", "index": "ordered"}, "silo"),
    ({"name": "ycsb", "theta": "0.9", "record_bytes": "1024", "records": "100000"}, "silo"),
    ({"name": "ycsb", "index": "ordered", "scan": "20", "read": "50", "rmw": "30"}, "silo"),
    ({"name": "micro", "records": "1000000"}, "silo"),
)
"""The workloads, each with a policy, that the engine's costs are fitted on.

A database of a thousand rows fits into a core's own cache and shows what instructions cost. A large
one shows how much of a cache miss is waited for. One of the random tables has many publication
points, the other few.
"""


@dataclass(frozen=True)
class Fit:
    """The time per transaction of one case, in nanoseconds on one core: measured and predicted."""

    workload: Mapping[str, str]
    subject: str
    measured_ns: float
    predicted_ns: float

    @property
    def error(self) -> float:
        """The relative error of the prediction."""
        return self.predicted_ns / self.measured_ns - 1


@dataclass(frozen=True)
class Calibration:
    """The result of a calibration.

    Attributes:
        costs: cost by name, as in `machine/costs`.
        assumed: for each cost that could not be measured, the reason.
        fits: the cases of `CASES` that could be measured.
        left_out: for each other case, the reason.
        interrupted: whether Ctrl-C ended the calibration; costs not measured by then are assumed.
    """

    costs: dict[str, float | int]
    assumed: dict[str, str]
    fits: list[Fit]
    left_out: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False


@dataclass(frozen=True)
class CalibrationPlan:
    """The measurements of a calibration.

    Attributes:
        seconds: length of a slice on a real core, in seconds.
        rounds: slices of each case, interleaved.
        virtual_seconds: length of a run on a virtual core, in virtual seconds.
    """

    seconds: float
    rounds: int
    virtual_seconds: float


def calibrate(
    probe: Any,
    plan: CalibrationPlan,
    published: Mapping[str, float | int],
    on_step: Callable[[str], None] = lambda words: None,
) -> Calibration:
    """Measure the costs of this machine.

    A cost that cannot be measured is taken from `published` and listed in `Calibration.assumed`.

    Args:
        probe: the engine's module `probe`.
        plan: the measurements to make.
        published: default cost by name.
        on_step: called with the name of each step before it begins, `steps(plan)` times.

    Raises:
        KeyboardInterrupt: Ctrl-C before the hardware was measured.
    """
    costs, assumed = _hardware(probe, published, on_step)
    found = Calibration(costs, assumed, [])
    try:
        fits = _fit_steps(plan, costs, found.left_out, on_step)
    except KeyboardInterrupt:
        fits, found = [], replace(found, interrupted=True)
    if not fits:
        reason = "interrupted" if found.interrupted else "too few cases could run"
        assumed |= dict.fromkeys(TRIALS, reason)
    return replace(found, fits=fits)


def steps(plan: CalibrationPlan) -> int:
    """Return how often `calibrate` calls `on_step`."""
    return 6 + len(CASES) * (plan.rounds + len(TRIALS) + 1)


def _hardware(
    probe: Any, published: Mapping[str, float | int], on_step: Callable[[str], None]
) -> tuple[dict[str, float | int], dict[str, str]]:
    """Measure the costs of memory and of single instructions; return them and the assumed ones."""
    assumed: dict[str, str] = {}
    on_step("caches and memory")
    private = _private_cache_bytes()
    if private is None:
        private = int(published["private_lines"]) * LINE_BYTES
        assumed["private_lines"] = "the system does not report the size of a core's own cache"
    memory = probe.load_ns(FAR_FROM_CACHES)
    shared_hit = probe.load_ns(4 * private)
    costs: dict[str, float | int] = dict(published)
    costs |= {
        "shared_hit_ns": shared_hit,
        "memory_ns": memory,
        "fetches": _fetches(memory, probe.independent_load_ns(FAR_FROM_CACHES)),
        "private_lines": _power_of_two(private // LINE_BYTES),
    }
    on_step("the shared cache's size")
    costs["shared_lines"] = _shared_lines(probe, 4 * private, math.sqrt(shared_hit * memory))
    on_step("transfers between cores")
    _transfers(probe, costs, assumed)
    on_step("atomics")
    costs["atomic_ns"] = probe.atomic_ns()
    on_step("pauses")
    costs["pause_ns"] = probe.pause_ns()
    on_step("copies")
    # A difference of two times, so on a busy machine the smallest value is the least accurate.
    stream = statistics.median(probe.stream_ns(FAR_FROM_CACHES) for _ in range(3))
    if stream > 0:
        costs["stream_ns"] = stream
    else:
        assumed["stream_ns"] = (
            "copying sixteen lines took no longer than copying one (busy machine)"
        )
    return costs, assumed


def _transfers(probe: Any, costs: dict[str, float | int], assumed: dict[str, str]) -> None:
    """Measure the latency between cores that share a cache, and between cores that do not."""
    cores = sorted(os.sched_getaffinity(0))
    domains = [_sharers_of_last_cache(core) for core in cores]
    near: list[tuple[int, int]] = []
    far: list[tuple[int, int]] = []
    for core, domain in enumerate(domains):
        for other in range(core + 1, len(cores)):
            same = domain is None or cores[other] in domain
            (near if same else far).append((core, other))
    together = [domain & set(cores) for domain in domains if domain is not None]
    if together:
        costs["cores_per_socket"] = max(len(domain) for domain in together)
    else:
        assumed["cores_per_socket"] = "the system does not report which cores share a cache"
    for name, pairs, reason in (
        ("transfer_ns", near, "no two cores here share a cache"),
        ("far_transfer_ns", far, "all cores here share a cache"),
    ):
        if not pairs:
            assumed[name] = reason if len(cores) > 1 else "there is only one core"
            continue
        step = max(1, len(pairs) // 16)  # a sample is enough: each pair takes a tenth of a second
        costs[name] = statistics.median(probe.transfer_ns(a, b) for a, b in pairs[::step])
    if "far_transfer_ns" in assumed:
        costs["far_transfer_ns"] = max(costs["far_transfer_ns"], costs["transfer_ns"])


def _fit_steps(
    plan: CalibrationPlan,
    costs: dict[str, float | int],
    left_out: dict[str, str],
    on_step: Callable[[str], None],
) -> list[Fit]:
    """Fit the costs of the engine's own instructions and add them to `costs`.

    Cases that cannot run are added to `left_out`. If too few cases run, nothing is fitted.
    """
    import numpy as np
    from scipy.optimize import lsq_linear

    times, cases, bare, slopes = [], [], [], []
    for case, real_ns in _measure_cases(plan, left_out, on_step).items():
        try:
            base, slope = _virtual_line(*CASES[case], costs, plan, on_step)
        except MeasuringError as error:
            left_out[_words(*CASES[case])] = str(error)
            continue
        cases.append(CASES[case])
        times.append(real_ns)
        bare.append(base)
        slopes.append(slope)
    if not cases or (left_out and len(cases) < len(TRIALS)):
        return []
    measured, matrix = np.array(times), np.array(slopes)
    rest = measured - np.array(bare)
    # Relative errors, so that short transactions count as much as long ones.
    upper = [1.0 if step == "exposed" else np.inf for step in TRIALS]
    fitted = lsq_linear(matrix / measured[:, None], rest / measured, bounds=(0.0, upper))
    costs |= {step: float(value) for step, value in zip(TRIALS, fitted.x, strict=True)}
    predicted = np.array(bare) + matrix @ fitted.x
    return [
        Fit(workload, name, float(real), float(virtual))
        for (workload, name), real, virtual in zip(cases, measured, predicted, strict=True)
    ]


def _virtual_line(
    workload: Mapping[str, str],
    name: str,
    costs: Mapping[str, float | int],
    plan: CalibrationPlan,
    on_step: Callable[[str], None],
) -> tuple[float, list[float]]:
    """Return the time per transaction without the fitted costs, and what a unit of each adds.

    Both are in nanoseconds.

    Raises:
        MeasuringError: the case cannot run.
    """
    base = _virtual_ns(workload, name, costs, BASE, plan, on_step)
    slopes = {}
    for step, value in TRIALS.items():
        trial = BASE | {step: BASE[step] + value}
        slopes[step] = (_virtual_ns(workload, name, costs, trial, plan, on_step) - base) / value
    bare = base - sum(slopes[step] * value for step, value in BASE.items())
    return bare, list(slopes.values())


def _measure_cases(
    plan: CalibrationPlan, left_out: dict[str, str], on_step: Callable[[str], None]
) -> dict[int, float]:
    """Return the time per transaction on one real core in nanoseconds, by case that can run.

    The cases are interleaved, and each takes the first quartile of its rounds, because machines
    change their speed and other programs disturb them.
    """
    import numpy as np

    evaluators = [Evaluator(workload, 1) for workload, _ in CASES]
    subjects = [_subject(name, at) for (_, name), at in zip(CASES, evaluators, strict=True)]
    times: dict[int, list[float]] = {case: [] for case in range(len(CASES))}
    try:
        for number in range(plan.rounds):
            for case in list(times):
                evaluator, subject = evaluators[case], subjects[case]
                on_step(f"one real core: {evaluator.workload['name']} under {subject.name}")
                try:
                    result = evaluator.run(
                        subject, plan.seconds, warmup=plan.seconds / 5, seed=1 + number
                    )
                except MeasuringError as error:
                    left_out[_words(*CASES[case])] = str(error)
                    del times[case]
                    evaluator.close()
                    continue
                times[case].append(1e9 / max(result.mixed_throughput, 1.0))
    finally:
        for evaluator in evaluators:
            evaluator.close()
    return {case: float(np.quantile(found, 0.25)) for case, found in times.items()}


def _words(workload: Mapping[str, str], subject: str) -> str:
    return f"{' '.join(f'{key}={value}' for key, value in workload.items())} under {subject}"


def _virtual_ns(
    workload: Mapping[str, str],
    name: str,
    costs: Mapping[str, float | int],
    trial: Mapping[str, float],
    plan: CalibrationPlan,
    on_step: Callable[[str], None],
) -> float:
    """Return the time per transaction on one virtual core in nanoseconds, at the given costs."""
    on_step(f"one virtual core: {workload['name']} under {name}")
    options = {key: str(value) for key, value in (dict(costs) | dict(trial)).items()}
    evaluator = Evaluator(workload, 1, machine={"kind": "virtual", **options})
    try:
        subject = _subject(name, evaluator)
        seconds = plan.virtual_seconds
        result = evaluator.run(subject, seconds, warmup=seconds / 10, seed=1)
        return 1e9 / max(result.mixed_throughput, 1.0)
    finally:
        evaluator.close()


def _subject(name: str, evaluator: Evaluator) -> Subject:
    return subject_of(name, evaluator.signature, untuned)


def _fetches(memory_ns: float, independent_ns: float) -> int:
    """Return how many lines a core fetches at a time: latency over time between two arrivals."""
    return min(max(round(memory_ns / max(independent_ns, 1e-9)), 1), MOST_FETCHES)


def _shared_lines(probe: Any, smallest: int, limit_ns: float) -> int:
    """Return how many lines of the shared cache one core can use.

    The latency of a larger working set is closer to memory's than to the cache's.
    """
    size = smallest
    while size < FAR_FROM_CACHES and probe.load_ns(2 * size) < limit_ns:
        size *= 2
    return _power_of_two(size // LINE_BYTES)


def _power_of_two(number: int) -> int:
    return 1 << max(6, number.bit_length() - 1)


def _private_cache_bytes() -> int | None:
    """Return the size of the first usable core's second-level cache, None if unknown."""
    core = min(os.sched_getaffinity(0))
    for cache in _caches_of(core):
        if _text(cache / "level") == "2":
            size = _text(cache / "size") or ""
            if size.endswith("K") and size[:-1].isdigit():
                return int(size[:-1]) << 10
    return None


def _sharers_of_last_cache(core: int) -> set[int] | None:
    """Return the cores that share a core's last-level cache, None if unknown."""
    caches = [(_text(cache / "level") or "0", cache) for cache in _caches_of(core)]
    if not caches:
        return None
    listed = _text(max(caches)[1] / "shared_cpu_list")
    if not listed:
        return None
    sharers: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.partition("-")
        sharers |= set(range(int(first), int(last or first) + 1))
    return sharers


def _caches_of(core: int) -> list[Path]:
    return sorted(Path(f"/sys/devices/system/cpu/cpu{core}/cache").glob("index*"))


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return None
