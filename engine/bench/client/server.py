"""The private PostgreSQL server of the engine's external store, for programs in Python."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from envs import Evaluator, subject_of, untuned

CONNECTIONS = 64
"""A private server accepts at least as many."""

_SHORTEST_RUN = 0.01
_PAUSE = 0.02


@contextmanager
def private_server(place: Path | None = None, durable: bool = True) -> Iterator[str]:
    """Start a server in a folder of its own, and yield its address as a URI.

    A short run in the engine's store starts it, as `docs/external-stores.md` describes. It ends
    with the block, or with this process.

    Args:
        place: an existing folder to make the server's own folder in; None: the folder for
            temporary files.
        durable: False leaves out `fsync`.

    Raises:
        MeasuringError: the server does not start. The message names the cure.
    """
    with tempfile.TemporaryDirectory(dir=place, prefix="heddle-") as folder:
        Path(folder).chmod(0o755)  # root's server runs as another user
        evaluator = Evaluator({"name": "smallbank", "accounts": "100"}, 1)
        durability = "full" if durable else "off"
        name = f"external:store=postgresql:durability={durability}:folder={folder}"
        subject = subject_of(name, evaluator.signature, untuned)
        evaluator.run(subject, _SHORTEST_RUN, warmup=0.0, seed=1)
        (socket,) = Path(folder).glob("heddle-store-*/.s.PGSQL.5432")
        process = int((socket.parent / "data" / "postmaster.pid").read_text().split()[0])
        try:
            yield f"postgresql://heddle@/postgres?host={quote(str(socket.parent), safe='')}"
        finally:
            os.kill(process, signal.SIGQUIT)
            while Path(f"/proc/{process}").exists():
                time.sleep(_PAUSE)
