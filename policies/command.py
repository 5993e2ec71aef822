"""The commands of `heddle policy` that need no more than a policy: show, validate, diff, convert.

The exit code is 0 for success (or no difference), 1 if the policies differ, and 2 for bad input, as
with diff(1). It is 1 if the disk is full or fails, and 130 after an interrupt.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, TypeVar

import click

from policies.document import PolicyDocument
from policies.errors import PolicyFileError
from policies.explain import differences, differences_table, render
from policies.format import save, to_json
from policies.format import validate as check
from policies.published_text import import_published
from policies.resolve import open_policy, resolve
from policies.seeds import is_seed
from policies.signature import Signature, workload_signature
from traces.errors import disk_failed
from traces.output import print_table

FAILED = 1
BAD_INPUT = 2
DIFFERENT = 1
INTERRUPTED = 130

HELP = {"help_option_names": ["-h", "--help"]}

# Click keeps the line breaks of a paragraph that begins with \b.
SHOW_EXAMPLES = """
\b
Examples:
  heddle policy show runs/2026-11-21/policy.json
  heddle policy show ic3
  heddle policy show ic3 --workload ycsb -o operations=16
  heddle policy show ic3 --like runs/2026-11-21/policy.json
  heddle policy show two_phase_locking_star --json > start.json
