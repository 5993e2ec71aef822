"""Training a night's candidate on the first part of the peak, from champion and seeds."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass, replace
from typing import Any

from envs import TunedBackoff
from envs.objective import THROUGHPUT, Objective
from policies import Encoding, PolicyDocument, PolicyFileError, Signature, load, save
from policies.protocol import TABLE, protocol_name
from trainer.checkpoint import (
    Checkpoint,
    CheckpointError,
    WritingError,
    remove_unfinished,
    write_atomically,
)
from trainer.config import TrainConfig
from trainer.evaluation import MachineSpec, Notices, build_backend
from trainer.nightly.state import NightFolder, Publication
from trainer.progress import Display
from trainer.record import Record
from trainer.run import Training
from trainer.run_settings import measuring_settings
from trainer.search import Candidate
from trainer.search.space import space_of

PLAN = "plan.json"
"""The file in the training's folder that identifies its inputs."""


@dataclass(frozen=True)
class Trained:
    """The result of a training.

    Attributes:
        candidate: the policy.
        tuned: the backoff of `silo_tuned` on the training part.
        evaluations: the number of evaluated candidates.
        seconds: the duration of the search.
        objective: what it was trained for.
    """

    candidate: PolicyDocument
    tuned: TunedBackoff
    evaluations: int
    seconds: float
    objective: Objective = THROUGHPUT


def train_candidate(
    config: TrainConfig,
    signature: Signature,
    program: str,
    night: NightFolder,
    champion: Publication | None,
    display: Display,
    record: Record,
) -> Trained:
    """Train a candidate, or resume the training of a killed process.

    Args:
        config: all settings; its workload is the training part.
        signature: of the workload.
        program: a digest of the replayed program: if it differs, the training starts over.
        night: the folder for the training and the candidate.
        champion: the published policy; the search starts from it if it fits.
        display: shows the progress.
        record: logs.

    Raises:
        KeyboardInterrupt: Ctrl-C; the last generation's checkpoint remains.
        MeasuringError: the reference can't run.
        WritingError: a checkpoint or a policy can't be written.
    """
    folder = night.training
    number = champion.number if champion else None
    plan = {"settings": measuring_settings(config), "program": program, "champion": number}
    _resume_or_begin(night, plan, display)
    notices = Notices(display.say, folder.backend_log)
    backend = build_backend(config.evaluation, MachineSpec.of(config), notices=notices)
    try:
        start = starting_points(champion, space_of(config.search, signature).encoding)
        training = Training(config, signature, folder, backend, display, record, start)
        training.learn()
    finally:
        backend.close()
    candidate = replace(load(folder.policy, signature), name=night.path.name)
    save(candidate, night.candidate)
    state = Checkpoint.load(folder.path)
    (tuned,) = state.backoffs
    return Trained(candidate, tuned, state.evaluations, state.seconds, training.objectives[0])


def with_served_limits(objective: Objective, served: PolicyDocument | None) -> Objective:
    """Return the objective, and the limits that the served policy was trained for.

    Its own limit on a metric of a type replaces that of the served policy.
    """
    if served is None or "objective" not in served.provenance:
        return objective
    try:
        before = Objective.from_dict(served.provenance["objective"])
    except (AttributeError, KeyError, TypeError, ValueError):
        return objective  # of several scenarios, or of another version
    own = {limit.name for limit in objective.limits}
    known = served.signature.type_names
    kept = [
        limit
        for limit in before.limits
        if limit.name not in own and (limit.type_name is None or limit.type_name in known)
    ]
    return replace(objective, limits=(*objective.limits, *kept))


def starting_points(champion: Publication | None, encoding: Encoding) -> list[Candidate]:
    """Return the search's starting points besides the seeds: the champion, if it fits.

    A search without schedules, or with other ones, starts from the champion without its schedule. A
    search without the champion's protocol does not start from it.
    """
    if champion is None or champion.document.signature != encoding.signature:
        return []
    try:
        vector = encoding.encode(champion.document)
    except PolicyFileError:
        if protocol_name(champion.document.protocol) not in (TABLE, *encoding.protocols):
            return []
        vector = encoding.encode(replace(champion.document, schedule=None))
    return [Candidate(tuple(vector), f"champion, {champion.words}")]


def _resume_or_begin(night: NightFolder, plan: dict[str, Any], display: Display) -> None:
    """Keep an existing training if it has the same inputs and is not damaged."""
    folder = night.training
    try:
        if folder.path.exists():
            reason = _no_resume_reason(night, plan)
            if reason is None:
                remove_unfinished(folder.path)
                display.say(f"resuming the training in {folder.path}")
                return
            display.say(f"{folder.path}: {reason}; the training starts over")
            shutil.rmtree(folder.path)
        folder.path.mkdir(parents=True)
    except OSError as error:
        raise WritingError(f"{folder.path}: can't be created: {error.strerror}") from error
    write_atomically(folder.path / PLAN, json.dumps(plan, indent=1) + "\n")


def _no_resume_reason(night: NightFolder, plan: dict[str, Any]) -> str | None:
    folder = night.training
    try:
        if json.loads((folder.path / PLAN).read_text(encoding="utf-8")) != plan:
            return "the trace, the settings or the champion have changed"
        folder.refuse_lost_checkpoint()
        Checkpoint.load(folder.path)
    except CheckpointError as error:
        return str(error)
    except (OSError, ValueError):
        return "it did not start"
    return None
