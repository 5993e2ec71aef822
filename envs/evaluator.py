"""Measure subjects on one machine, real or virtual, alone or relative to a reference."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from envs.engine_interface import EngineSession, load_engine
from envs.errors import Interrupted, MeasuringError
from envs.host import LoadMeter, local_machine
from envs.memory import (
    FITS,
    available_bytes,
    estimated_bytes,
    fitting_settings,
    gib,
    guard,
    reserve_bytes,
    total_memory,
)
from envs.objective import THROUGHPUT, Objective
from envs.result import Machine, Result
from envs.round import Outcome, run_in_turns
from envs.run_options import run_options
from envs.subject import Subject
from envs.timeline import Timeline
from envs.trial import Trial, Verdict
from envs.workload import engine_workload
from policies import Signature
from policies.protocol import EXTERNAL, TABLE

if TYPE_CHECKING:
    from envs.recorded_events import RecordedEvents, Selection
    from envs.recorded_trace import RecordedTrace

GROWN_BYTES_MAX = 512 << 20
"""Growth in bytes after which a database is reloaded, because larger ones are up to 15 % slower."""

REFERENCE_ATTEMPTS = 10
"""Attempts at a reference slice. On a busy machine a whole slice may pass without a commit."""

REFERENCE_SLICES = 10
"""Length of the reference's run on virtual cores, in slices."""


def reference_seconds(slice_seconds: float, kind: str) -> float:
    """Return the length of a run of the reference, in seconds.

    Args:
        slice_seconds: length of a candidate's slice in seconds.
        kind: kind of the machine, `threads` or `virtual`.
    """
    return round(slice_seconds * (REFERENCE_SLICES if kind == "virtual" else 1), 9)


THREADS: Mapping[str, str] = MappingProxyType({"kind": "threads"})
"""The options of the machine that runs on real cores."""


_KILLED = "signal SIGKILL"
"""In the engine's message if the system, short of memory, killed the process of a run."""


@dataclass
class Evaluation:
    """The measured fitness of a candidate, relative to a reference.

    Attributes:
        ratios: the objective's value divided by the reference's, by run.
        limit_ratios: the objective's limit ratios (`Objective.limit_ratios`), by run.
        front_ratios: the values of the front's metrics divided by the reference's, by run.
        results: the candidate's runs.
        error: why a run failed, or None. Earlier runs are kept.
        slices: length of each run in slices. The slices of a run are no independent samples.
    """

    ratios: list[float] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    error: str | None = None
    slices: int = 1
    limit_ratios: list[list[float]] = field(default_factory=list)
    front_ratios: list[list[float]] = field(default_factory=list)

    def add(self, result: Result, unit: Sequence[float], objective: Objective) -> None:
        """Add a run.

        Args:
            result: the run.
            unit: the reference's values (`_values`).
            objective: the objective.
        """
        self.results.append(result)
        pairs = zip(_values(objective, result), unit, strict=True)
        ratio, *front = (value / of_reference for value, of_reference in pairs)
        self.ratios.append(ratio)
        self.limit_ratios.append(objective.limit_ratios(result))
        self.front_ratios.append(front)


def _values(objective: Objective, result: Result) -> list[float]:
    """Return a run's value of the objective and those of its front's metrics."""
    return [objective.value(result), *objective.front_values(result)]


