"""Measure policies in places that they were not trained for.

This is the paper's figure 12 (§7.6.3): tables trained for one or four warehouses and 16 or 48
threads, run on others.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envs.comparison import Comparison, Row, paired_ratios
from envs.host import local_machine
from envs.result import Machine
from envs.subject import Subject
from envs.table import left_out_words, overdue_notes
from envs.windows import window_remarks
from policies.training_places import training_places

SCHEMA_VERSION = 1

RUN_POLICY = "policy"
"""The stem of every run's policy file; the name of its folder is more specific."""


LEFT_OUT = "†"
"""The mark of a policy that did not keep the workload's mix. A star marks its training place."""


@dataclass(frozen=True)
class Place:
    """A workload on a machine with a number of cores.

    Attributes:
        label: name in tables and pictures.
        workload: name and options of the workload.
        machine: kind and options of the machine.
        cores: number of workers.
        schedule: options of the admission policy, for policies without their own schedule.
    """

    label: str
    workload: Mapping[str, str]
    machine: Mapping[str, str]
    cores: int
    schedule: Mapping[str, str] = field(default_factory=dict)

    @property
    def host(self) -> Machine:
        """The machine as results name it."""
        return local_machine(self.machine["kind"], self.cores)

    def is_training_place(self, subject: Subject) -> bool:
        """Return whether a policy's provenance names this place as one it was trained for."""
        return bool(subject.provenance) and any(
            place.workload == dict(self.workload)
            and (place.machine.get("kind"), place.machine.get("cores"))
            == (self.machine["kind"], self.cores)
            for place in training_places(subject.provenance)
        )


@dataclass(frozen=True)
class Column:
    """The measurements in one place.

    Attributes:
        place: the place.
        reference: name of the policy that throughput is relative to.
        comparison: the comparison of the policies, including the reference; without rows if it
            failed.
        failure: why the comparison failed or is incomplete; None if it is complete.
    """

    place: Place
    reference: str
    comparison: Comparison
    failure: str | None = None

    @property
    def best(self) -> Row | None:
        """The row with the highest median throughput; see `Comparison.best_rows`."""
        return next(iter(self.comparison.best_rows), None)

    @property
    def left_out(self) -> list[str]:
        """The types that each policy left out, such as `silo committed /settle 1 of 25`."""
        return [left_out_words(row) for row in self.comparison.rows if row.shortfalls]

    @property
    def overdue(self) -> list[str]:
        """What `overdue_notes` says of the policies."""
        return overdue_notes(self.comparison.rows)

    def mark(self, row: Row) -> str:
        """Return the mark of a policy's figures, "" if it kept the workload's mix."""
        return LEFT_OUT if row.shortfalls else ""

    def to_reference(self, name: str) -> float | None:
        """Return a policy's throughput divided by the reference's; None without paired runs."""
        return _ratio(self.comparison.row(name), self.comparison.row(self.reference))

    def to_best(self, name: str) -> float | None:
        """Return a policy's throughput divided by the best one's; None without paired runs."""
        return _ratio(self.comparison.row(name), self.best)

    def as_dict(self) -> dict[str, Any]:
        """Return the column in the JSON document of `heddle evaluate`."""
        names = [row.subject.name for row in self.comparison.rows]
        best = self.best
        return {
            "label": self.place.label,
            "workload": dict(self.place.workload),
            "machine": dict(self.place.machine),
            "cores": self.place.cores,
            "schedule": dict(self.place.schedule),
            "failure": self.failure,
            "best": best.subject.name if best else None,
            "trained_here": [
                row.subject.name
                for row in self.comparison.rows
                if self.place.is_training_place(row.subject)
            ],
            "to_reference": {name: self.to_reference(name) for name in names},
            "to_best": {name: self.to_best(name) for name in names},
            "comparison": self.comparison.as_dict(),
        }


@dataclass(frozen=True)
class Transfer:
    """A transfer matrix.

    Attributes:
        policies: names of the policies, one row each, in order.
        reference: name of the policy that throughput is relative to.
        columns: the measurements, one column per place.
        interrupted: whether Ctrl-C ended the measurement.
    """

    policies: Sequence[str]
    reference: str
    columns: Sequence[Column]
    interrupted: bool

    @property
    def labels(self) -> list[str]:
        """Short names of the rows; for a file the parts of its path that make it unique."""
        paths = [Path(name) if name.endswith(".json") else None for name in self.policies]
        stems = [path.stem if path else "" for path in paths]
        folders = [path.absolute().parent.name if path else "" for path in paths]
        labels = []
        for name, stem, folder in zip(self.policies, stems, folders, strict=True):
            if stem and stems.count(stem) == 1 and stem != RUN_POLICY:
                labels.append(stem)
            elif stem and folders.count(folder) == 1:
                labels.append(f"{folder}/{stem}" if stem != RUN_POLICY else folder)
            else:
                labels.append(name)
        return labels

    @property
    def measured(self) -> list[Column]:
        """The columns that have rows."""
        return [column for column in self.columns if column.comparison.rows]

    @property
    def all_runs(self) -> Comparison:
        """The runs of all places as one comparison; all have the same length."""
        comparisons = [column.comparison for column in self.measured]
        rows = [row for comparison in comparisons for row in comparison.rows]
        return Comparison(rows, seconds=comparisons[0].seconds if comparisons else None)

    @property
    def window_remarks(self) -> list[str]:
        """Remarks on runs that differ from the request, one line per place."""
        found = [
            (column.place.label, window_remarks(column.comparison)) for column in self.measured
        ]
        return [f"{label}: {'; '.join(remarks)}" for label, remarks in found if remarks]

    @property
    def warnings(self) -> list[str]:
        """Reasons to doubt the figures, with their places if they do not apply to all."""
        found: dict[str, list[str]] = {}
        for column in self.measured:
            for warning in column.comparison.warnings:
                found.setdefault(warning, []).append(column.place.label)
        everywhere = len(self.measured)
        return [
            warning if len(labels) == everywhere else f"{'; '.join(labels)}: {warning}"
            for warning, labels in found.items()
        ]

    @property
    def left_out(self) -> list[str]:
        """The types that each policy left out, with the place."""
        return [f"{c.place.label}: {words}" for c in self.measured for words in c.left_out]

    @property
    def overdue(self) -> list[str]:
        """What `overdue_notes` says of each place, with the place."""
        return [f"{c.place.label}: {words}" for c in self.measured for words in c.overdue]

    @property
    def violations(self) -> list[str]:
        """Violated consistency conditions, with the place."""
        return [
            f"{column.place.label}: {violation}"
            for column in self.columns
            for violation in column.comparison.violations
        ]

    @property
    def failures(self) -> list[str]:
        """The places that could not be measured, each with the reason."""
        return [f"{c.place.label}: {c.failure}" for c in self.columns if c.failure]

    def as_dict(self, **more: Any) -> dict[str, Any]:
        """Return the JSON document that `heddle evaluate` writes.

        Args:
            **more: further top-level fields.
        """
        return {
            "schema_version": SCHEMA_VERSION,
            **more,
            "policies": list(self.policies),
            "reference": self.reference,
            "interrupted": self.interrupted,
            "warnings": self.warnings,
            "columns": [column.as_dict() for column in self.columns],
        }


def _ratio(row: Row | None, other: Row | None) -> float | None:
    """Return the median throughput ratio of two policies over the repeats that both have."""
    ratios = paired_ratios(row, other) if row and other else []
    return statistics.median(ratios) if ratios else None