"""

VALIDATE_EXAMPLES = """
\b
Examples:
  heddle policy validate runs/*/policy.json
  heddle policy validate policy.json --workload tpcc -o warehouses=4
"""

DIFF_EXAMPLES = """
\b
Examples:
  heddle policy diff ic3 runs/2026-11-21/policy.json
  heddle policy diff occ two_phase_locking_star --workload ycsb
"""

CONVERT_EXAMPLES = """
\b
Example:
  heddle policy convert 48th-1wh.txt published.json
  heddle policy convert 48th-3.0theta.txt published.json --workload tpce
"""

Command = TypeVar("Command", bound=Callable[..., Any])


def workload_options(default: str | None) -> Callable[[Command], Command]:
    """Return a decorator that adds the options `--workload` and `-o` to a command."""

    def decorate(command: Command) -> Command:
        shown = f" [default: {default}]" if default else ""
        option = click.option(
            "-o",
            "--option",
            "options",
            multiple=True,
            metavar="KEY=VALUE",
            help="Set an option of the workload, such as warehouses=1; repeatable.",
        )
        name = click.option(
            "-w", "--workload", default=default, help=f"Set the workload to fit.{shown}"
        )
        return name(option(command))

    return decorate


def report_errors(command: Command) -> Command:
    """Decorate a command to report an error as one message on stderr, and exit with its code."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return command(*args, **kwargs)
        except PolicyFileError as error:
            _fail(str(error), FAILED if disk_failed(error) else BAD_INPUT)
        except ImportError as error:
            _fail(f"this command needs the compiled engine, which can't be loaded: {error}")
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            raise SystemExit(INTERRUPTED) from None

    return run  # type: ignore[return-value]


@click.command(epilog=SHOW_EXAMPLES, context_settings=HELP)
@click.argument("policy_name", metavar="POLICY")
@click.option("--json", "as_json", is_flag=True, help="Print the text of the policy file instead.")
@click.option("--like", metavar="FILE", help="Use the workload of this policy file.")
@workload_options("tpcc")
@click.pass_context
@report_errors
def show(
    context: click.Context,
    policy_name: str,
    as_json: bool,
    like: str | None,
    workload: str,
    options: tuple[str, ...],
) -> None:
    """Print a policy as a table with one row per access."""
    wanted = _wanted(context, workload, options)
    if like is None:
        document = _open(policy_name, wanted)
    elif wanted.given:
        raise PolicyFileError(f"--like {like}: already sets the workload; leave out --workload")
    else:
        document = resolve(policy_name, open_policy(like).signature)
    if as_json:
        click.echo(to_json(document), nl=False)
    else:
        print_table(render(document))


@click.command(epilog=VALIDATE_EXAMPLES, context_settings=HELP)
@click.argument("policies", metavar="POLICY...", nargs=-1, required=True)
@workload_options(None)
@report_errors
def validate(policies: tuple[str, ...], workload: str | None, options: tuple[str, ...]) -> None:
    """Check policies; report the row and field at fault of each invalid one.

    With --workload a policy must fit that workload, without it only its own signature.
    """
    wanted = _Workload(workload or "tpcc", options, given=workload is not None)
    failed = False
    for name in policies:
        try:
            document = _open(name, wanted)
        except PolicyFileError as error:
            failed = True
            click.echo(f"error: {error}", err=True)
        else:
            signature = document.signature
            click.echo(
                f"{name}: valid: {document.name} for {signature.workload}, "
                f"{signature.state_count} states"
            )
    if failed:
        raise SystemExit(BAD_INPUT)


@click.command(epilog=DIFF_EXAMPLES, context_settings=HELP)
@click.argument("one", metavar="A")
@click.argument("other", metavar="B")
@workload_options("tpcc")
@click.pass_context
@report_errors
def diff(
    context: click.Context, one: str, other: str, workload: str, options: tuple[str, ...]
) -> None:
    """List the cells in which B differs from A.

    The exit code is 0 if no cell differs, 1 if cells differ, and 2 for bad input. Names and
    provenance are not compared. A seed policy is built for the workload of the other policy.
    """
    wanted = _wanted(context, workload, options)
    first, second = _open_pair(one, other, wanted)
    if differences(first, second):
        print_table(differences_table(first, second))
        raise SystemExit(DIFFERENT)


@click.command(epilog=CONVERT_EXAMPLES, context_settings=HELP)
@click.argument("source", metavar="IN")
@click.argument("target", metavar="OUT")
@workload_options("tpcc")
@report_errors
def convert(source: str, target: str, workload: str, options: tuple[str, ...]) -> None:
    """Convert a table in Polyjuice's text format to a policy file.

    IN must have exactly that format, for TPC-C, TPC-E (--workload tpce) or the micro-benchmark
    (--workload micro). Files of the older format, with one more block, are refused. OUT is replaced
    if it exists.
    """
    signature = _Workload(workload, options).signature()
    document = import_published(source, signature)
    check(document)
    save_policy(document, target)


def save_policy(document: PolicyDocument, target: str) -> None:
    """Write a policy file and print its path.

    Raises:
        PolicyFileError: the file cannot be written.
    """
    save(document, target)
    click.echo(f"{target}: written")


class _Workload:
    """The requested workload, whose signature is built on demand."""

    def __init__(self, name: str, options: tuple[str, ...], given: bool = True) -> None:
        self.name = name
        self.options = _key_values(options)
        self.given = given or bool(options)

    def signature(self) -> Signature:
        try:
            return workload_signature(self.name, self.options)
        except (ValueError, RuntimeError) as error:
            raise PolicyFileError(str(error)) from None


def _wanted(context: click.Context, workload: str, options: tuple[str, ...]) -> _Workload:
    source = context.get_parameter_source("workload")
    return _Workload(workload, options, given=source is click.core.ParameterSource.COMMANDLINE)


def _open(name: str, wanted: _Workload) -> PolicyDocument:
    if is_seed(name):
        return resolve(name, wanted.signature())
    return open_policy(name, wanted.signature() if wanted.given else None)


def _open_pair(one: str, other: str, wanted: _Workload) -> tuple[PolicyDocument, PolicyDocument]:
    if is_seed(one) and not is_seed(other) and not wanted.given:
        second = _open(other, wanted)
        return resolve(one, second.signature), second
    first = _open(one, wanted)
    if is_seed(other):
        return first, resolve(other, first.signature)
    return first, _open(other, wanted)


def _key_values(options: tuple[str, ...]) -> Mapping[str, str]:
    pairs = {}
    for option in options:
        key, equals, value = option.partition("=")
        if not (key and equals):
            raise PolicyFileError(f"-o {option}: write KEY=VALUE, such as -o warehouses=1")
        if key == "name":
            raise PolicyFileError(f"-o {option}: set the workload with --workload")
        pairs[key] = value
    return pairs


def _fail(message: str, code: int = BAD_INPUT) -> NoReturn:
    click.echo(f"error: {message}", err=True)
    raise SystemExit(code)
