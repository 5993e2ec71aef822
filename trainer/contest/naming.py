"""Which runs of a contest are of one case and of one method: by what tells them apart.

A run's method is its search, with the search's settings that not all runs share; its case is its
workload and machine, as far as they are not shared, and what else is swept. Names come from what
was typed. That runs of one name can be compared is seen from their whole settings, wherever these
come from.
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
"""Choices whose names are names of runs, and the seed, which tells runs of one name apart."""

PLACE = (WORKLOAD, "machine")
"""Where a run is: its case, even where nothing of it is swept."""

TOLD = (*PLACE, SEARCH)
"""Of these groups what was typed is in the names."""

NO_MATTER = (
    *("validation", "run", "baselines", "mlflow", "registered_model"),
    *("runs_dir", "sweep", "resume", "experiment", *WHERE),
)
"""Settings, and groups of them, that change neither a search nor what its tables are worth."""


@dataclass(frozen=True)
class Settings:
    """A run's settings.

    Attributes:
        folder: the run's, for messages.
        typed: what was typed, by its names, as texts.
        whole: all of them, by their names: `machine.cores`.
    """

    folder: Path
    typed: Mapping[str, str]
    whole: Mapping[str, Any]

    @classmethod
    def of(cls, folder: Path, typed: Sequence[str], config: TrainConfig) -> Settings:
        """Those of a run, by what was typed for it and what that came to."""
        parts = (text.lstrip("+").partition("=") for text in typed)
        return cls(folder, {key: value for key, _, value in parts}, dict(_flat(asdict(config))))

    @property
    def search(self) -> str:
        """The search as it was chosen."""
        return self.typed.get(SEARCH) or str(self.whole["search.name"])

    def value(self, key: str) -> str | None:
        """What a setting is, as it is typed; None if it is a choice that was left as it is."""
        if key not in self.whole:
            return self.typed.get(key)
        value = self.whole[key]
        return f"[{','.join(map(str, value))}]" if isinstance(value, list) else str(value)


@dataclass(frozen=True)
class Names:
    """What a run is called in a contest."""

    case: str
    method: str


class UnlikeError(ValueError):
    """Runs that would be compared, and must not be. The message names them, and the setting."""


def name_runs(runs: Sequence[Settings], axes: Collection[str]) -> list[Names]:
    """The case and the method of each run.

    Args:
        runs: their settings.
        axes: the settings that are swept: they matter, whatever they are.

    Raises:
        UnlikeError: two runs of one name differ in a setting that is in neither's.
    """
    typed = dict.fromkeys(key for run in runs for key in run.typed)
    several = len({run.whole.get(WORKLOAD_NAME) for run in runs}) > 1
    of_place = [key for key in typed if key in axes or _is_any_of(key, PLACE)]
    of_search = [key for key in typed if _is_any_of(key, (SEARCH,))]

    over_cases = _over_cases(runs)

    def is_to_be_said(run: Settings, key: str, beside: Sequence[Settings]) -> bool:
        if CASE in run.typed and _is_any_of(key, (WORKLOAD,)):
            return key in over_cases[run.typed[CASE]]
        return len({one.value(key) for one in beside}) > 1

    def words(run: Settings, keys: Sequence[str], beside: Sequence[Settings]) -> Iterator[str]:
        """What it has of the settings that tell it from these runs, itself among them."""
        apart = [key for key in keys if key not in NAMED and is_to_be_said(run, key, beside)]
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
        alike = [one for one in runs if one.search == run.search]
        method = [run.search, *words(run, of_search, alike)]
        names.append(Names(" ".join(case or [workload]), " ".join(method)))
    _check(list(zip(runs, names, strict=True)))
    return names


def _over_cases(runs: Sequence[Settings]) -> dict[str, set[str]]:
    """What was typed over each case: it makes another of it."""
    found: dict[str, set[str]] = {run.typed[CASE]: set() for run in runs if CASE in run.typed}
    for run in runs:
        if CASE in run.typed:
            found[run.typed[CASE]] |= {key for key in run.typed if _is_any_of(key, (WORKLOAD,))}
    return found


def _check(named: Sequence[tuple[Settings, Names]]) -> None:
    """Refuse runs of one name that are not alike."""
    first: dict[object, tuple[Settings, Names]] = {}
    for run, names in named:
        for key, of_search in ((names.case, False), (names, True)):
            other, _ = first.setdefault(key, (run, names))
            for setting in _unlike(other, run, of_search):
                typing = f", or type {setting} for both" if _is_any_of(setting, TOLD) else ""
                raise UnlikeError(
                    f"{other.folder} and {run.folder} are both runs on {names.case}, and of one "
                    f"{setting} is {other.value(setting)}, of the other {run.value(setting)}: "
                    f"they can't be compared; leave one of their sweeps out{typing}"
                )


def _unlike(one: Settings, other: Settings, of_search: bool) -> Iterator[str]:
    for key in dict.fromkeys([*one.whole, *other.whole]):
        if key == SEED or _is_any_of(key, NO_MATTER):
            continue
        if _is_any_of(key, (SEARCH,)) == of_search and one.value(key) != other.value(key):
            yield key


def _is_any_of(key: str, groups: Collection[str]) -> bool:
    """Whether a setting is one of these, or in a group that is."""
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
