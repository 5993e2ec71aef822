"""The known peers: finding one by its name, reading `--peer`, and listing them."""

from __future__ import annotations

import difflib
import importlib
import os
import pkgutil
import re
import textwrap
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from . import known
from .definition import Benchmark, Peer

WIDTH = 100


@lru_cache(maxsize=1)
def peers() -> dict[str, Peer]:
    """Returns the known peers by name."""
    modules = sorted(module.name for module in pkgutil.iter_modules(known.__path__))
    found = (importlib.import_module(f"{known.__name__}.{name}").PEER for name in modules)
    return {peer.name: peer for peer in found}


@dataclass(frozen=True)
class GivenPeer:
    """A peer with the binaries and the files that the user gave."""

    peer: Peer
    binaries: tuple[Path, ...]
    files: dict[str, Path]

    def benchmark(self, cell: dict[str, str]) -> tuple[Benchmark, Path] | None:
        """Returns the benchmark that runs a cell, and its binary; None if none was given."""
        for benchmark in self.peer.benchmarks:
            for binary in self.binaries:
                if benchmark.runs(cell) and _fits(benchmark, binary):
                    return benchmark, binary
        return None

    def why_not(self, cell: dict[str, str]) -> str:
        """Returns why none of the given binaries runs a cell."""
        other = next((each for each in self.peer.benchmarks if each.runs(cell)), None)
        if other is None:
            return self.peer.why_not(cell)
        return f"it needs another of its binaries, with {_names(other)} in its name"

    def file(self, option: str) -> Path:
        """Returns a file that its programs read. SystemExit if there is none."""
        path = self.files.get(option, self.binaries[0].parent / self.peer.files[option]).resolve()
        if not path.is_file():
            name = self.peer.name
            raise SystemExit(
                f"{name}: no {option} at {path}; give --peer {name}=BINARY,{option}=FILE"
            )
        return path


def _names(benchmark: Benchmark) -> str:
    return benchmark.binary.replace("^", "").replace("|", " or ")


def _fits(benchmark: Benchmark, binary: Path) -> bool:
    return re.search(benchmark.binary, binary.name) is not None


def _found(name: str) -> Peer:
    if name in peers():
        return peers()[name]
    near = difflib.get_close_matches(name.lower(), peers())
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    raise SystemExit(f"--peer {name}: no such peer{hint} (known: {', '.join(peers())})")


def _checked(peer: Peer, text: str) -> Path:
    binary = Path(text).expanduser().absolute()  # a link's own name selects the benchmark
    if not binary.exists():
        raise SystemExit(f"--peer {peer.name}: {text}: no such file; give the benchmark's binary")
    if not binary.is_file() or not os.access(binary, os.X_OK):
        raise SystemExit(f"--peer {peer.name}: {text}: not an executable file")
    if not any(_fits(benchmark, binary) for benchmark in peer.benchmarks):
        wanted = " or ".join(dict.fromkeys(_names(benchmark) for benchmark in peer.benchmarks))
        raise SystemExit(
            f"--peer {peer.name}: {text}: the binary's name selects the benchmark;"
            f" {wanted} is expected in it"
        )
    return binary


def given(texts: Iterable[str]) -> list[GivenPeer]:
    """Returns the peers that `--peer NAME=BINARY[,OPTION=FILE]` give, those of a name as one.

    SystemExit if a peer or an option is unknown, or if a binary can't be run.
    """
    binaries: dict[str, list[Path]] = {}
    files: dict[str, dict[str, Path]] = {}
    for text in texts:
        name, equals, rest = text.partition("=")
        peer = _found(name)
        binary, *options = re.split(r",(?=[a-z_]+=)", rest)
        if not equals or not binary:
            raise SystemExit(f"--peer {text}: give NAME=BINARY, the path of its benchmark")
        binaries.setdefault(name, []).append(_checked(peer, binary))
        for option in options:
            key, _, path = option.partition("=")
            if key not in peer.files:
                allowed = ", ".join(peer.files) or "none"
                raise SystemExit(f"--peer {name}: unknown option {key} (known: {allowed})")
            files.setdefault(name, {})[key] = Path(path).expanduser()
    return [
        GivenPeer(peers()[name], tuple(paths), files.get(name, {}))
        for name, paths in binaries.items()
    ]


def notes(of: Iterable[Peer]) -> Iterator[str]:
    """Yields lines on what peers leave out or do differently."""
    for peer in of:
        yield f"{peer.name}:"
        for note in peer.notes:
            yield from textwrap.wrap(
                note,
                WIDTH,
                initial_indent="  - ",
                subsequent_indent="    ",
                break_on_hyphens=False,
            )


def listing() -> Iterator[str]:
    """Yields the lines that `--peer list` prints."""
    for peer in peers().values():
        yield f"{peer.name}: {peer.source}"
        yield f"  runs {peer.cells()}"
        for cells, why in peer.lacks.items():
            yield f"  doesn't run {cells}: {why}"
        if peer.files:
            yield f"  options: {', '.join(f'{option}=FILE' for option in peer.files)}"
        yield from list(notes([peer]))[1:]
        yield ""
