"""What the virtual machine's costs are on the machine this runs on (`heddle machine calibrate`).

Latencies are measured by probes of the hardware; what the engine's own instructions take is fitted
so that one virtual core runs a range of workloads and protocols as fast as one real core does.
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
"""Memory that no cache holds, bytes."""

MOST_FETCHES = 64
"""More than any core has under way."""

TRIALS = {
    "word_ns": 5.0,
    "lookup_ns": 50.0,
    "insert_ns": 50.0,
    "row_ns": 50.0,
    "control_ns": 50.0,
    "transaction_ns": 200.0,
    "exposed": 1.0,
}
"""The costs that are fitted, and what each is tried with: time is linear in all of them."""

BASE = dict.fromkeys(TRIALS, 0.0) | {"transaction_ns": 200.0}
"""What the others are while one is tried. Every transaction takes time: where reads hit a cache and
copies cost nothing, virtual time would not pass at all without it."""

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
"""What the engine's steps are fitted on: a workload, and what runs it.

Databases of a thousand rows fit into a core's own cache and tell what instructions cost; large ones
tell how much of a miss is waited for. The random tables have many publication points and few.
"""


@dataclass(frozen=True)
class Fit:
    """How well the fit does on one case: time a transaction, nanoseconds, on one core."""

    workload: Mapping[str, str]
    subject: str
    measured_ns: float
    predicted_ns: float

    @property
    def error(self) -> float:
        """Of the prediction, relative."""
        return self.predicted_ns / self.measured_ns - 1


@dataclass(frozen=True)
class Calibration:
    """The outcome.

    Attributes:
        costs: by name, as `machine/costs` has them.
        assumed: what could not be measured, and why.
        fits: each case of the engine's steps that could be measured.
        left_out: the cases that could not, in words, and why.
        interrupted: whether Ctrl-C ended it; what was not measured by then is assumed.
    """

    costs: dict[str, float | int]
    assumed: dict[str, str]
    fits: list[Fit]
    left_out: dict[str, str] = field(default_factory=dict)
    interrupted: bool = False


@dataclass(frozen=True)
class CalibrationPlan:
    """How much is measured.

    Attributes:
        seconds: length of one real slice.
        rounds: slices of each case, interleaved.
        virtual_seconds: length of one virtual run.
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
    """Measure this machine.

    What can't be measured is taken from the published costs, and said.

    Args:
        probe: the engine's module of that name.
        plan: how much to measure.
        published: costs to fall back on for what can't be measured here.
        on_step: called before every step, with what it is; `steps(plan)` times.

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
        why = "interrupted" if found.interrupted else "too few cases could run"
        assumed |= dict.fromkeys(TRIALS, why)
    return replace(found, fits=fits)


def steps(plan: CalibrationPlan) -> int:
    """How often `calibrate` calls `on_step`."""
    return 6 + len(CASES) * (plan.rounds + len(TRIALS) + 1)


def _hardware(
    probe: Any, published: Mapping[str, float | int], on_step: Callable[[str], None]
) -> tuple[dict[str, float | int], dict[str, str]]:
    """The costs of memory and of single instructions."""
    assumed: dict[str, str] = {}
    on_step("caches and memory")
    private = _private_cache_bytes()
    if private is None:
        private = int(published["private_lines"]) * LINE_BYTES
        assumed["private_lines"] = "the system does not tell the size of a core's own cache"
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
    # A difference of two times: on a busy machine the lesser ones are the wrong ones.
    stream = statistics.median(probe.stream_ns(FAR_FROM_CACHES) for _ in range(3))
    if stream > 0:
        costs["stream_ns"] = stream
    else:
        assumed["stream_ns"] = "copies of sixteen lines took no longer than of one: a busy machine"
    return costs, assumed


def _transfers(probe: Any, costs: dict[str, float | int], assumed: dict[str, str]) -> None:
    """Latencies between cores that share a cache, and between those that do not."""
    cores = sorted(os.sched_getaffinity(0))
    domains = [_sharers_of_last_cache(core) for core in cores]
    near: list[tuple[int, int]] = []
    far: list[tuple[int, int]] = []
    for one, domain in enumerate(domains):
        for other in range(one + 1, len(cores)):
            same = domain is None or cores[other] in domain
            (near if same else far).append((one, other))
    together = [domain & set(cores) for domain in domains if domain is not None]
    if together:
        costs["cores_per_socket"] = max(len(domain) for domain in together)
    else:
        assumed["cores_per_socket"] = "the system does not tell which cores share a cache"
    for name, pairs, why in (
        ("transfer_ns", near, "no two cores here share a cache"),
        ("far_transfer_ns", far, "all cores here share a cache"),
    ):
        if not pairs:
            assumed[name] = why if len(cores) > 1 else "there is one core only"
            continue
        step = max(1, len(pairs) // 16)  # enough of them: each pair takes a tenth of a second
        costs[name] = statistics.median(probe.transfer_ns(a, b) for a, b in pairs[::step])
    if "far_transfer_ns" in assumed:
        costs["far_transfer_ns"] = max(costs["far_transfer_ns"], costs["transfer_ns"])


def _fit_steps(
    plan: CalibrationPlan,
    costs: dict[str, float | int],
    left_out: dict[str, str],
    on_step: Callable[[str], None],
) -> list[Fit]:
    """Find the engine's own costs; they are added to `costs`. None are found if too few cases run.

    The cases that can't are added to `left_out`.
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
    # Relative errors: a workload of short transactions counts as much as one of long ones.
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
    """Nanoseconds a transaction takes if the engine's steps cost nothing, and a unit of each adds.

    Raises:
        MeasuringError: it can't be run.
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
    """Nanoseconds a transaction takes on one real core, by case; without those that can't run.

    Machines change their speed and other programs disturb them: cases take turns, and the faster
    quarter of the rounds says what each takes, as the least of the probes does.
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
    """Nanoseconds a transaction takes on one virtual core at some costs."""
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
    """How many lines a core fetches at a time: latency over the time between two arrivals."""
    return min(max(round(memory_ns / max(independent_ns, 1e-9)), 1), MOST_FETCHES)


def _shared_lines(probe: Any, smallest: int, limit_ns: float) -> int:
    """How many lines the shared cache has for one core: where latency nears memory's."""
    size = smallest
    while size < FAR_FROM_CACHES and probe.load_ns(2 * size) < limit_ns:
        size *= 2
    return _power_of_two(size // LINE_BYTES)


def _power_of_two(number: int) -> int:
    return 1 << max(6, number.bit_length() - 1)


def _private_cache_bytes() -> int | None:
    """The second-level cache of the first core that may be used; None if the system won't say."""
    core = min(os.sched_getaffinity(0))
    for cache in _caches_of(core):
        if _text(cache / "level") == "2":
            size = _text(cache / "size") or ""
            if size.endswith("K") and size[:-1].isdigit():
                return int(size[:-1]) << 10
    return None


def _sharers_of_last_cache(core: int) -> set[int] | None:
    """The cores behind the same last cache; None if the system won't say."""
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
