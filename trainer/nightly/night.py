"""A night, from the peak hour to the publication.

Each step writes a file atomically, so that a killed night resumes: the checkpoints of the training,
the record with the verdict, the published policy, and the night's page and log line.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from envs import MeasuringError, machine_words
from envs.engine_interface import load_engine
from envs.workload import workload_signature
from policies import Signature
from traces.errors import TraceError
from traces.reader import Trace
from traces.replay.prepared import prepared_program
from trainer.checkpoint import WritingError
from trainer.config import NightlyConfig, TrainConfig, workload_options
from trainer.nightly.conditions import Conditions, conditions_of
from trainer.nightly.decision import Decision, decide
from trainer.nightly.errors import BadDayError, NothingToJudgeError, SettingsError
from trainer.nightly.held_out import Split, split
from trainer.nightly.judge import Verdict, judge
from trainer.nightly.measuring import measure_blocks, subjects_of
from trainer.nightly.nights import Night, keep, make_whole, read_night
from trainer.nightly.outcome import Outcome
from trainer.nightly.promotion import promote, served_by
from trainer.nightly.rejected import last_rejected_day
from trainer.nightly.rollback import end_killed
from trainer.nightly.state import Publication, StateFolder
from trainer.nightly.training import Trained, train_candidate, with_served_limits
from trainer.progress import Display
from trainer.record import Record
from trainer.run_settings import check_settings
from trainer.shell_words import heddle_command
from trainer.store_training import refuse_store


@dataclass(frozen=True)
class Plan:
    """The inputs of a night.

    Attributes:
        config: all settings.
        state: the store.
        trace: of the workload.
        day: of the trace.
    """

    config: NightlyConfig
    state: StateFolder
    trace: Trace
    day: date

    def training_config(self, hours: str) -> TrainConfig:
        """Return the settings of a training on a part of the day."""
        config = self.config
        part = {"trace": str(self.trace.folder), "day": f"{self.day}", "hours": hours}
        return TrainConfig(
            **config.shared() | {"workload": config.workload | part},
            runs_dir=str(self.state.path),
        )

    def night(self, outcome: Outcome, why: str, numbers: dict[str, Any]) -> Night:
        """Create a record of the night."""
        manifest = self.trace.manifest
        return Night(self.day, outcome, why, numbers, manifest.name, manifest.synthetic)


def run_night(plan: Plan, display: Display) -> Night:
    """Decide, train, evaluate and publish, as far as the decisions require; they are final.

    The caller holds the store.

    Returns:
        The outcome; a decided night is unchanged.

    Raises:
        KeyboardInterrupt: Ctrl-C; the next run resumes.
        SettingsError: a setting is wrong.
        StateError: the published policy is damaged.
        WritingError: a file can't be written; the policy published before stays.
    """
    plan.state.remove_unfinished(plan.day)
    end_killed(plan.state)
    before = read_night(plan.state.night(plan.day))
    if before is not None and before.outcome.decided:
        make_whole(plan.state, before)
        return before
    if before is not None and before.outcome is Outcome.PROMOTING:
        if _holds(plan, before):
            return promote(plan.state, before, plan.config.keep_policies)
        display.say(f"{plan.day}: the published policy has changed since; the night starts over")
    plan.state.night(plan.day).path.mkdir(exist_ok=True)
    numbers: dict[str, Any] = {}
    try:
        night = _decide(plan, numbers, display)
    except BadDayError as error:
        night = plan.night(Outcome.BAD_DAY, str(error), numbers)
    except TraceError as error:
        night = plan.night(Outcome.BAD_DAY, f"{plan.day}: {error}", numbers)
    except NothingToJudgeError as error:
        night = plan.night(Outcome.NOTHING_TO_JUDGE, str(error), numbers)
    except MeasuringError as error:
        night = plan.night(Outcome.FAILED, str(error), numbers)
    try:
        keep(plan.state, night)
    except WritingError:
        display.say(night.line)  # show the result even so
        raise
    if night.outcome is not Outcome.PROMOTING:
        return night
    return promote(plan.state, night, plan.config.keep_policies)


def _decide(plan: Plan, numbers: dict[str, Any], display: Display) -> Night:
    """Run the steps up to the verdict; add the figures to `numbers`."""
    config, champion = plan.config, plan.state.served()
    conflict = config.conflict
    display.say(f"measuring the peak hour of {plan.day}")
    today = conditions_of(
        plan.trace, plan.day, conflict.window_minutes, conflict.types or None, display.say
    )
    numbers["conditions"] = today.as_dict()
    signature = _checked_signature(plan.training_config(today.hours))
    prepared_program(plan.trace.folder, f"{plan.day}", today.hours).unlink(missing_ok=True)
    decision = decide(champion.target if champion else None, today, signature, config.threshold)
    if decision.trains:
        decision = _unless_rejected_before(plan, decision, champion, today, signature)
    numbers |= _decision_numbers(champion, decision, config.threshold)
    if not decision.trains:
        return plan.night(Outcome.SKIPPED, decision.why, numbers)
    display.say(f"training: {decision.why}")
    return _train_and_judge(plan, today, signature, champion, numbers, display)


def _unless_rejected_before(
    plan: Plan,
    decision: Decision,
    champion: Publication | None,
    today: Conditions,
    signature: Signature,
) -> Decision:
    """Decide against training if a recent one under such conditions was rejected."""
    config = plan.config
    before = last_rejected_day(
        plan.state, champion, today, signature, config.threshold, config.retrain_after
    )
    if before is None:
        return decision
    ended = "kept the champion" if champion else "no candidate was better than the baselines"
    again = "" if config.retrain_after is None else f"; next after {config.retrain_after} days"
    why = f"trained for these conditions on {before}, and {ended}{again}"
    return replace(decision, trains=False, why=why)


def _checked_signature(config: TrainConfig) -> Signature:
    """Return the workload's signature; check the settings against it before hours of work."""
    try:
        signature = workload_signature(load_engine(), workload_options(config.workload))
        load_engine().check_machine(config.machine.options())
        refuse_store(config.search, "heddle nightly")
        check_settings(config, signature)
    except TraceError:
        raise
    except ValueError as error:
        raise SettingsError(str(error)) from error
    return signature


