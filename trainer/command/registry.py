"""The commands of `heddle policy` that use MLflow's registry: export and promote."""

from __future__ import annotations

import click

from policies.command import HELP, report_errors, save_policy
from policies.errors import PolicyFileError

EXPORT_EXAMPLES = """
\b
Examples:
  heddle policy export registry:orders@champion policy.json
  heddle policy export registry:orders/3 policy.json --uri http://mlflow:5000
"""

PROMOTE_EXAMPLES = """
\b
Example:
  heddle policy promote registry:orders@candidate
"""

uri_option = click.option(
    "--uri",
    help="Use this MLflow store. [default: MLFLOW_REGISTRY_URI, else MLFLOW_TRACKING_URI, else "
    "the SQLite file runs/mlflow.db]",
)


@click.command(epilog=EXPORT_EXAMPLES, context_settings=HELP)
@click.argument("source", metavar="POLICY")
@click.argument("target", metavar="FILE")
@uri_option
@report_errors
def export(source: str, target: str, uri: str | None) -> None:
    """Write a policy of MLflow's registry to a file.

    POLICY is registry:MODEL@ALIAS or registry:MODEL/VERSION. FILE is replaced atomically if it
    exists.
    """
    from policies import open_policy
    from trainer.policy_registry import default_store, read_from

    refuse_other(source)
    if uri is not None:
        read_from(default_store(uri))
    save_policy(open_policy(source), target)


@click.command(epilog=PROMOTE_EXAMPLES, context_settings=HELP)
@click.argument("source", metavar="POLICY")
@uri_option
@report_errors
def promote(source: str, uri: str | None) -> None:
    """Make a version in MLflow's registry its model's champion.

    POLICY is registry:MODEL@ALIAS or registry:MODEL/VERSION.
    """
    from trainer.policy_registry import CHAMPION, Reference, RegistryReader, default_store

    refuse_other(source)
    reference = Reference.parse(source.partition(":")[2])
    before, version = RegistryReader(default_store(uri)).promote(reference)
    if before == version:
        click.echo(f"{reference.model}@{CHAMPION}: version {version} already")
    else:
        previous = "" if before is None else f", was {before}"
        click.echo(f"{reference.model}@{CHAMPION}: version {version}{previous}")


def refuse_other(source: str) -> None:
    """Refuse a policy that is not in the registry.

    Raises:
        PolicyFileError: it is one.
    """
    if not source.startswith("registry:"):
        raise PolicyFileError(f"{source}: is not in the registry; write registry:MODEL@champion")
