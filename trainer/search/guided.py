"""Guided search: moves that mean something, where time is lost, of the kinds that have paid.

Heddle's own method. From a few elite tables, each child is made by one or more moves
(`trainer.search.moves`): the waits before an access as a unit, those of one type for another, a
publication point, the backoff of all types. Three things guide them:

- *Blame.* Where a move strikes is drawn by what the parent's own result says: where transactions
  waited, and where work was wasted (`trainer.search.blame`).
- *Credit.* Which move is made is drawn by how often it has led to something better than what it
  was made from, of late (`trainer.search.credit`).
- *Merging.* Changes that made one table better are tried on others, as one more move.

Not all children descend from elites. A table may do one type of transaction in no time, at the
expense of another, and one change more may be all that it takes; as much as such tables promise,
children are made from them, where they are slow (`trainer.search.specialists`). And where there is
one type, some children are the best table under a backoff that a model of all those measured would
try (`trainer.search.backoff_model`).

Two things keep it from going round in circles: what differs only in actions without effect is not
measured (`trainer.search.effect`), and of tables with the same publication points only a few are
elites. An elite that rests on few slices is measured again beside its children, so that luck does
not stay at the top. Generations are small: what one has shown decides what the next tries.

`docs/results.md` has measurements of each part and of variants that were not adopted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain
from random import Random
from typing import Any

from policies.schedule import FIFO, POLICY
from trainer.config import SearchConfig
from trainer.search.backoff_model import BackoffModel
from trainer.search.base import Candidate, Measured
from trainer.search.blame import blame_of
from trainer.search.credit import Credit
from trainer.search.effect import effective, points
from trainer.search.elite import Elite
from trainer.search.limits import check_proposals, check_shares
from trainer.search.moves import MOVES, Change, Context, Moves, schedule
from trainer.search.pace import pace_of
from trainer.search.random_state import load_random, random_state
from trainer.search.space import Space
from trainer.search.specialists import Specialists, blame_of_others
from trainer.search.warm_start import fitted

ATTEMPTS = 50
"""Draws for a table that no one has seen; small spaces run out of new ones. The second half of them
goes farther."""

FARTHER = 3
"""How much farther: moves of such a child at most, beside those of others."""

GAINS_MAX = 24
"""So many of the changes that paid last can be merged."""

FAVOUR = 0.6
"""How likely an elite is to be a parent, beside the one before it."""

SCHEDULE = schedule.__name__
"""The move that changes the schedule."""

ANOTHER = 0.5
"""How likely it is that a child has so many moves, beside one fewer."""


@dataclass
class GuidedConfig(SearchConfig):
    """Settings of `search=guided`.

    Attributes:
        proposals: candidates at a time.
        elites: tables that children are made from.
        alike: elites with the same publication points, and the same schedule, at most.
        each_half: elites that are scheduled, and as many that are not, however far behind, where
            schedule and table are both searched for; no more than half of all, each.
        again: elites that are measured again beside their children, at most …
        sure: … unless they have had so many slices.
        moves: of a child, at most.
        effective: whether children lose the actions that have no effect.
        even: share of the blame that is spread evenly; 1 = moves strike anywhere.
        discount: what a trial of a move counts for after another child; 0 = all moves alike.
        specialists: share of the children that descend from tables that are quick at one type,
            if these promise to save all of the time; if half, half of it, and so on.
        modelled: share of the children that are the best table under a backoff that a model
            proposes, where there is one type.
        without: moves that are not made; for all of them see `trainer.search.moves.MOVES`.
    """

    proposals: int = 16
    elites: int = 6
    alike: int = 2
    each_half: int = 3
    again: int = 2
    sure: int = 20
    moves: int = 3
    effective: bool = True
    even: float = 0.4
    discount: float = 0.98
    specialists: float = 0.5
    modelled: float = 0.4
    without: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Child:
    """A table and how it came about. Its moves have paid if it is fitter than the bar."""

    candidate: Candidate
    parent: Elite
    moves: tuple[str, ...]
    bar: float


class Guided:
    """See the module. Arguments as for `registry.build_search`.

    Raises:
        ValueError: a setting is out of its range.
    """

    def __init__(
        self, space: Space, config: GuidedConfig, start: Sequence[Candidate], seed: int
    ) -> None:
        _check(config)
        self._config = config
        self._signature = space.encoding.signature
        self._random = Random(seed)
        self._space = space
        self._moves = Moves(space, self._random)
        self._check_moves()
        policy = self._moves.layout.schedule[:1]
        rows = range(self._moves.layout.backoff(0).start)
        self._searches_both = bool(
            self._moves.open(policy) and self._moves.open(rows) and SCHEDULE not in config.without
        )
        self._credit = Credit(
            [name for name in self._moves.names if name not in config.without], config.discount
        )
        alone = len(self._signature.types) == 1 and config.modelled > 0.0
        self._model = BackoffModel(space, self._moves.layout, self._random) if alone else None
        self._specialists = Specialists(len(self._signature.types), self._kind)
        self._unmeasured = fitted(start, space) or [Candidate(space.base, "base")]
        self._elites: list[Elite] = []
        self._children: dict[str, Child] = {}
        self._gains: list[Change] = []
        self._seen: set[str] = set()

    @property
    def batch(self) -> int:
        """Children, and the elites that are measured again."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """The elites: where schedules are searched for too, some are far behind the best."""
        return [one.candidate for one in self._elites]

    def ask(self, n: int) -> list[Candidate]:
        """The warm start first; then elites that are not known well yet, and children."""
        n = min(n, self.batch)
        if self._unmeasured:
            return self._unmeasured[:n]
        unsure = [one.candidate for one in self._elites if one.slices < self._config.sure]
        again = unsure[: min(self._config.again, n - 1)]
        self._children = {}
        drawn = (self._child() for _ in range(n * ATTEMPTS // 2))
        # What is near may all have been seen, and the moves that pay may be used up.
        far = (self._made_of(self._parent(), far=True) for _ in range(n * ATTEMPTS // 2))
        for child in chain(self._both_best(), drawn, far):
            if child.candidate.key not in self._seen:
                self._children.setdefault(child.candidate.key, child)
            if len(again) + len(self._children) == n:
                break
        found = [*again, *(child.candidate for child in self._children.values())]
        return found or [self._elites[0].candidate]

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Truncation selection of the elites; credit to the moves that made something better."""
        elites = {one.candidate.key: one for one in self._elites}
        for candidate, measured in zip(candidates, results, strict=True):
            blame = blame_of(self._signature, measured.results, self._config.even)
            # Under the worst case of several scenarios, paces would be of different scenarios.
            whole = len(measured.results) == len(measured.scores)
            pace = pace_of(self._signature, measured.results) if whole else None
            elite = Elite(candidate, measured.cautious, measured.slices, blame, pace)
            elites[candidate.key] = elite
            if self._model:
                self._model.tell(candidate.vector, measured.fitness, measured.slices)
            child = self._children.get(candidate.key)
            if child is not None:
                self._learn(child, elite.fitness)
        self._children = {}
        self._seen |= {candidate.key for candidate in candidates}
        self._seen |= {self._effective(candidate.vector).key for candidate in candidates}
        self._unmeasured = [one for one in self._unmeasured if one not in candidates]
        self._elites = self._best(elites.values())
        measured_now = [elites[candidate.key] for candidate in candidates]
        self._specialists.tell(measured_now, self._elites[0])

    def state_dict(self) -> dict[str, Any]:
        """All that it has learned, the tables seen, and the random generator."""
        return {
            "unmeasured": [[list(one.vector), one.origin] for one in self._unmeasured],
            "elites": [one.as_json() for one in self._elites],
            "credit": self._credit.state_dict(),
            "gains": [[[cell, value] for cell, value in gain.items()] for gain in self._gains],
            "seen": sorted(self._seen),
            "specialists": self._specialists.state_dict(),
            "model": self._model.state_dict() if self._model else [],
            "random": random_state(self._random),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Resume from a state."""
        self._unmeasured = [Candidate(tuple(vector), o) for vector, o in state["unmeasured"]]
        self._elites = [Elite.from_json(one) for one in state["elites"]]
        self._credit.load_state_dict(state["credit"])
        self._gains = [dict(gain) for gain in state["gains"]]
        self._seen = set(state["seen"])
        if "specialists" in state:
            self._specialists.load_state_dict(state["specialists"])
        if self._model:
            self._model.load_state_dict(state.get("model", []))
        load_random(self._random, state["random"])

    def _check_moves(self) -> None:
        """Refuse a search whose every move is left out."""
        without = self._config.without
        # There is nothing to merge but what others made.
        if set(self._moves.names) <= {"merge", *without}:
            raise ValueError(
                "search.without: must leave some moves besides merge; with search.actions as they "
                f"are there are {', '.join(self._moves.names)}"
            )

    def _child(self) -> Child:
        """A table some moves away from a specialist, where these promise much, or from an elite.

        Or the best table under another backoff, where there is a model of backoffs.
        """
        promises = self._specialists.promises(self._elites[0]) if self._config.specialists else []
        most = max((promise.gain for promise in promises), default=0.0)
        if most and self._random.random() < self._config.specialists * most:
            gains = [promise.gain for promise in promises]
            return self._of_specialist(self._random.choices(promises, weights=gains)[0].elite)
        if self._model and self._random.random() < self._config.modelled:
            best = self._elites[0]
            if backoff := self._model.propose(best.candidate.vector):
                return self._under_backoff(best, backoff)
        parent = self._parent()
        # Half of the children of a scheduled table differ in the schedule alone.
        is_scheduled = self._searches_both and self._is_scheduled(parent)
        return self._made_of(parent, of_schedule=is_scheduled and self._random.random() < 0.5)

    def _of_specialist(self, parent: Elite) -> Child:
        """A table that differs where the specialist is slower than the best."""
        even, best = self._config.even, self._elites[0]
        blame = blame_of_others(self._moves.layout, parent, best, even)
        child = self._made_of(replace(parent, blame=blame))
        # To be better than a table that is bad by itself is no merit: it is, to become an elite.
        half = [one for one in self._elites if self._is_like(one, parent)]
        return replace(child, bar=max([parent.fitness, *(one.fitness for one in half[-1:])]))

    def _under_backoff(self, parent: Elite, backoff: Change) -> Child:
        vector = list(parent.candidate.vector)
        for cell, value in backoff.items():
            vector[cell] = value
        candidate = self._effective(tuple(vector), "backoff by a model")
        return Child(candidate, parent, (), parent.fitness)  # no move is to be credited

    def _made_of(self, parent: Elite, of_schedule: bool = False, far: bool = False) -> Child:
        """A table one or more moves away from another, or one of its schedule alone.

        Or one that is far away, by any moves.
        """
        here = parent.candidate.key
        others = [one.candidate.vector for one in self._elites if one.candidate.key != here]
        vector = parent.candidate.vector
        made = []
        # Children of tables that are not scheduled are not either, or nobody would be left who is
        # not: `_both_best` brings them together.
        of_table = (
            self._searches_both
            and not self._is_scheduled(parent)
            and bool(self._halves(self._elites)[0])
        )
        most = self._config.moves
        count = self._random.randint(1, FARTHER * most) if far else 1 + self._rank(most, ANOTHER)
        barred = SCHEDULE if of_table else None
        for _ in range(count):
            choose = self._credit.any if far else self._credit.choose
            name = SCHEDULE if of_schedule else choose(self._random, but=barred)
            context = Context(vector, parent.blame, others, self._gains)
            moved = self._moves.make(name, context)
            if of_table:
                moved = self._scheduled_as(parent, moved)
            if moved != vector:
                made.append(name)
                vector = moved
        candidate = self._effective(vector, ", ".join(made))
        return Child(candidate, parent, () if of_schedule else tuple(made), parent.fitness)

    def _parent(self) -> Elite:
        """An elite, the better ones more often; scheduled ones as often as others."""
        niche = self._elites
        if self._searches_both:
            scheduled, others = self._halves(niche)
            niche = (scheduled if self._random.random() < 0.5 else others) or niche
        return niche[self._rank(len(niche), FAVOUR)]

    def _both_best(self) -> Iterator[Child]:
        """The best table without a schedule, under the best schedule, if both are searched for."""
        if not self._searches_both:
            return
        scheduled, others = self._halves(self._elites)
        if scheduled and others:
            vector = self._scheduled_as(scheduled[0], others[0].candidate.vector)
            bar = others[0].fitness
            # No move is to be credited: it is a matter of course.
            yield Child(self._effective(vector, "the best of both"), others[0], (), bar)

    def _scheduled_as(self, elite: Elite, vector: tuple[int, ...]) -> tuple[int, ...]:
        cells = self._moves.layout.schedule
        return (*vector[: cells.start], *elite.candidate.vector[cells.start :])

    def _halves(self, elites: Sequence[Elite]) -> tuple[list[Elite], list[Elite]]:
        """Those that are scheduled, and those that are not."""
        scheduled = [one for one in elites if self._is_scheduled(one)]
        return scheduled, [one for one in elites if not self._is_scheduled(one)]

    def _is_scheduled(self, elite: Elite) -> bool:
        """Only where there are cells of a schedule."""
        policy = self._moves.layout.schedule[0]
        return elite.candidate.vector[policy] != POLICY.choices.index(FIFO)

    def _is_like(self, elite: Elite, other: Elite) -> bool:
        """Whether they are of the same half, where there are two."""
        return not self._searches_both or self._is_scheduled(elite) == self._is_scheduled(other)

    def _effective(self, vector: tuple[int, ...], origin: str = "") -> Candidate:
        if self._config.effective:
            vector = self._space.fit(effective(self._moves.layout, vector))
        return Candidate(vector, origin)

    def _kind(self, candidate: Candidate) -> tuple[frozenset[int], tuple[int, ...]]:
        """Tables that publish after the same accesses, and are scheduled alike, are alike."""
        layout, vector = self._moves.layout, candidate.vector
        return points(layout, vector), tuple(vector[cell] for cell in layout.schedule)

    def _best(self, elites: Iterable[Elite]) -> list[Elite]:
        """The best, no more than so many of them alike: or all soon descend from one table.

        A schedule is found at once and a table late, and one may gain what the other does. So some
        elites are not scheduled, and some are, however far behind.
        """
        different: list[Elite] = []
        met: Counter[tuple[frozenset[int], tuple[int, ...]]] = Counter()
        for one in sorted(elites, key=_by_fitness):
            kind = self._kind(one.candidate)
            met[kind] += 1
            if met[kind] <= self._config.alike:
                different.append(one)
        if not self._searches_both:
            return different[: self._config.elites]
        most = min(self._config.each_half, self._config.elites // 2)
        kept = [one for half in self._halves(different) for one in half[:most]]
        kept += [one for one in different if one not in kept]
        return sorted(kept[: self._config.elites], key=_by_fitness)

    def _learn(self, child: Child, fitness: float) -> None:
        better = fitness > child.bar
        self._credit.tell(child.moves, better)
        if better:
            old, new = child.parent.candidate.vector, child.candidate.vector
            pairs = enumerate(zip(old, new, strict=True))
            gain = {cell: after for cell, (before, after) in pairs if after != before}
            self._gains = [*self._gains, gain][-GAINS_MAX:]

    def _rank(self, count: int, favour: float) -> int:
        """A number below `count`; how likely each is beside the one before it is given."""
        weights = [favour**rank for rank in range(count)]
        (rank,) = self._random.choices(range(count), weights=weights)
        return rank


def _by_fitness(elite: Elite) -> float:
    return -elite.fitness


def _check(config: GuidedConfig) -> None:
    check_proposals(config.proposals, least=2)
    for name in ("elites", "alike", "moves", "sure"):
        check_proposals(getattr(config, name), name=name)
    for name in ("again", "each_half"):
        check_proposals(getattr(config, name), least=0, name=name)
    check_shares(
        even=config.even,
        discount=config.discount,
        specialists=config.specialists,
        modelled=config.modelled,
    )
    if unknown := [name for name in config.without if name not in MOVES]:
        raise ValueError(
            f"search.without=[{','.join(unknown)}]: no such move; there are {', '.join(MOVES)}"
        )
