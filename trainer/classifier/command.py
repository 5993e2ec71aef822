"""`heddle lab classify`: train the classifier of hot keys from a trace."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.table import Table

from policies import PolicyDocument, PolicyFileError, Signature
from policies.format import load, save
from policies.schedule import FIFO
from policies.signature import workload_signature
from traces.errors import TraceError
from traces.output import bar, counts_table, print_table
from traces.reader import open_trace
from trainer.classifier.document import save_classifier
from trainer.classifier.observations import Observations, observe
from trainer.classifier.training import Plan, Trained, train
from trainer.command.errors import UsageError, one_message
from trainer.command.output import refuse_bad_output
from trainer.command.settings import compose_settings, settings_text
from trainer.config import ClassifyConfig, workload_options
from trainer.run_version import heddle_version

RECORDED = ("hot", "clusters", "neighbours", "hints", "transactions", "validation", "seed")
"""The settings that determine the result."""

FEWEST = 100
"""The minimum number of transactions for a training."""


@click.command("classify", context_settings={"help_option_names": ["-h", "--help"]})
@click.argument("settings", nargs=-1, metavar="[KEY=VALUE]...")
@click.option("--settings", "show", is_flag=True, help="List all settings and exit.")
@one_message
def classify(settings: tuple[str, ...], show: bool) -> None:
    r"""Train a classifier that predicts hot keys from type and parameters.

    The classifier uses the parameters that transactions pass before they start; a trace of `heddle
    trace record` has them. Its accuracy is measured on transactions that were not used in the
    training. Use the result with schedule.classifier=FILE. With policy= it becomes part of the
    policy.

    \b
    Examples:
      heddle lab classify trace=tpcc output=classifier.json
      heddle lab classify trace=tpcc policy=found.json output=scheduled.json hot=0.02
      heddle evaluate policy=silo+smf schedule.classifier=classifier.json
    """
    if show:
        click.echo(settings_text("classify", settings), nl=False)
        return
    config = compose_settings("classify", settings, ClassifyConfig)
    output = _checked(config)
    workload = workload_options(config.workload)
    try:
        signature = workload_signature(workload["name"], _without_name(workload))
    except ValueError as error:
        raise UsageError(str(error)) from None
    carrier = None if config.policy is None else load(Path(config.policy), signature)
    try:
        observed = _observe(config, signature)
    except TraceError as error:
        raise UsageError(str(error)) from None
    trained = _train(config, observed, workload)
    _write(config, output, carrier, trained)
    print_table(_table(trained))
    learned = f"{trained.hot_keys} hot keys, learned from {len(observed):,} transactions"
    click.echo(f"{output}: {learned}")


def _checked(config: ClassifyConfig) -> Path:
    """Check the settings before anything is read; return the output file.

    Raises:
        UsageError: a setting is missing.
    """
    if config.trace is None:
        raise UsageError("trace=: must name a folder; record a trace with `heddle trace record`")
    if config.output is None:
        raise UsageError("output=: must name a file, such as output=classifier.json")
    if "name" not in config.workload:
        raise UsageError("workload=: must name a workload")
    refuse_bad_output(config.output)
    return Path(config.output)


def _without_name(workload: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in workload.items() if key != "name"}


def _observe(config: ClassifyConfig, signature: Signature) -> Observations:
    assert config.trace is not None
    observed = observe(open_trace(Path(config.trace)), signature, config.transactions)
    if len(observed) < FEWEST:
        raise TraceError(
            f"{config.trace}: has {len(observed)} transactions of {signature.workload} whose rows "
            f"are known; a training needs at least {FEWEST}"
        )
    return observed


def _train(config: ClassifyConfig, observed: Observations, workload: Mapping[str, str]) -> Trained:
    plan = Plan(
        hot=config.hot,
        clusters=config.clusters,
        neighbours=config.neighbours,
        validation=config.validation,
        hinted=config.hints,
        seed=config.seed,
    )
    with bar("learning", len(observed.signature.types)) as shown:
        return train(observed, workload, plan, lambda done, _, name: shown.update(done, name))


def _write(
    config: ClassifyConfig, output: Path, carrier: PolicyDocument | None, trained: Trained
) -> None:
    provenance = {
        "heddle": heddle_version(),
        "trace": str(config.trace),
        "settings": {name: getattr(config, name) for name in RECORDED},
        "accuracy": {
            name: dataclasses.asdict(measured) for name, measured in trained.accuracy.items()
        },
    }
    if carrier is not None:
        save(_carrying(carrier, trained.classifier, provenance), output)
        return
    try:
        save_classifier(output, config.workload["name"], trained.classifier, provenance)
    except OSError as error:
        raise PolicyFileError(f"{output}: can't be written: {error.strerror}") from None


def _carrying(
    policy: PolicyDocument, classifier: Mapping[str, Any], provenance: Mapping[str, Any]
) -> PolicyDocument:
    """Return the policy with the classifier; a policy without a schedule gets smf."""
    schedule = dict(policy.schedule or {})
    if schedule.get("policy", FIFO) == FIFO:
        schedule["policy"] = "smf"
    return dataclasses.replace(
        policy,
        schedule={**schedule, "classifier": classifier},
        provenance={**(policy.provenance or {}), "classifier": provenance},
    )


def _table(trained: Trained) -> Table:
    table = counts_table(
        "predicted hot keys, of transactions not used in the training",
        "type",
        "transactions",
        "clusters",
        "exact",
        "precision",
        "recall",
    )
    for name, measured in trained.accuracy.items():
        table.add_row(
            name,
            f"{measured.transactions:,}",
            str(trained.clusters.get(name, "")),
            *(
                f"{100 * share:.1f} %"
                for share in (measured.exact, measured.precision, measured.recall)
            ),
        )
    return table
