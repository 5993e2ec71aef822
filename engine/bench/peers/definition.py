"""The definition of another engine's benchmark: its command line, output and differences."""

from __future__ import annotations

import re
from collections import ChainMap
from collections.abc import Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field

NUMBER = r"([0-9][0-9,]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)"
"""A group that matches a number as these engines print it."""


class OutputError(Exception):
    """An invalid output of a benchmark; the text gives the reason."""


def _number(pattern: str, output: str) -> float | None:
    found = re.search(pattern, output, re.MULTILINE)
    return None if found is None else float(found.group(1).replace(",", ""))


@dataclass(frozen=True)
class Requirement:
    """A build setting that the output shows, and the message if it differs."""

    pattern: str
    otherwise: str


@dataclass(frozen=True)
class TscClock:
    """A clock that divides ticks of the time-stamp counter by an assumed frequency.

    Attributes:
        ticks: Finds the measured window in ticks.
        milliseconds: Finds the same window in milliseconds, by the assumed frequency.
    """

    ticks: str
    milliseconds: str

    def correction(self, output: str, tsc_mhz: float) -> float:
        """Returns the factor that turns a rate of this clock into one of real seconds."""
        ticks = _number(self.ticks, output)
        milliseconds = _number(self.milliseconds, output)
        if not ticks or not milliseconds:
            raise OutputError("prints no ticks or no time to correct its clock by")
        assumed_mhz = ticks / milliseconds / 1000
        return tsc_mhz / assumed_mhz


@dataclass(frozen=True)
class Benchmark:
    """One program of a peer and the cells that it runs.

    Attributes:
        workload: The workload whose cells it runs: tpcc or ycsb.
        arguments: Its arguments. Braces hold a cell's option, or one of `side_by_side.py`'s values.
        throughput: Finds the committed transactions per second.
        factor: The unit of the number that `throughput` finds.
        words: For an option of a cell, the values that the program knows, and its names for them.
            A cell with another value isn't run.
        binary: Must occur in the name of the binary. Empty if the peer has one program.
        requires: Build settings that the output must show.
        clock: The clock to correct, if the figure depends on an assumed frequency.
    """

    workload: str
    arguments: tuple[str, ...]
    throughput: str
    factor: float = 1.0
    words: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    binary: str = ""
    requires: tuple[Requirement, ...] = ()
    clock: TscClock | None = None

    def runs(self, cell: Mapping[str, str]) -> bool:
        """Returns whether it runs a cell, given the cell's options."""
        return cell["name"] == self.workload and all(
            cell.get(option) in known for option, known in self.words.items()
        )

    def command(self, values: MutableMapping[str, object]) -> list[str]:
        """Returns its arguments with the values of a cell and a run filled in."""
        spelled: dict[str, object] = {
            option: known[str(values[option])]
            for option, known in self.words.items()
            if option in values
        }
        return [argument.format_map(ChainMap(spelled, values)) for argument in self.arguments]

    def rate(self, output: str) -> float:
        """Returns the transactions per second that the output reports, by the benchmark's clock."""
        for requirement in self.requires:
            if re.search(requirement.pattern, output) is None:
                raise OutputError(requirement.otherwise)
        found = _number(self.throughput, output)
        if found is None:
            raise OutputError(f"prints nothing like {self.throughput!r}")
        return found * self.factor

    def cells(self) -> Iterator[str]:
        """Yields the names of its cells, such as `tpcc full`."""
        if not self.words:
            yield self.workload
        for known in self.words.values():
            yield from (f"{self.workload} {value}" for value in known)


@dataclass(frozen=True)
class Peer:
    """Another engine.

    Attributes:
        name: Its name on the command line.
        source: Its repository.
        benchmarks: Its programs.
        lacks: For a workload or `workload option`, why those cells can't be run.
        notes: What it leaves out or does differently, one sentence or two each.
        files: Files that its programs read: the option that names one, and its default path,
            relative to the binary's folder.
        in_own_folder: Whether its programs are run in the folder of the binary.
    """

    name: str
    source: str
    benchmarks: tuple[Benchmark, ...]
    notes: tuple[str, ...]
    lacks: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    in_own_folder: bool = False

    def cells(self) -> str:
        """Returns the names of its cells."""
        return ", ".join(cell for benchmark in self.benchmarks for cell in benchmark.cells())

    def why_not(self, cell: Mapping[str, str]) -> str:
        """Returns why it has no such cell, and the cells that it has."""
        values = [cell["name"], *(f"{cell['name']} {value}" for value in cell.values())]
        why = next((self.lacks[value] for value in values if value in self.lacks), "no such cell")
        return f"{why}; it runs {self.cells()}"
