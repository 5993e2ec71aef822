"""Starts a server, or asks one for its metrics: `python -m heddle_client.server SOCKET`."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import json
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, get_args

from heddle_client.errors import PolicyError, ServerError
from heddle_client.policy import Mode, Policy
from heddle_client.scheduler import Scheduler
from heddle_client.server.service import LOG, Process, Service
from heddle_client.server.status import status
from heddle_client.watcher import Signature, signature

LONGEST_PATH = 107
"""Bytes of a socket's path (sun_path of Linux, without its final zero)."""

BACKLOG = 4_096
"""Processes that may connect at once; the system may allow fewer (net.core.somaxconn)."""
KEEP: dict[str, Any] = {} if sys.version_info < (3, 13) else {"cleanup_socket": False}

EPILOG = """
examples:
  python -m heddle_client.server /run/bank/heddle.sock policy.json
  python -m heddle_client.server /run/bank/heddle.sock --mode smf --concurrency 8
  python -m heddle_client.server /run/bank/heddle.sock --status
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command, and return its exit code."""
    given = _parser().parse_args(arguments)
    logging.basicConfig(format="%(asctime)s  %(message)s", datefmt="%H:%M:%S", level=logging.INFO)
    try:
        _check(given)
        if given.status:
            return _print(json.dumps(status(given.socket), indent=1))
        known = None if given.policy is None else signature(given.policy)
        policy = given.policy or Policy(**_typed(given))
        scheduler = Scheduler(policy, longest_wait=given.longest_wait)
        _is_left(given.socket)  # refuses another file before it gets a lock file next to it
        with _alone(given.socket):
            asyncio.run(_serve(given, scheduler, known))
    except (PolicyError, ServerError, ValueError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except OSError as error:
        print(f"error: {given.socket}: {error.strerror or error}", file=sys.stderr)
        return 1
    return 0


def _print(text: str) -> int:
    """Print a text, and return the exit code."""
    try:
        print(text, flush=True)
    except OSError as error:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # it is flushed again at exit
        print(f"error: the output: {error.strerror}", file=sys.stderr)
        return 1
    return 0


def _typed(given: argparse.Namespace) -> dict[str, Any]:
    """Return what is typed of a policy, by the names of its fields."""
    fields = {"mode": given.mode, "concurrency": given.concurrency, "barrier": given.barrier}
    return {name: value for name, value in fields.items() if value is not None}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m heddle_client.server",
        description="Order the transactions of all processes that use Scheduler(server=SOCKET).",
        epilog=EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("socket", type=Path, help="path of the server's socket, which it creates")
    parser.add_argument("policy", type=Path, nargs="?", help="policy file")
    parser.add_argument("--mode", choices=get_args(Mode), help="without a file; default: smf")
    parser.add_argument("--concurrency", type=int, help="without a file: transactions at a time")
    parser.add_argument("--barrier", type=int, help="without a file: later ones that may overtake")
    parser.add_argument(
        "--longest-wait", type=float, default=1.0, help="seconds, with smf; default: 1"
    )
    parser.add_argument(
        "--watch", type=float, default=1.0, help="seconds between checks of the file; default: 1"
    )
    parser.add_argument(
        "--linger",
        type=float,
        default=5.0,
        help="with locks, seconds that the keys of a process stay locked after its connection has "
        "ended, and that a server waits which takes the place of one that was killed; default: 5",
    )
    parser.add_argument("--status", action="store_true", help="print the metrics of a server")
    return parser


def _check(given: argparse.Namespace) -> None:
    """Refuse arguments that contradict each other.

    Raises:
        ValueError: they do; the message names the cure.
    """
    if len(os.fsencode(given.socket)) > LONGEST_PATH:
        raise ValueError(
            f"{given.socket}: the path of a socket has at most {LONGEST_PATH} bytes; name another"
        )
    if given.policy is not None and (typed := [*_typed(given)]):
        raise ValueError(f"--{typed[0]}: the policy file has it; leave one of them out")
    for name, value, least in (("--watch", given.watch, 0.01), ("--linger", given.linger, 0.0)):
        if not least <= value <= 3_600:
            raise ValueError(f"{name}={value:g}: give seconds, {least:g} to 3600")


async def _serve(given: argparse.Namespace, scheduler: Scheduler, known: Signature) -> None:
    path: Path = given.socket
    service = Service(scheduler, given.linger)
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    if _is_left(path) and scheduler.policy.mode == "locks":
        LOG.info("transactions of the server before may run: this one starts in %g s", given.linger)
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), given.linger)
            return  # the next server has to wait as long
    with _bound(path) as listener:
        server = await loop.create_unix_server(
            lambda: Process(service), sock=listener, backlog=BACKLOG, **KEEP
        )
        LOG.info("server %s, %s", path, scheduler.policy)
        tasks = [loop.create_task(service.tick())]
        if given.policy is not None:
            tasks.append(loop.create_task(service.watch(given.policy, given.watch, known)))
        try:
            await stop.wait()
        finally:
            for task in tasks:
                task.cancel()
            server.close()
            # The next server waits if it finds the socket, as after a kill.
            if not service.has_locks:
                path.unlink(missing_ok=True)
            LOG.info("server %s has ended", path)


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Keep other servers from the same path, by a lock that ends with the process.

    Raises:
        ValueError: a server runs there.
    """
    with Path(f"{path}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"{path}: a server runs there already; stop it, or name another socket"
            ) from None
        yield


def _is_left(path: Path) -> bool:
    """Return whether a server that was killed, or that ended while transactions ran, was here.

    Raises:
        ValueError: there is another file.
    """
    if not path.exists():
        return False
    if not path.is_socket():
        raise ValueError(f"{path}: is no socket; name a file that does not exist")
    return True


def _bound(path: Path) -> socket.socket:
    """Return a socket with this path, in place of one that was left."""
    path.unlink(missing_ok=True)
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        listener.bind(os.fspath(path))
    except BaseException:
        listener.close()
        raise
    return listener


if __name__ == "__main__":
    sys.exit(main())