def _train_and_judge(
    plan: Plan,
    today: Conditions,
    signature: Signature,
    champion: Publication | None,
    numbers: dict[str, Any],
    display: Display,
) -> Night:
    held_out, cores = plan.config.held_out, plan.config.machine.cores or 1
    parts = split(plan.trace, today, held_out.minutes, held_out.blocks, cores)
    programs = [
        prepared_program(plan.trace.folder, f"{plan.day}", hours)
        for hours in (parts.training, *parts.blocks)
    ]
    config = plan.training_config(parts.training)
    record = Record(config.mlflow, plan.state.path, display.say)
    status = "FAILED"
    try:
        trained = train_candidate(
            config,
            signature,
            programs[0].name,
            plan.state.night(plan.day),
            champion,
            display,
            record,
        )
        served = champion.document if champion else None
        subjects = subjects_of(
            trained.candidate, served, config.baselines, signature, trained.tuned
        )
        objective = with_served_limits(trained.objective, served)
        blocks = measure_blocks(config, parts.blocks, subjects, display, objective)
        verdict = judge(blocks, held_out, config.seed)
        record.scores(
            {f"held_out/{standing.name}": standing.ratio for standing in verdict.standings}
        )
        status = "FINISHED"
    except KeyboardInterrupt:
        status = "KILLED"
        raise
    finally:
        record.end(status)
    numbers |= _judged_numbers(plan, parts, trained, champion, verdict)
    for program in programs:
        program.unlink(missing_ok=True)
    outcome = Outcome.PROMOTING if verdict.promotes else Outcome.KEPT
    return plan.night(outcome, _verdict_words(verdict, held_out.confidence), numbers)


def _holds(plan: Plan, night: Night) -> bool:
    """Whether a promotion is still valid: it was published, or its opponent is."""
    served = plan.state.served()
    if night.numbers.get("champion") == (served.digest if served else None):
        return True
    return served_by(plan.state, night) is not None


def _decision_numbers(
    champion: Publication | None, decision: Decision, threshold: float
) -> dict[str, Any]:
    found: dict[str, Any] = {"threshold": threshold, "decision": decision.why}
    if champion is not None and champion.conditions is not None:
        found["trained_for"] = champion.conditions.as_dict()
    difference = decision.difference
    if difference is not None and math.isfinite(difference):
        found["difference"] = difference
    return found


def _judged_numbers(
    plan: Plan, parts: Split, trained: Trained, champion: Publication | None, verdict: Verdict
) -> dict[str, Any]:
    provenance = trained.candidate.provenance
    return {
        "training": {
            "hours": parts.training,
            "machine": machine_words(verdict.machine),
            "evaluations": trained.evaluations,
            "seconds": round(trained.seconds, 1),
            "from": f"{champion.words} and the seeds" if champion else "the seeds",
            "origin": provenance.get("origin", "not known"),
        },
        "held_out": {
            "hours": parts.held_out,
            "blocks": list(parts.blocks),
            "repeats": plan.config.run.repeats,
            "confidence": plan.config.held_out.confidence,
        },
        "machine": machine_words(verdict.machine),
        "opponent": verdict.opponent,
        "standings": [standing.as_dict() for standing in verdict.standings],
        "throughput": verdict.throughput,
        "champion": champion.digest if champion else None,
        "again": _again(plan, parts),
    }


def _again(plan: Plan, parts: Split) -> list[str]:
    """Return commands that evaluate on the held-out part and train on the training part."""
    machine = [f"machine={plan.config.machine.kind}", f"machine.cores={plan.config.machine.cores}"]
    name = plan.config.workload["name"]
    part = [f"workload={name}", f"workload.trace={plan.trace.folder}", f"workload.day={plan.day}"]
    candidate = str(plan.state.night(plan.day).candidate)
    if "," in candidate:  # commas separate policies
        candidate = json.dumps(candidate, ensure_ascii=False)
    held_out, training = f"workload.hours={parts.held_out}", f"workload.hours={parts.training}"
    return [
        heddle_command("evaluate", f"policy=silo,{candidate}", *part, held_out, *machine),
        heddle_command("train", *part, training, *machine, *_searching(plan.config)),
    ]


def _searching(config: NightlyConfig) -> list[str]:
    """Return the overrides for the search and its budget."""
    search = config.search
    bounds = ("generations", "evaluations", "seconds")
    values = ((bound, getattr(search, bound)) for bound in bounds)
    words = [f"search.{bound}={'null' if value is None else value}" for bound, value in values]
    return [f"search={search.name}", *words]


def _verdict_words(verdict: Verdict, confidence: float) -> str:
    decisive = verdict.decisive
    left_out = f"leaves out transactions: {verdict.left_out}; " if verdict.left_out else ""
    beyond = f"beyond its limits: {verdict.beyond}; " if verdict.beyond else ""
    return (
        f"{left_out}{beyond}{decisive.ratio:.3f} × {decisive.name} on the held-out part, "
        f"{confidence:.0%} interval {decisive.low:.3f} to {decisive.high:.3f}, "
        f"on {machine_words(verdict.machine)}"
    )
