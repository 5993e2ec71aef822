"""`heddle variance`: decompose the variance of latency, and rank its factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click

from envs import (
    Evaluator,
    Subject,
    is_tuned,
    machine_words,
    scheduled,
    subject_of,
    untuned,
    with_backoff,
)
from envs.recorded_events import RecordedEvents, Selection
from policies import Signature
from traces.result_file import JSON, file_text, print_json, with_format
from trainer.checkpoint import write_atomically
from trainer.command.comparing import as_list, schedule_options
from trainer.command.errors import UsageError, one_message
from trainer.command.evaluator import open_evaluator
from trainer.command.output import (
    make_progress_console,
    print_table,
    refuse_bad_output,
    refuse_bad_picture,
    write_and_show,
)
from trainer.command.settings import compose_settings, settings_text, value_of
from trainer.config import VarianceConfig, workload_options
from trainer.evaluation.measure import Counter, tune_silo
from trainer.progress import Display, make_display
from trainer.run_version import heddle_version
from trainer.variance.comparison import differences
from trainer.variance.picture import draw_trees
from trainer.variance.profile import Profile, profile_of
from trainer.variance.refinement import refined_profile
from trainer.variance.tables import (
    difference_table,
    factors_table,
    latency_table,
    recording_words,
)

SCHEMA_VERSION = 1
_LENGTHS = {"virtual": (0.02, 0.005), "threads": (1.0, 0.1)}
"""By machine, the seconds to record and those before it."""


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="Show all settings and exit.")
@with_format
@one_message
def variance(settings: tuple[str, ...], show: bool, form: str) -> None:
    r"""Decompose the variance of latency, and rank its factors.

    For each transaction type, the latency is divided into steps: admission, attempts, accesses by
    state, waits by state and blocker, locking, validation, installation, backoff. Waits are
    followed to what the blocker did meanwhile. The variance of the latency is the sum of the
    variances and covariances of the steps. Factors are ranked by specificity × contribution.

    policy= takes names and paths as heddle evaluate does. With several, the factors that make the
    difference from the first one are named. output= names a file: the factors as CSV if it ends in
    .csv, else all results with the whole trees as JSON. picture= is an image of the trees.

    With machine=threads, a share of the transactions is recorded, in up to two runs: the second has
    the accesses of the types whose execution varies.

    \b
    Examples:
      heddle variance policy=silo_tuned
      heddle variance policy=silo_tuned,runs/RUN/policy.json picture=trees.svg
      heddle variance policy=two_phase_locking types=[delivery] k=10 d=0.05 output=factors.json
    """
    if show:
        click.echo(settings_text("variance", [as_list(text) for text in settings]), nl=False)
        return
    config = variance_settings(settings)
    profiles = profile_policies(config)
    types = _types(config, profiles)
    document = document_of(config, profiles, types)

    def show_results() -> None:
        if form == JSON:
            print_json(document)
        else:
            _show(config, profiles, types)

    write_and_show(
        lambda: _write(config, document, profiles, types), show_results, as_json=form == JSON
    )


def variance_settings(settings: Sequence[str]) -> VarianceConfig:
    """Compose and check the settings.

    Raises:
        UsageError: one of them is wrong.
    """
    config = compose_settings("variance", [as_list(text) for text in settings], VarianceConfig)
    if not config.policy:
        raise UsageError("policy= names no policy; set it, such as policy=silo_tuned,ic3")
    if config.types is not None and not config.types:
        raise UsageError("types=[]: names no type; leave it out for all types")
    if config.machine.kind != "threads" and value_of(settings, "share") is not None:
        raise UsageError(
            f"share={config.share:g}: a run on virtual cores is recorded whole; leave it out, or "
            "add machine=threads"
        )
    refuse_bad_output(config.output)
    refuse_bad_picture(config.picture, config.output)
    return config


def profile_policies(config: VarianceConfig) -> list[Profile]:
    """Record a run of each policy, and return their profiles.

    Raises:
        UsageError: there is no such workload, machine or type.
        UnknownPolicyError, PolicyFileError: a policy can't be found, or is not for the workload.
        MeasuringError: a policy can't run.
    """
    evaluator = open_evaluator(config.workload, config.machine, config.seed)
    try:
        _refuse_unknown_types(config, evaluator.signature)
        with make_display(make_progress_console()) as display:
            return _profiles(config, evaluator, display)
    finally:
        evaluator.close()


def _profiles(config: VarianceConfig, evaluator: Evaluator, display: Display) -> list[Profile]:
    schedule = schedule_options(config.schedule, evaluator.signature)
    named = [subject_of(name, evaluator.signature, untuned) for name in config.policy]
    subjects = [scheduled(subject, schedule) for subject in named]
    if any(is_tuned(subject.name) for subject in subjects):
        tuned = tune_silo(evaluator.run_round, config.tuning, config.seed, display)
        subjects = list(with_backoff(subjects, tuned))
    counter = Counter(display, "record and decompose", len(subjects))
    profiles = []
    for subject in subjects:
        profiles.append(_profile(config, evaluator, subject))
        counter.step()
    return profiles


def _profile(config: VarianceConfig, evaluator: Evaluator, subject: Subject) -> Profile:
    seconds, warmup = run_length(config)

    def record(selection: Selection | None) -> RecordedEvents:
        return evaluator.record_events(
            subject,
            seconds,
            warmup=warmup,
            seed=config.seed,
            events=config.events,
            selection=selection,
        )

    if config.machine.kind == "virtual":
        return profile_of(record(None))
    return refined_profile(record, config.share, config.k, config.d)


def run_length(config: VarianceConfig) -> tuple[float, float]:
    """Return the seconds to record, and those before it."""
    seconds, warmup = _LENGTHS[config.machine.kind]
    return (
        seconds if config.seconds is None else config.seconds,
        warmup if config.warmup is None else config.warmup,
    )


def _refuse_unknown_types(config: VarianceConfig, signature: Signature) -> None:
    known = signature.type_names
    if unknown := [name for name in config.types or [] if name not in known]:
        raise UsageError(
            f"types=[{','.join(unknown)}]: {signature.workload} has the types {', '.join(known)}"
        )


def _types(config: VarianceConfig, profiles: Sequence[Profile]) -> list[str]:
    """Return the types to show.

    Raises:
        UsageError: too few transactions ended.
    """
    ended = {name for profile in profiles for name in profile.types}
    wanted = config.types if config.types is not None else list(dict.fromkeys(_all(profiles)))
    found = [name for name in wanted if name in ended]
    if not found:
        of_types = f" of {', '.join(config.types)}" if config.types else ""
        if any(profile.dropped for profile in profiles):
            raise UsageError(
                f"events={config.events}: the recording was full before two transactions{of_types} "
                "ended; raise events="
            )
        cure = "raise seconds= or share=" if config.machine.kind == "threads" else "raise seconds="
        raise UsageError(
            f"seconds={run_length(config)[0]:g}: fewer than two transactions{of_types} ended in "
            f"the recording; {cure}"
        )
    return found


def _all(profiles: Sequence[Profile]) -> list[str]:
    return [name for profile in profiles for name in profile.types]


def document_of(
    config: VarianceConfig, profiles: Sequence[Profile], types: Sequence[str]
) -> dict[str, Any]:
    """Return all results as JSON values."""
    first, *others = profiles
    return {
        "schema_version": SCHEMA_VERSION,
        "version": heddle_version(),
        "workload": workload_options(config.workload),
        "machine": first.machine.as_dict(),
        "seed": config.seed,
        "k": config.k,
        "d": config.d,
        "policies": [_only(profile.as_dict(config.k, config.d), types) for profile in profiles],
        "differences": [
            {
                "from": first.subject,
                "to": other.subject,
                "types": {
                    found.name: [change.as_dict() for change in found.changes]
                    for found in differences(first, other, config.k, config.d)
                    if found.name in types
                },
            }
            for other in others
        ],
    }


def _only(document: Mapping[str, Any], types: Sequence[str]) -> dict[str, Any]:
    kept = {name: kind for name, kind in document["types"].items() if name in types}
    return {**document, "types": kept}


def _rows(document: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the factors as rows of a CSV, which has no lists."""
    return [
        {
            "policy": profile["policy"],
            "type": name,
            **factor,
            "factor": " × ".join(factor["factor"]),
        }
        for profile in document["policies"]
        for name, kind in profile["types"].items()
        for factor in kind["factors"]
    ]


def _show(config: VarianceConfig, profiles: Sequence[Profile], types: Sequence[str]) -> None:
    first, *others = profiles
    options = workload_options(config.workload)
    name = options.pop("name", "workload")
    click.echo(f"{name}, {machine_words(first.machine)}")
    for profile in profiles:
        click.echo(recording_words(profile))
    print_table(latency_table(profiles, types))
    for profile in profiles:
        print_table(factors_table(profile, types, config.k, config.d))
    for other in others:
        found = differences(first, other, config.k, config.d)
        print_table(difference_table(first, other, found, types))


def _write(
    config: VarianceConfig,
    document: Mapping[str, Any],
    profiles: Sequence[Profile],
    types: Sequence[str],
) -> list[str]:
    written = []
    if config.output is not None:
        path = Path(config.output)
        write_atomically(path, file_text(path, document, _rows(document)))
        written.append(f"results: {config.output}")
    if config.picture is not None:
        draw_trees(profiles, types, config.draw_share, Path(config.picture))
        written.append(f"picture: {config.picture}")
    return written