class Evaluator:
    """Runs subjects on one database on this machine, one at a time.

    The database is loaded on first use, and reloaded after it has grown by more than
    `grown_bytes_max`. On virtual cores every run starts from the database as loaded. The same run
    then gives the same result, bit for bit, in every process.

    Args:
        workload: name of the workload under `name`, and its options; all values are strings.
        cores: number of workers, one per core; None for every core that this process may use.
        machine: kind of the machine under `kind`, and its options; all values are strings.
        seed: seed of the population.
        grown_bytes_max: growth in bytes after which the database is reloaded.
        engine_module: name of the module with the engine's interface.

    Raises:
        ImportError: the engine is not built.
        ValueError: the workload, the machine or an option is unknown, or a value is out of range.

    Attributes:
        workload: name and options of the workload.
        cores: number of workers.
        machine: kind and options of the machine.
        repeatable: whether the same run always gives the same result (virtual cores).
        signature: signature of the workload.
    """

    def __init__(
        self,
        workload: Mapping[str, str],
        cores: int | None = None,
        *,
        machine: Mapping[str, str] = THREADS,
        seed: int = 1,
        grown_bytes_max: int = GROWN_BYTES_MAX,
        engine_module: str = "engine",
    ) -> None:
        self._engine = load_engine(engine_module)
        self.workload = dict(workload)
        self.cores = cores or len(os.sched_getaffinity(0))
        self.machine = dict(machine)
        self._engine.check_machine(self.machine)
        guard(self._engine)
        self.repeatable = self.machine["kind"] == "virtual"
        self._engine_workload = engine_workload(self.workload)
        self.signature = Signature.from_dict(self._engine.signature(self._engine_workload))
        self._seed = seed
        self._grown_bytes_max = grown_bytes_max
        self._session: EngineSession | None = None
        self._units: dict[tuple[str, float, float], list[float]] = {}
        self._seconds_max = float("inf")

    def run(
        self, subject: Subject, seconds: float, *, warmup: float, seed: int, check: bool = False
    ) -> Result:
        """Run one subject and return its result.

        Args:
            subject: the protocol or policy to run.
            seconds: length of the measured window, in seconds (virtual ones on virtual cores).
            warmup: unmeasured seconds before the window.
            seed: seed of the inputs.
            check: check the workload's consistency conditions after the run, for the result's
                `violations`.

        Raises:
            engine.PolicyError: the policy is not valid for the workload.
            MeasuringError: the run failed. On real cores the next run loads a new database.
            Interrupted: Ctrl-C; has the result up to that point.
        """
        return Result.from_dict(self._measure(subject, seconds, warmup, seed, check=check))

    def run_round(
        self,
        subjects: Sequence[Subject],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        check: bool = False,
    ) -> Iterator[tuple[int, Outcome]]:
        """Run several subjects on the same inputs, one after the other; see `envs.RunRound`.

        Raises:
            engine.PolicyError, Interrupted: as for `run`.
        """
        yield from run_in_turns(
            self.run,
            subjects,
            seconds,
            warmup=warmup,
            seed=seed,
            check=check,
            shared=not self.repeatable,
        )

    def record(
        self, subject: Subject, seconds: float, *, warmup: float, seed: int, events: int
    ) -> Timeline:
        """Record the events of a run on virtual cores, and return its timeline.

        The recorded run is the one that `run` makes with the same arguments.

        Args:
            subject: the protocol or policy to run.
            seconds: length of the measured window in virtual seconds.
            warmup: unmeasured virtual seconds before the window.
            seed: seed of the inputs.
            events: maximum number of events to record.

        Raises:
            ValueError: the machine has real cores.
            engine.PolicyError, MeasuringError, Interrupted: as for `run`.
        """
        if not self.repeatable:
            raise ValueError("a timeline can't be drawn of real cores; use machine=virtual")
        raw = self._measure(subject, seconds, warmup, seed, timeline_events=events)
        return Timeline.from_result(raw, subject.name, self.signature)

    def record_events(
        self,
        subject: Subject,
        seconds: float,
        *,
        warmup: float,
        seed: int,
        events: int,
        selection: Selection | None = None,
    ) -> RecordedEvents:
        """Record a run, and return the events as arrays.

        For recordings of millions of events, of which objects would need too much memory.

        Args:
            subject: the protocol or policy to run.
            seconds: length of the measured window in seconds (virtual ones on virtual cores).
            warmup: unmeasured seconds before the window.
            seed: seed of the inputs.
            events: maximum number of events to record, of 24 bytes each.
            selection: on real cores, the part of the run to record; None for the whole run.

        Raises:
            engine.PolicyError, MeasuringError, Interrupted: as for `run`.
        """
        # NumPy takes a tenth of a second to load, and only this recording needs it.
        from envs.recorded_events import WHOLE, RecordedEvents

        part = selection or WHOLE
        wanted: dict[str, Any] = {"timeline_events": events, "timeline_packed": True}
        if part != WHOLE:
            wanted["timeline_share"] = part.share
            wanted["timeline_skipped_states"] = part.skipped_states(self.signature)
        raw = self._measure(subject, seconds, warmup, seed, **wanted)
        return RecordedEvents.from_result(raw, subject.name, self.signature, part)

    def record_trace(
        self, subject: Subject, seconds: float, *, seed: int, bytes_max: int
    ) -> tuple[Result, RecordedTrace]:
        """Run a subject on real cores and record a trace of its transactions.

        Args:
            subject: the protocol or policy to run.
            seconds: length of the run in seconds.
            seed: seed of the inputs.
            bytes_max: memory for the trace in bytes; the run ends early when it is full.

        Returns:
            The result and the trace.

        Raises:
            ValueError: the machine is virtual.
            engine.PolicyError, MeasuringError: as for `run`.
            Interrupted: Ctrl-C; the trace is lost.
        """
        if self.repeatable:
            raise ValueError("a trace is recorded on real cores; use machine=threads")
        # Arrow takes a fifth of a second to load, and only a recording needs it.
        from envs.recorded_trace import RecordedTrace

        raw = self._measure(subject, seconds, 0.0, seed, trace_bytes=bytes_max)
        recorded = raw.pop("trace")
        return Result.from_dict(raw), RecordedTrace(recorded, self.signature, tuple(raw["types"]))

    def run_switching(
        self,
        first: Subject,
        switches: Sequence[tuple[float, Subject]],
        seconds: float,
        *,
        warmup: float,
        seed: int,
        intervals: int,
    ) -> Result:
        """Run a policy table and switch to other tables during the run.

        Args:
            first: the table at the start, warm-up included.
            switches: the time of each switch, in seconds since the window began, and the table.
            seconds: length of the measured window in seconds.
            warmup: unmeasured seconds before the window.
            seed: seed of the inputs.
            intervals: number of equal parts of the window, for the result's `intervals`.

        Raises:
            ValueError: a subject is not a policy table with its own backoff.
            engine.PolicyError, Interrupted: as for `run`.
            MeasuringError: as for `run`; also if an interval is no whole number of microseconds.
        """
        for subject in (first, *(subject for _, subject in switches)):
            if subject.protocol != TABLE or subject.backoff != "policy":
                raise ValueError(
                    f"{subject.name} is no policy table with its own backoff; a run can switch "
                    "only between such tables"
                )
        planned = [(at_s, self._compiled(subject)) for at_s, subject in switches]
        raw = self._measure(first, seconds, warmup, seed, intervals=intervals, switches=planned)
        return Result.from_dict(raw)

    def run_trial(self, trial: Trial, *, patience_s: float) -> Verdict:
        """Record and check a run on a copy of this evaluator's database (virtual cores only).

        The verdict equals that of `envs.trial.run_trial`, which loads a database for the trial.

        Args:
            trial: a trial without switches, for this evaluator's database.
            patience_s: time limit of the check in seconds; exceeding it is a finding.

        Raises:
            ValueError: the trial is for another database or has switches, or the machine has real
                cores.
            engine.PolicyError, MeasuringError: as for `run`.
            KeyboardInterrupt: Ctrl-C.
        """
        if not self.repeatable:
            raise ValueError("on real cores a run can't use a copy; use machine=virtual")
        own = (self.workload, self.cores, self._seed, self.machine)
        if own != (trial.workload, trial.cores, trial.seed, trial.machine):
            raise ValueError("the trial is for another database than the evaluator's")
        if trial.switches:
            raise ValueError("a trial on a loaded database can't switch policies")
        subject = trial.subject
        try:
            policy = self._compiled(subject)
            options = run_options(self._engine, subject, policy, **trial.run_fields())
            return Verdict.of(self._ready_session().run_trial(options, finish_s=patience_s))
        except MemoryError as error:
            raise MeasuringError(f"{subject.name}: not enough memory") from error
        except RuntimeError as error:
            raise MeasuringError(f"{subject.name}: {error}") from error

    def switch_policy(self, policy: Any) -> None:
        """Switch the run in progress, in another thread, to another policy (real cores only).

        Args:
            policy: a policy compiled by the engine.

        Raises:
            ValueError: no run executes a policy, the policy is for another workload, or the machine
                is virtual.
        """
        if self.repeatable:
            raise ValueError(
                "a run on virtual cores is in a copy of the process, which can't switch policies; "
                "use machine=threads"
            )
        session = self._session
        if session is None:
            raise ValueError("no policy is running: no database is loaded")
        session.switch_policy(policy)

    def _measure(
        self,
        subject: Subject,
        seconds: float,
        warmup: float,
        seed: int,
        *,
        check: bool = False,
        **wanted: Any,
    ) -> dict[str, Any]:
        """Return the engine's result; `wanted` has further fields of the run options."""
        policy = self._compiled(subject)
        length = {"seconds": min(seconds, self._seconds_max), "warmup": warmup}
        options = run_options(self._engine, subject, policy, seed=seed, **length, **wanted)
        session = self._ready_session()
        meter = None if self.repeatable else LoadMeter()
        try:
            raw = self._run(session, options, check)
        except self._engine.Interrupted as interrupted:
            cut_short = getattr(interrupted, "result", None)
            if cut_short:
                cut_short = Result.from_dict(self._with_host(cut_short, meter))
            raise Interrupted(cut_short) from None
        except ValueError as error:
            # Only the engine knows whether there are hints for a schedule, and cores for a store.
            if not subject.schedule and subject.protocol != EXTERNAL:
                raise
            raise MeasuringError(f"{subject.name}: {error}") from error
        except MemoryError as error:
            self._give_up_database()
            raise MeasuringError(f"{subject.name}: {self._memory_error()}") from error
        except RuntimeError as error:  # the engine's own among them
            self._give_up_database()
            raise MeasuringError(f"{subject.name}: {error}") from error
        raw = self._with_host(raw, meter)
        if failure := raw.get("failure"):  # of an external store
            raise MeasuringError(f"{subject.name}: {failure}", Result.from_dict(raw))
        return self._within_memory(raw, subject, seconds)

    def _run(self, session: Any, options: Any, check: bool) -> dict[str, Any]:
        """Return the engine's result; repeat a run once if its copied process was killed.

        The system kills a process for its memory, not for its policy. Without the repeat a search
        would drop the policy, and would not be repeatable.
        """
        try:
            return dict(session.run(options, on_copy=self.repeatable, check=check))
        except RuntimeError as error:
            if not self.repeatable or _KILLED not in str(error):
                raise
        return dict(session.run(options, on_copy=True, check=check))

    def evaluate(
        self,
        candidates: Sequence[Subject],
        reference: Subject,
        *,
        slices: int,
        seconds: float,
        warmup: float,
        seed: int,
        reference_every: int = 1,
        objective: Objective = THROUGHPUT,
    ) -> list[Evaluation]:
        """Measure candidates in short slices relative to a reference.

        Round `i` runs every candidate on the inputs of seed `seed + i` (common random numbers).

        Real machines drift and other programs disturb them. There a ratio is taken to the reference
        slices just before and after: A B A C A …, where A is the reference.

        Virtual cores have no such noise, but a short slice is biased. There all slices of a
        candidate form one run (`Evaluation.slices`). The reference gives the unit: one run of
        `REFERENCE_SLICES` slices on the inputs of the evaluator's seed, made once per evaluator.

        Args:
            candidates: subjects to measure; a failure affects only the candidate.
            reference: the subject that fitness is relative to.
            slices: slices of each candidate.
            seconds: length of a slice in seconds.
            warmup: unmeasured seconds before each slice.
            seed: seed of the first round's inputs.
            reference_every: candidates between two reference slices, on real cores.
            objective: what to measure.

        Returns:
            One evaluation per candidate, in order.

        Raises:
            MeasuringError: the reference failed, or its value of the objective is 0.
            Interrupted: Ctrl-C.
        """
        evaluations = [Evaluation(slices=slices if self.repeatable else 1) for _ in candidates]
        if self.repeatable:
            length = reference_seconds(seconds, self.machine["kind"])
            unit = self._unit(reference, length, warmup, objective)
            for candidate, evaluation in zip(candidates, evaluations, strict=True):
                result = self._candidate(candidate, evaluation, seconds * slices, warmup, seed)
                if result is not None:
                    evaluation.add(result, unit, objective)
            return evaluations
        for turn in range(slices):
            before = self._reference(reference, seconds, warmup, seed + turn, objective)
            for block in _blocks(range(len(candidates)), reference_every):
                measured: list[tuple[Evaluation, Result]] = []
                for index in block:
                    if evaluations[index].error is None:
                        result = self._candidate(
                            candidates[index], evaluations[index], seconds, warmup, seed + turn
                        )
                        if result is not None:
                            measured.append((evaluations[index], result))
                if not measured:
                    continue
                after = self._reference(reference, seconds, warmup, seed + turn, objective)
                for evaluation, result in measured:
                    pairs = zip(before, after, strict=True)
                    evaluation.add(result, [fmean(pair) for pair in pairs], objective)
                before = after
        return evaluations

    @property
    def grown_bytes(self) -> int:
        """Growth of the database since it was loaded, in bytes."""
        return 0 if self._session is None else self._session.grown_bytes

    @property
    def place(self) -> Machine:
        """The machine as results name it."""
        return local_machine(self.machine["kind"], self.cores)

    def _with_host(self, raw: dict[str, Any], meter: LoadMeter | None) -> dict[str, Any]:
        """Return the engine's result with the cores of the host and the load of other programs."""
        raw["machine"] |= self.place.as_dict()
        if meter is not None:
            raw["others"] = meter.others()
        return raw

    def close(self) -> None:
        """Free the database. The next run loads a new one."""
        if self._session is not None:
            self._session.stop()
            self._session = None

    def _give_up_database(self) -> None:
        """Free the database after a failed run. On virtual cores the run was on a copy."""
        if not self.repeatable:
            self.close()

    def _compiled(self, subject: Subject) -> Any:
        """Return the subject's policy, compiled; None without one."""
        if subject.policy is None:
            return None
        return self._engine.Policy(subject.policy, self.signature.to_dict())

    def _ready_session(self) -> EngineSession:
        if self._session is not None and self._session.grown_bytes > self._grown_bytes_max:
            self.close()
        if self._session is None:
            self._refuse_too_large()
            try:
                self._session = self._engine.Session(
                    self._engine_workload, self.cores, self._seed, self.machine
                )
            except MemoryError as error:
                raise MeasuringError(f"the database: {self._memory_error()}") from error
            except ValueError as error:  # such as a trace of fewer sessions than there are cores
                raise MeasuringError(str(error)) from error
        return self._session

    def _refuse_too_large(self) -> None:
        """Refuse a database that is too large, before it is loaded for minutes.

        Raises:
            MeasuringError: the estimated size exceeds the available memory.
        """
        try:
            needed = estimated_bytes(self._engine, self._engine_workload, self.machine)
        except (MemoryError, ValueError):
            return  # loading reports the error
        available = available_bytes(self._engine)
        if needed is None or needed <= available:
            return
        fits = fitting_settings(self._engine, self._engine_workload, needed, available)
        raise MeasuringError(
            f"the database of {self.workload['name']} needs about {gib(needed)}, but only "
            f"{gib(available)} of {gib(total_memory())} are available ({gib(reserve_bytes())} are "
            f"reserved); use {fits or 'a smaller one'}, or a machine with more memory"
        )

    def _memory_error(self) -> str:
        return (
            f"not enough memory: {gib(available_bytes(self._engine))} of {gib(total_memory())} are "
            f"available ({gib(reserve_bytes())} are reserved); use a smaller workload, fewer "
            "workers, or a machine with more memory"
        )

    def _within_memory(
        self, raw: dict[str, Any], subject: Subject, seconds: float
    ) -> dict[str, Any]:
        """Return a run's result, marked if the run was shortened for lack of memory.

        After a run that ended early, all later runs are shorter, so that none fills the memory.

        Raises:
            MeasuringError: the run ended before its window began.
        """
        memory = raw.get("memory", {})
        if memory.get("short"):
            if not raw["commits"]:
                raise MeasuringError(f"{subject.name}: {self._memory_error()}")
            self._give_up_database()
            self._seconds_max = min(self._seconds_max, FITS * raw["duration_s"])
        elif self._seconds_max < seconds:
            memory["short"] = True
        return raw

    def _reference(
        self, reference: Subject, seconds: float, warmup: float, seed: int, objective: Objective
    ) -> list[float]:
        """Return the values of a reference slice on real cores (`_values`)."""
        for _ in range(REFERENCE_ATTEMPTS):
            result = self.run(reference, seconds, warmup=warmup, seed=seed)
            values = _values(objective, result)
            if min(values) > 0:
                return values
        raise MeasuringError(
            f"the reference {reference.name} committed nothing in {seconds} s, "
            f"{REFERENCE_ATTEMPTS} times; use longer slices, or a less busy machine"
        )

    def _unit(
        self, reference: Subject, seconds: float, warmup: float, objective: Objective
    ) -> list[float]:
        """Return the values of the reference on virtual cores (`_values`)."""
        measured = objective.metric, objective.type_names, objective.front
        key = (repr((reference, measured)), seconds, warmup)
        if key not in self._units:
            result = self.run(reference, seconds, warmup=warmup, seed=self._seed)
            values = _values(objective, result)
            if min(values) == 0:
                raise MeasuringError(
                    f"under the reference {reference.name} a type commits nothing in "
                    f"{seconds:g} virtual seconds; use longer slices"
                )
            self._units[key] = values
        return self._units[key]

    def _candidate(
        self, subject: Subject, evaluation: Evaluation, seconds: float, warmup: float, seed: int
    ) -> Result | None:
        try:
            return self.run(subject, seconds, warmup=warmup, seed=seed)
        except (self._engine.PolicyError, MeasuringError) as error:
            evaluation.error = str(error)
            return None


def _blocks(indices: range, size: int) -> Iterator[range]:
    for start in range(0, len(indices), size):
        yield indices[start : start + size]
