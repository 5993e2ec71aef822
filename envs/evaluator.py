"""Measuring on one machine, real or virtual: single runs, and candidates beside a reference."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

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
from envs.recorded_trace import RecordedTrace
from envs.result import Machine, Result
from envs.round import Outcome, run_in_turns
from envs.run_options import run_options
from envs.subject import Subject
from envs.timeline import Timeline
from envs.trial import Trial, Verdict
from envs.workload import engine_workload
from policies import Signature

GROWN_BYTES_MAX = 512 << 20
"""Growth after which a database is loaded anew: a larger one is a slower one (ARTIFACTS: 15 %)."""

REFERENCE_ATTEMPTS = 10
"""On a machine that is busy with other things a whole slice may pass without a turn."""

REFERENCE_SLICES = 10
"""So many slices make the run of the reference on virtual cores."""


def reference_seconds(slice_seconds: float, kind: str) -> float:
    """How long the reference runs at a time, beside candidates in slices of such a length.

    Args:
        slice_seconds: of a candidate's slice.
        kind: of the machine: `threads` or `virtual`.
    """
    return round(slice_seconds * (REFERENCE_SLICES if kind == "virtual" else 1), 9)


THREADS: Mapping[str, str] = MappingProxyType({"kind": "threads"})
"""The machine that runs on real cores."""


_KILLED = "signal SIGKILL"
"""In the words for a process that was killed: by the system where memory is short, or by hand."""


@dataclass
class Evaluation:
    """What a candidate reached, relative to the reference.

    Attributes:
        ratios: one a run: its fitness ÷ the reference's.
        results: the candidate's runs.
        error: why it could not be measured, or None. Runs before the failure are kept.
        slices: that each run is long: as one they are no independent samples.
    """

    ratios: list[float] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    error: str | None = None
    slices: int = 1


class Evaluator:
    """Owns one database on this machine and runs subjects on it, one at a time.

    The database is loaded on first use, and again once it grew by more than `grown_bytes_max`. On
    virtual cores every run starts from the database as it was loaded: the same run gives the same
    result, to the bit, in every process.

    Args:
        workload: its name under "name", and its options; all values strings.
        cores: workers, one a core; None for every core that this process may use.
        machine: its kind under "kind", and its options; all values strings.
        seed: of the population.
        grown_bytes_max: growth, in bytes, after which the database is loaded anew.
        engine_module: the module that offers the engine's interface.

    Raises:
        ImportError: the engine is not built.
        ValueError: the engine does not know the workload or the machine, or an option of them.

    Attributes:
        workload: its options.
        cores: of the machine.
        machine: its options.
        repeatable: whether the same run always gives the same result.
        signature: of the workload.
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
        self._units: dict[tuple[str, float, float], float] = {}
        self._seconds_max = float("inf")

    def run(
        self, subject: Subject, seconds: float, *, warmup: float, seed: int, check: bool = False
    ) -> Result:
        """Run one subject: `warmup` seconds unmeasured, then `seconds` measured.

        Args:
            subject: what to run.
            seconds: of the window.
            warmup: before it.
            seed: of the inputs.
            check: whether the workload's consistency conditions are checked afterwards, for the
                result's `violations`.

        Raises:
            PolicyError: (the engine's) its policy is not valid for the workload.
            MeasuringError: the run failed; on real cores the next one gets a new database.
            Interrupted: Ctrl-C; carries what was measured.
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
        """Run several on common inputs, one after the other. See `envs.RunRound`.

        Raises:
            PolicyError, Interrupted: as `run`.
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
        """What happens when in a run on virtual cores, which is the run that `run` makes.

        Args:
            subject: what to run.
            seconds: of the window, virtual.
            warmup: unmeasured virtual seconds before it.
            seed: of the inputs.
            events: how many are recorded at most.

        Raises:
            ValueError: the machine is a real one.
            PolicyError, MeasuringError, Interrupted: as `run`.
        """
        if not self.repeatable:
            raise ValueError("what happens on real cores can't be recorded; take virtual ones")
        raw = self._measure(subject, seconds, warmup, seed, timeline_events=events)
        return Timeline.from_result(raw, subject.name, self.signature)

    def record_trace(
        self, subject: Subject, seconds: float, *, seed: int, bytes_max: int
    ) -> tuple[Result, RecordedTrace]:
        """What every transaction asks for in a run on real cores.

        Args:
            subject: what to run.
            seconds: of running.
            seed: of the inputs.
            bytes_max: memory for what is recorded; a run that needs more ends before its time.

        Raises:
            ValueError: the machine is a virtual one.
            PolicyError, MeasuringError: as `run`.
            Interrupted: Ctrl-C; nothing is kept of the trace.
        """
        if self.repeatable:
            raise ValueError("a trace is recorded on real cores; take machine=threads")
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
        """Run one policy table and go over to others while it runs; the window in intervals.

        Args:
            first: what runs at first, warm-up included.
            switches: what it goes over to, each with its time in the window, seconds.
            seconds: of the window.
            warmup: unmeasured seconds before it.
            seed: of the inputs.
            intervals: so many equal parts of the window are counted by themselves.

        Raises:
            ValueError: one of them is no policy table, or backs off otherwise than by its own.
            PolicyError, MeasuringError, Interrupted: as `run`. What the engine refuses, such as
                intervals of broken microseconds, is a MeasuringError too.
        """
        for subject in (first, *(subject for _, subject in switches)):
            if subject.policy is None or subject.backoff != "policy":
                raise ValueError(
                    f"{subject.name} is no policy table with its own backoff; a run can go over "
                    "only from one such table to another"
                )
        planned = [(at_s, self._compiled(subject)) for at_s, subject in switches]
        raw = self._measure(first, seconds, warmup, seed, intervals=intervals, switches=planned)
        return Result.from_dict(raw)

    def run_trial(self, trial: Trial, *, patience_s: float) -> Verdict:
        """Record and check a run on a copy of this evaluator's database, which is as it was loaded.

        Its verdict is that of `envs.trial.run_trial`, which loads a database of its own: on virtual
        cores the same run is the same wherever it is made.

        Args:
            trial: which; without switches. Its database must be this evaluator's.
            patience_s: a check that takes longer has hung, which is a finding.

        Raises:
            ValueError: it is for another database, has switches, or the machine is a real one.
            PolicyError, MeasuringError: as `run`.
            KeyboardInterrupt: Ctrl-C.
        """
        if not self.repeatable:
            raise ValueError("a run on real cores can't be made on a copy; take virtual ones")
        own = (self.workload, self.cores, self._seed, self.machine)
        if own != (trial.workload, trial.cores, trial.seed, trial.machine):
            raise ValueError("the trial is for another database than this one")
        if trial.switches:
            raise ValueError("a trial on a loaded database can't switch policies")
        subject = trial.subject
        try:
            policy = self._compiled(subject)
            options = run_options(self._engine, subject, policy, **trial.run_fields())
            return Verdict.of(self._ready_session().run_trial(options, finish_s=patience_s))
        except MemoryError as error:
            raise MeasuringError(f"{subject.name}: there is not enough memory for it") from error
        except RuntimeError as error:
            raise MeasuringError(f"{subject.name}: {error}") from error

    def switch_policy(self, policy: Any) -> None:
        """Give the run that is going on, in another thread, another policy; real cores only.

        Args:
            policy: compiled by the engine.

        Raises:
            ValueError: no run executes a policy, it is for another workload, or the machine is
                virtual.
        """
        if self.repeatable:
            raise ValueError(
                "on virtual cores a run is made by a copy of the process, which no switch reaches; "
                "take real ones"
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
        """The engine's own result; `wanted` is what it is asked for beyond a plain run."""
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
            if not subject.schedule:
                raise
            raise MeasuringError(f"{subject.name}: {error}") from error
        except MemoryError as error:
            self._give_up_database()
            raise MeasuringError(f"{subject.name}: {self._memory_error()}") from error
        except RuntimeError as error:  # the engine's own among them
            self._give_up_database()
            raise MeasuringError(f"{subject.name}: {error}") from error
        return self._within_memory(self._with_host(raw, meter), subject, seconds)

    def _run(self, session: Any, options: Any, check: bool) -> dict[str, Any]:
        """The engine's result; a run whose copied process is killed from outside is run once more.

        The system kills who has much memory, whatever it executes: a policy that is dropped for it
        would be lost for good, and virtual cores would not repeat a search.
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
    ) -> list[Evaluation]:
        """Measure candidates in short slices relative to a reference.

        Round `i` runs every candidate on the inputs of seed `seed + i` (common random numbers).

        Real machines drift and other programs disturb, so there only the ratio to the reference
        slices just before and after counts: A B A C A …, A the reference.

        On virtual cores nothing disturbs, and what makes a slice misleading is that it is short:
        all slices are one run of their length together (`Evaluation.slices`). The reference
        is no more than a unit: one long run, `REFERENCE_SLICES` slices on the inputs of the
        evaluator's own seed, which every evaluator makes once, with one result.

        Args:
            candidates: what to measure; one that fails costs only itself.
            reference: what to measure them against.
            slices: of each candidate.
            seconds: length of a slice.
            warmup: unmeasured seconds before each slice.
            seed: of the first round's inputs.
            reference_every: candidates between two reference slices, on real cores.

        Returns:
            One evaluation a candidate, in order.

        Raises:
            MeasuringError: the reference itself failed.
        """
        evaluations = [Evaluation(slices=slices if self.repeatable else 1) for _ in candidates]
        if self.repeatable:
            length = reference_seconds(seconds, self.machine["kind"])
            unit = self._unit(reference, length, warmup)
            for candidate, evaluation in zip(candidates, evaluations, strict=True):
                result = self._candidate(candidate, evaluation, seconds * slices, warmup, seed)
                if result is not None:
                    evaluation.results.append(result)
                    evaluation.ratios.append(result.fitness / unit)
            return evaluations
        for turn in range(slices):
            before = self._reference(reference, seconds, warmup, seed + turn)
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
                after = self._reference(reference, seconds, warmup, seed + turn)
                for evaluation, result in measured:
                    evaluation.results.append(result)
                    evaluation.ratios.append(2 * result.fitness / (before + after))
                before = after
        return evaluations

    @property
    def grown_bytes(self) -> int:
        """Memory that the database has grown by since it was loaded, bytes."""
        return 0 if self._session is None else self._session.grown_bytes

    @property
    def place(self) -> Machine:
        """The machine, as its results name it."""
        return local_machine(self.machine["kind"], self.cores)

    def _with_host(self, raw: dict[str, Any], meter: LoadMeter | None) -> dict[str, Any]:
        """The engine's result with what it can't know: the cores, and what others did there."""
        raw["machine"] |= self.place.as_dict()
        if meter is not None:
            raw["others"] = meter.others()
        return raw

    def close(self) -> None:
        """Free the database. The evaluator may be used again and then loads a new one."""
        if self._session is not None:
            self._session.stop()
            self._session = None

    def _give_up_database(self) -> None:
        """After a run that failed; one on virtual cores has left the database as it was."""
        if not self.repeatable:
            self.close()

    def _compiled(self, subject: Subject) -> Any:
        """The subject's policy as the engine runs it, if it has one."""
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
        """Before it is loaded, which may take minutes.

        Raises:
            MeasuringError: the database is estimated to need more memory than there is.
        """
        try:
            needed = estimated_bytes(self._engine, self._engine_workload, self.machine)
        except (MemoryError, ValueError):
            return  # loading it will tell
        available = available_bytes(self._engine)
        if needed is None or needed <= available:
            return
        fits = fitting_settings(self._engine, self._engine_workload, needed, available)
        raise MeasuringError(
            f"the database of {self.workload['name']} needs about {gib(needed)}, and "
            f"{gib(available)} of {gib(total_memory())} may be taken here ({gib(reserve_bytes())} "
            f"are left to others); use {fits or 'a smaller one'}, or a machine with more memory"
        )

    def _memory_error(self) -> str:
        return (
            f"there is not enough memory for it: {gib(available_bytes(self._engine))} of "
            f"{gib(total_memory())} may be taken now ({gib(reserve_bytes())} are left to others); "
            "use a smaller workload, fewer workers, or a machine with more memory"
        )

    def _within_memory(
        self, raw: dict[str, Any], subject: Subject, seconds: float
    ) -> dict[str, Any]:
        """A run's result, marked where want of memory made it shorter than it was to be.

        The runs after one that was ended for that are shorter from the beginning: all of a length,
        and none of them fills the memory again.

        Raises:
            MeasuringError: it was ended before its window began.
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

    def _reference(self, reference: Subject, seconds: float, warmup: float, seed: int) -> float:
        """A reference slice on real cores."""
        for _ in range(REFERENCE_ATTEMPTS):
            fitness = self.run(reference, seconds, warmup=warmup, seed=seed).fitness
            if fitness > 0:
                return fitness
        raise MeasuringError(
            f"the reference {reference.name} committed nothing in {seconds} s, "
            f"{REFERENCE_ATTEMPTS} times; use longer slices, or a machine with less else to do"
        )

    def _unit(self, reference: Subject, seconds: float, warmup: float) -> float:
        """What the reference reaches on virtual cores."""
        key = (repr(reference), seconds, warmup)
        if key not in self._units:
            fitness = self.run(reference, seconds, warmup=warmup, seed=self._seed).fitness
            if fitness == 0:
                raise MeasuringError(
                    f"under the reference {reference.name} some type commits nothing in "
                    f"{seconds:g} virtual seconds; use longer slices"
                )
            self._units[key] = fitness
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
