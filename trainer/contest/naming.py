"""The names of a contest's cases and methods, from the settings that distinguish its runs.

A run's method is its search, with the search's settings that differ between runs. Its case is its
workload and machine, as far as they differ, and other swept settings. Names come from the command
lines; whether runs of one name are comparable is checked on all settings, whatever their source.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trainer.config import TrainConfig
from trainer.sweep_folder import WHERE

SEARCH, CASE, SEED, WORKLOAD = "search", "case", "seed", "workload"
WORKLOAD_NAME = "workload.name"

NAMED = (SEARCH, CASE, SEED, WORKLOAD)
"""Choices that name runs, and the seed, which distinguishes runs of one name."""

PLACE = (WORKLOAD, "machine")
"""The groups that make up a case, even if no setting of theirs is swept."""

NAMING = (*PLACE, SEARCH)
"""The groups whose overrides are part of the names."""

NO_MATTER = (
    *("validation", "run", "baselines", "mlflow", "registered_model"),
    *("runs_dir", "sweep", "resume", "experiment", *WHERE),
)
"""Settings, and groups of them, that affect neither a search nor the score of its tables."""


@dataclass(frozen=True)
class Settings:
    """The settings of a run.

    Attributes:
        folder: the run's, for messages.
        typed: the overrides on the command line, by name, as texts.
        whole: all settings, by dotted name, such as `machine.cores`.
    """

    folder: Path
    typed: Mapping[str, str]
    whole: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path, typed: Sequence[str], config: TrainConfig) -> Settings:
        """Return the settings of a run, from its command line and its configuration."""
        parts = (text.lstrip("+").partition("=") for text in typed)
        return cls(folder, {key: value for key, _, value in parts}, dict(_flat(asdict(config))))

    @property
    def search(self) -> str:
        """The search as chosen on the command line."""
        return self.typed.get(SEARCH) or str(self.whole["search.name"])

    def value(self, key: str) -> str | None:
        """Return a setting's value as an override; None if it is a choice left at its default."""
        if key not in self.whole:
            return self.typed.get(key)
        value = self.whole[key]
        return f"[{','.join(map(str, value))}]" if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class Names:
    """The names of a run in a contest."""

    case: str
    method: str


class UnlikeError(ValueError):
    """Runs that would be compared but are not comparable; the message names the setting."""


def name_runs(runs: Sequence[Settings], axes: Collection[str]) -> list[Names]:
    """Return the case and the method of each run.

    Args:
        runs: their settings.
        axes: the swept settings: they always matter.

    Raises:
        UnlikeError: two runs of one name differ in a setting that is in neither's name.
    """
    typed = dict.fromkeys(key for run in runs for key in run.typed)
    several = len({run.whole.get(WORKLOAD_NAME) for run in runs}) > 1
    of_place = [key for key in typed if key in axes or _is_any_of(key, PLACE)]
    of_search = [key for key in typed if _is_any_of(key, (SEARCH,))]

    over_cases = _over_cases(runs)

    def differs(run: Settings, key: str, group: Sequence[Settings]) -> bool:
        if CASE in run.typed and _is_any_of(key, (WORKLOAD,)):
            return key in over_cases[run.typed[CASE]]
        return len({member.value(key) for member in group}) > 1

    def words(run: Settings, keys: Sequence[str], group: Sequence[Settings]) -> Iterator[str]:
        """Yield the settings that distinguish a run in its group."""
        apart = [key for key in keys if key not in NAMED and differs(run, key, group)]
        lasts = Counter(_last(key) for key in apart)
        for key in apart:
            value = run.value(key)
            if value is not None:
                yield f"{_last(key) if lasts[_last(key)] == 1 else key}={value}"

    names = []
    for run in runs:
        workload = str(run.whole.get(WORKLOAD_NAME))
        label = run.typed.get(CASE) or (workload if several else None)
        place = [key for key in of_place if key not in of_search]
        case = [*([label] if label else []), *words(run, place, runs)]
        alike = [other for other in runs if other.search == run.search]
        method = [run.search, *words(run, of_search, alike)]
        names.append(Names(" ".join(case or [workload]), " ".join(method)))
    _check(list(zip(runs, names, strict=True)))
    return names


def _over_cases(runs: Sequence[Settings]) -> dict[str, set[str]]:
    """Return the overrides added to each choice of `case`: they make a different case."""
    found: dict[str, set[str]] = {run.typed[CASE]: set() for run in runs if CASE in run.typed}
    for run in runs:
        if CASE in run.typed:
            found[run.typed[CASE]] |= {key for key in run.typed if _is_any_of(key, (WORKLOAD,))}
    return found


def _check(named: Sequence[tuple[Settings, Names]]) -> None:
    """Refuse runs with the same name but different settings."""
    first: dict[object, tuple[Settings, Names]] = {}
    for run, names in named:
        for key, of_search in ((names.case, False), (names, True)):
            other, _ = first.setdefault(key, (run, names))
            for setting in _unlike(other, run, of_search):
                typing = f", or set {setting} for both" if _is_any_of(setting, NAMING) else ""
                raise UnlikeError(
                    f"{other.folder} and {run.folder} are both runs of {names.case}, but "
                    f"{setting} is {other.value(setting)} in one and {run.value(setting)} in the "
                    f"other: they are not comparable; omit one of their sweeps{typing}"
                )


def _unlike(run: Settings, other: Settings, of_search: bool) -> Iterator[str]:
    for key in dict.fromkeys([*run.whole, *other.whole]):
        if key == SEED or _is_any_of(key, NO_MATTER):
            continue
        if _is_any_of(key, (SEARCH,)) == of_search and run.value(key) != other.value(key):
            yield key


def _is_any_of(key: str, groups: Collection[str]) -> bool:
    """Whether a setting is one of these, or in one of these groups."""
    parts = key.replace("/", ".").split(".")
    return any(".".join(parts[:count]) in groups for count in range(1, len(parts) + 1))


def _last(key: str) -> str:
    return key.rpartition(".")[2]


def _flat(settings: Mapping[str, Any], group: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in settings.items():
        if isinstance(value, Mapping) and value:
            yield from _flat(value, f"{group}{key}.")
        else:
            yield f"{group}{key}", value
