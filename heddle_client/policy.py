"""What a scheduler needs of a policy: its order, and how many transactions run at a time."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

from heddle_client.errors import PolicyError

Mode = Literal["fifo", "smf", "locks"]

LARGEST_CONCURRENCY = 65_536
LARGEST_BARRIER = 1_000_000
LARGEST_GROUP = 1_024
LONGEST_WAIT_S = 3_600.0


@dataclass(frozen=True)
class Policy:
    """How transactions are admitted. `docs/client-library.md` describes the modes.

    Raises:
        PolicyError: a value is out of its range.
    """

    mode: Mode = "smf"
    concurrency: int | None = None
    """Transactions that run at a time; None: any number."""
    barrier: int = 32
    """With `smf`, later transactions that may start before the oldest waiting one."""
    unscheduled: frozenset[str] = frozenset()
    """Types whose keys are ignored, except in mode `locks`."""
    merge: int = 1
    """The most transactions of a merger that the database commits as one."""

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode):
            raise PolicyError(f"mode is {self.mode!r}: give {_listed(get_args(Mode))}")
        if self.concurrency is not None:
            _integer("concurrency", self.concurrency, 1, LARGEST_CONCURRENCY)
        _integer("barrier", self.barrier, 0, LARGEST_BARRIER)
        _integer("merge", self.merge, 1, LARGEST_GROUP)
        names: object = self.unscheduled  # callers without types give anything
        if not isinstance(names, frozenset | set | list | tuple) or not all(
            isinstance(name, str) for name in names
        ):
            raise PolicyError(f"unscheduled is {names!r}: give a list of types")
        object.__setattr__(self, "unscheduled", frozenset(self.unscheduled))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Policy:
        """Return the policy of a Heddle policy file, of which `protocol` and `schedule` are read.

        Raises:
            PolicyError: the file cannot be read, or asks for what only the engine can do.
        """
        try:
            document = json.loads(Path(path).read_text(encoding="utf-8-sig"))
            return _policy(document)
        except PolicyError as error:
            raise PolicyError(f"{path}: {error}") from None
        except OSError as error:
            raise PolicyError(f"{path} cannot be read: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise PolicyError(f"{path} is not JSON: {error}") from error


def check_longest_wait(seconds: float) -> float:
    """Return a longest wait in seconds.

    Raises:
        PolicyError: it is not a number of the range.
    """
    if (
        isinstance(seconds, bool)
        or not isinstance(seconds, int | float)
        or not 0 <= seconds <= LONGEST_WAIT_S
    ):
        raise PolicyError(
            f"longest_wait is {seconds!r}: give a number of seconds, 0 to {LONGEST_WAIT_S:.0f}"
        )
    return float(seconds)


def _policy(document: Any) -> Policy:
    if not isinstance(document, dict) or document.get("kind") != "heddle.policy":
        raise PolicyError('it is not a policy file: its "kind" must be "heddle.policy"')
    if document.get("schema_version") != 1:
        raise PolicyError(
            f"schema_version is {document.get('schema_version')!r}, but this version reads 1: "
            "install the version that wrote the file"
        )
    protocol, schedule = document.get("protocol"), document.get("schedule")
    if protocol is None and schedule is None:
        raise PolicyError(
            'it has neither "protocol" nor "schedule", and only the engine executes its table: '
            'add "protocol": {"name": "external", "options": {}}'
        )
    concurrency, locks, merge = _read_protocol(protocol)
    order, barrier, unscheduled = _read_schedule(schedule)
    mode = "locks" if locks else order
    return Policy(mode, concurrency, barrier, frozenset(unscheduled), merge)


def _read_protocol(protocol: Any) -> tuple[int | None, bool, int]:
    """Return the bound, whether keys are locked, and the size of groups."""
    if protocol is None:
        return None, False, Policy.merge
    if not isinstance(protocol, dict) or protocol.get("name") != "external":
        name = protocol.get("name") if isinstance(protocol, dict) else protocol
        raise PolicyError(
            f"protocol.name is {name!r}, which only the engine executes: give 'external', or leave "
            '"protocol" out'
        )
    options = protocol.get("options") or {}
    if not isinstance(options, dict):
        raise PolicyError(f"protocol.options is {options!r}: give an object of texts")
    locks = options.get("locks", "off")
    if locks not in ("off", "hints"):
        raise PolicyError(f"protocol.options.locks is {locks!r}: give 'off' or 'hints'")
    concurrency = None
    if options.get("concurrency") is not None:
        concurrency = _option(options, "concurrency", LARGEST_CONCURRENCY)
    merge = _option(options, "merge", LARGEST_GROUP) if "merge" in options else Policy.merge
    return concurrency, locks == "hints", merge


def _option(options: dict[str, Any], name: str, most: int) -> int:
    """Return an option of the protocol, 1 to `most`."""
    value = options[name]
    # Options of a protocol are texts; a number is what a person writes.
    if isinstance(value, str) and value.isascii() and value.isdigit():
        value = int(value)
    _integer(f"protocol.options.{name}", value, 1, most)
    return int(value)


def _read_schedule(schedule: Any) -> tuple[Mode, int, Iterable[str]]:
    """Return the order, the barrier and the unscheduled types."""
    if schedule is None:
        return "fifo", Policy.barrier, ()
    if not isinstance(schedule, dict):
        raise PolicyError(f"schedule is {schedule!r}: give null or an object")
    order = schedule.get("policy")
    if order != "fifo" and order != "smf":
        raise PolicyError(
            f"schedule.policy is {order!r}: outside the engine only 'fifo' and 'smf' are available"
        )
    barrier = schedule.get("barrier", Policy.barrier)
    _integer("schedule.barrier", barrier, 0, LARGEST_BARRIER)
    unscheduled = schedule.get("unscheduled", [])
    if not isinstance(unscheduled, list) or not all(isinstance(name, str) for name in unscheduled):
        raise PolicyError(f"schedule.unscheduled is {unscheduled!r}: give a list of types")
    return order, barrier, unscheduled


def _integer(name: str, value: Any, least: int, most: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise PolicyError(f"{name} is {value!r}: give an integer, {least} to {most}")


def _listed(names: tuple[str, ...]) -> str:
    return f"{', '.join(names[:-1])} or {names[-1]}"
