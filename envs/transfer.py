"""Policies where they were not trained: a comparison for every workload and number of cores.

The paper's figure 12 (§7.6.3): tables trained on one or four warehouses, on 16 or 48 threads, run
on others.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from envs.comparison import Comparison, Row, paired_ratios
from envs.host import local_machine
from envs.result import Machine
from envs.subject import Subject
from envs.table import left_out_words
from envs.windows import window_remarks
from policies.training_places import training_places

SCHEMA_VERSION = 1

RUN_POLICY = "policy"
"""What every run calls its policy's file: its folder's name says more."""


LEFT_OUT = "†"
"""Marks a policy that did not keep the workload's mix; a star says where one was trained."""


@dataclass(frozen=True)
class Place:
    """Where policies are run.

    Attributes:
        label: how tables and pictures call it.
        workload: its options, the name among them.
        machine: its options, the kind among them.
        cores: of the machine.
        schedule: which transaction starts next, where a policy does not say it itself.
    """

    label: str
    workload: Mapping[str, str]
    machine: Mapping[str, str]
    cores: int
    schedule: Mapping[str, str] = field(default_factory=dict)

    @property
    def host(self) -> Machine:
        """The machine as results that are measured here name it."""
        return local_machine(self.machine["kind"], self.cores)

    def is_training_place(self, subject: Subject) -> bool:
        """Whether a policy's provenance says that it was trained here, among others or alone."""
        provenance = json.loads(subject.policy).get("provenance") or {} if subject.policy else {}
        return any(
            home.workload == dict(self.workload)
            and (home.machine.get("kind"), home.machine.get("cores"))
            == (self.machine["kind"], self.cores)
            for home in training_places(provenance)
        )


@dataclass(frozen=True)
class Column:
    """What was measured in one place.

    Attributes:
        place: where.
        reference: name of the policy that throughput is relative to.
        comparison: the policies there, the reference among them; without rows if it failed.
        failure: why it could not be measured, or could not to its end.
    """

    place: Place
    reference: str
    comparison: Comparison
    failure: str | None = None

    @property
    def best(self) -> Row | None:
        """The policy with the highest median throughput, of those that kept the workload's mix."""
        return next(iter(self.comparison.best_rows), None)

    @property
    def left_out(self) -> list[str]:
        """What policies left out of the mix, such as `silo committed /settle 1 of 25`."""
        return [left_out_words(row) for row in self.comparison.rows if row.shortfalls]

    def mark(self, row: Row) -> str:
        """What marks a policy's figures here: nothing where it kept the workload's mix."""
        return LEFT_OUT if row.shortfalls else ""

    def to_reference(self, name: str) -> float | None:
        """A policy's throughput ÷ the reference's; None without runs of both to pair."""
        return _ratio(self.comparison.row(name), self.comparison.row(self.reference))

    def to_best(self, name: str) -> float | None:
        """A policy's throughput ÷ that of the best policy here; None likewise."""
        return _ratio(self.comparison.row(name), self.best)

    def as_dict(self) -> dict[str, Any]:
        """The column in the JSON document of `heddle transfer`."""
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
    """The matrix.

    Attributes:
        policies: names of its rows, in order.
        reference: what throughput is relative to.
        columns: one a place that was measured.
        interrupted: whether Ctrl-C cut it short.
    """

    policies: Sequence[str]
    reference: str
    columns: Sequence[Column]
    interrupted: bool

    @property
    def labels(self) -> list[str]:
        """Names of the rows as pictures call them: of a file only as much as tells it apart."""
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
        """The columns that have something in them."""
        return [column for column in self.columns if column.comparison.rows]

    @property
    def all_runs(self) -> Comparison:
        """The runs of all places, which have one length and number of repeats."""
        comparisons = [column.comparison for column in self.measured]
        rows = [row for comparison in comparisons for row in comparison.rows]
        return Comparison(rows, seconds=comparisons[0].seconds if comparisons else None)

    @property
    def window_remarks(self) -> list[str]:
        """What is to be said of runs that are not as asked for, a line a place."""
        found = [(one.place.label, window_remarks(one.comparison)) for one in self.measured]
        return [f"{label}: {'; '.join(remarks)}" for label, remarks in found if remarks]

    @property
    def warnings(self) -> list[str]:
        """What makes the figures doubtful, with its places where it is not true of all."""
        found: dict[str, list[str]] = {}
        for column in self.measured:
            for one in column.comparison.warnings:
                found.setdefault(one, []).append(column.place.label)
        everywhere = len(self.measured)
        return [
            one if len(labels) == everywhere else f"{'; '.join(labels)}: {one}"
            for one, labels in found.items()
        ]

    @property
    def left_out(self) -> list[str]:
        """What policies left out of the workloads' mixes, each with its place."""
        return [f"{one.place.label}: {words}" for one in self.measured for words in one.left_out]

    @property
    def violations(self) -> list[str]:
        """Consistency violations, each with its place."""
        return [
            f"{column.place.label}: {one}"
            for column in self.columns
            for one in column.comparison.violations
        ]

    @property
    def failures(self) -> list[str]:
        """What could not be measured, and why."""
        return [f"{one.place.label}: {one.failure}" for one in self.columns if one.failure]

    def as_dict(self, **more: Any) -> dict[str, Any]:
        """The JSON document that `heddle transfer` writes, with further fields."""
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
    """Median ratio of two policies' throughputs over the repeats that both have."""
    ratios = paired_ratios(row, other) if row and other else []
    return statistics.median(ratios) if ratios else None
