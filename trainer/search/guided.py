"""Guided search: moves of whole units, where time is lost, of the kinds that have helped.

Heddle's own method. Each child is made from one of a few elite tables by one or more moves
(`trainer.search.moves`). A move changes a unit: the waits before an access, those of one type for
another, a publication point, or the backoff of all types. Three things guide the moves:

- *Blame.* The parent's own result determines where a move is likely to apply: where transactions
  waited, and where work was wasted (`trainer.search.blame`).
- *Credit.* Moves whose results were recently better than their parents are drawn more often
  (`trainer.search.credit`).
- *Merging.* Changes that made one table better are applied to others, as one more move.

Not all children descend from elites. A table may run one transaction type much faster at the
expense of another, and need only one more change. Such *specialists* have children in proportion to
their promised gain, changed where they are slow (`trainer.search.specialists`). In a workload with
one type, some children are the best table with a backoff that a model of all measurements proposes
(`trainer.search.backoff_model`).

Two rules keep the search from repeating itself. A table that differs only in actions without effect
is not measured (`trainer.search.effect`), and only a few elites may have the same publication
points. An elite with few slices is measured again with its children, so that noise does not keep it
at the top. Generations are small, because each one guides the next.

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
"""Draws for a new table; small spaces run out of new ones. The second half of the draws makes more
moves."""

FARTHER = 3
"""The factor on the maximum number of moves in the second half of the draws."""

GAINS_MAX = 24
"""The number of recent successful changes that can be merged."""

FAVOUR = 0.6
"""The ratio of the probabilities that two consecutive elites are the parent."""

SCHEDULE = schedule.__name__
"""The move that changes the schedule."""

ANOTHER = 0.5
"""The ratio of the probabilities of two consecutive numbers of moves."""


@dataclass
class GuidedConfig(SearchConfig):
    """Settings of `search=guided`.

    Attributes:
        proposals: candidates per generation.
        elites: tables from which children are made.
        alike: maximum number of elites with the same publication points and the same schedule.
        each_half: if both schedule and table are searched, this many elites with a schedule and
            this many without are kept, whatever their fitness; at most half of all, each.
        again: maximum number of elites that are measured again with their children.
        sure: the number of slices from which an elite is not measured again.
        moves: maximum number of moves of a child.
        effective: whether children lose the actions that have no effect.
        even: share of the blame that is spread evenly; 1 = moves apply anywhere.
        discount: factor on the weight of a move's trial after each later child; 0 = all moves
            equal.
        specialists: share of the children made from specialists if these promise to save all of
            the time, and in proportion if they promise less.
        modelled: share of the children that are the best table with a backoff proposed by the
            model, in a workload with one type.
        without: disabled moves; `trainer.search.moves.MOVES` lists all.
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
    """A table and how it was made. Its moves succeeded if it is fitter than the bar."""

    candidate: Candidate
    parent: Elite
    moves: tuple[str, ...]
    bar: float


class Guided:
    """Guided search (see the module). The arguments are those of `registry.build_search`.

    Raises:
        ValueError: a setting is out of range.
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
        self._of_rows = self._moves.of_rows()
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
        """The number of children and of elites that are measured again."""
        return self._config.proposals

    @property
    def parents(self) -> Sequence[Candidate]:
        """The elites. If schedules are searched too, some may be far behind the best."""
        return [elite.candidate for elite in self._elites]

    def ask(self, n: int) -> list[Candidate]:
        """Propose the warm start first; then elites with few slices, and children."""
        n = min(n, self.batch)
        if self._unmeasured:
            return self._unmeasured[:n]
        unsure = [elite.candidate for elite in self._elites if elite.slices < self._config.sure]
        again = unsure[: min(self._config.again, n - 1)]
        self._children = {}
        drawn = (self._child() for _ in range(n * ATTEMPTS // 2))
        # All tables nearby may have been seen, and the successful moves may be exhausted.
        far = (self._mutate(self._parent(), far=True) for _ in range(n * ATTEMPTS // 2))
        for child in chain(self._scheduled_best(), drawn, far):
            if child.candidate.key not in self._seen:
                self._children.setdefault(child.candidate.key, child)
            if len(again) + len(self._children) == n:
                break
        found = [*again, *(child.candidate for child in self._children.values())]
        return found or [self._elites[0].candidate]

    def tell(self, candidates: Sequence[Candidate], results: Sequence[Measured]) -> None:
        """Select the elites by truncation, and credit the moves that made a better table."""
        elites = {elite.candidate.key: elite for elite in self._elites}
        for candidate, measured in zip(candidates, results, strict=True):
            blame = blame_of(self._signature, measured.results, self._config.even)
            # With the worst-case objective, the paces would be of different scenarios.
            whole = len(measured.results) == len(measured.scores)
            pace = pace_of(self._signature, measured.results) if whole else None
            elite = Elite(
                candidate, measured.penalized, measured.slices, blame, pace, measured.excess
            )
            elites[candidate.key] = elite
            if self._model:
                self._model.tell(candidate.vector, measured.fitness, measured.slices)
            child = self._children.get(candidate.key)
            if child is not None:
                self._learn(child, elite.fitness)
        self._children = {}
        self._seen |= {candidate.key for candidate in candidates}
        self._seen |= {self._effective(candidate.vector).key for candidate in candidates}
        self._unmeasured = [
            candidate for candidate in self._unmeasured if candidate not in candidates
        ]
        self._elites = self._best(elites.values())
        measured_now = [elites[candidate.key] for candidate in candidates]
        self._specialists.tell(measured_now, self._elites[0])

    def state_dict(self) -> dict[str, Any]:
        """Return the state: all that was learned, the tables seen, and the random generator."""
        return {
            "unmeasured": [
                [list(candidate.vector), candidate.origin] for candidate in self._unmeasured
            ],
            "elites": [elite.as_json() for elite in self._elites],
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
        self._elites = [Elite.from_json(elite) for elite in state["elites"]]
        self._credit.load_state_dict(state["credit"])
        self._gains = [dict(gain) for gain in state["gains"]]
        self._seen = set(state["seen"])
        if "specialists" in state:
            self._specialists.load_state_dict(state["specialists"])
        if self._model:
            self._model.load_state_dict(state.get("model", []))
        load_random(self._random, state["random"])

    def _check_moves(self) -> None:
        """Refuse settings that disable every move."""
        without = self._config.without
        # A merge needs changes that other moves made.
        if set(self._moves.names) <= {"merge", *without}:
            raise ValueError(
                "search.without: must leave a move other than merge; with these search.actions the "
                f"moves are {', '.join(self._moves.names)}"
            )

    def _child(self) -> Child:
        """Make a child of a specialist, in proportion to its promise, or of an elite.

        In a workload with one type, it may also be the best table with another backoff.
        """
        promises = self._specialists.promises(self._elites[0]) if self._config.specialists else []
        most = max((promise.gain for promise in promises), default=0.0)
        if most and self._random.random() < self._config.specialists * most:
            gains = [promise.gain for promise in promises]
            return self._specialist_child(self._random.choices(promises, weights=gains)[0].elite)
        if self._model and self._random.random() < self._config.modelled:
            best = self._elites[0]
            if backoff := self._model.propose(best.candidate.vector):
                return self._backoff_child(best, backoff)
        parent = self._parent()
        # Half of the children of a scheduled table differ only in the schedule.
        is_scheduled = self._searches_both and self._is_scheduled(parent)
        return self._mutate(parent, of_schedule=is_scheduled and self._random.random() < 0.5)

    def _specialist_child(self, parent: Elite) -> Child:
        """Make a child of a specialist, changed where it is slower than the best table."""
        even, best = self._config.even, self._elites[0]
        blame = blame_of_others(self._moves.layout, parent, best, even)
        child = self._mutate(replace(parent, blame=blame))
        # Being better than a bad specialist is no success; becoming an elite is.
        half = [elite for elite in self._elites if self._same_half(elite, parent)]
        return replace(child, bar=max([parent.fitness, *(elite.fitness for elite in half[-1:])]))

    def _backoff_child(self, parent: Elite, backoff: Change) -> Child:
        vector = list(parent.candidate.vector)
        for cell, value in backoff.items():
            vector[cell] = value
        candidate = self._effective(tuple(vector), "backoff by a model")
        return Child(candidate, parent, (), parent.fitness)  # there is no move to credit

    def _mutate(self, parent: Elite, of_schedule: bool = False, far: bool = False) -> Child:
        """Make a child by one or more moves, or by one move of its schedule.

        `far` allows more moves, each drawn uniformly.
        """
        here = parent.candidate.key
        others = [elite.candidate.vector for elite in self._elites if elite.candidate.key != here]
        vector = parent.candidate.vector
        made = []
        # Children of unscheduled tables stay unscheduled, so that some elites always are;
        # `_scheduled_best` combines them with the best schedule.
        of_table = (
            self._searches_both
            and not self._is_scheduled(parent)
            and bool(self._halves(self._elites)[0])
        )
        most = self._config.moves
        count = self._random.randint(1, FARTHER * most) if far else 1 + self._rank(most, ANOTHER)
        barred = {SCHEDULE} if of_table else set()
        for _ in range(count):
            choose = self._credit.any if far else self._credit.choose
            idle = () if self._space.encoding.is_table(vector) else self._of_rows
            name = SCHEDULE if of_schedule else choose(self._random, excluded={*barred, *idle})
            context = Context(vector, parent.blame, others, self._gains)
            moved = self._moves.make(name, context)
            if of_table:
                moved = self._with_schedule(parent, moved)
            if moved != vector:
                made.append(name)
                vector = moved
        candidate = self._effective(vector, ", ".join(made))
        return Child(candidate, parent, () if of_schedule else tuple(made), parent.fitness)

    def _parent(self) -> Elite:
        """Draw an elite, the better ones more often; scheduled ones as often as others."""
        niche = self._elites
        if self._searches_both:
            scheduled, others = self._halves(niche)
            niche = (scheduled if self._random.random() < 0.5 else others) or niche
        return niche[self._rank(len(niche), FAVOUR)]

    def _scheduled_best(self) -> Iterator[Child]:
        """Yield the best unscheduled table with the best schedule, if both are searched."""
        if not self._searches_both:
            return
        scheduled, others = self._halves(self._elites)
        if scheduled and others:
            vector = self._with_schedule(scheduled[0], others[0].candidate.vector)
            bar = others[0].fitness
            # No move made it, so none is credited.
            yield Child(self._effective(vector, "the best of both"), others[0], (), bar)

    def _with_schedule(self, elite: Elite, vector: tuple[int, ...]) -> tuple[int, ...]:
        cells = self._moves.layout.schedule
        own, others = vector, elite.candidate.vector
        return (*own[: cells.start], *others[cells.start : cells.stop], *own[cells.stop :])

    def _halves(self, elites: Sequence[Elite]) -> tuple[list[Elite], list[Elite]]:
        """Split elites into those with a schedule and those without."""
        scheduled = [elite for elite in elites if self._is_scheduled(elite)]
        return scheduled, [elite for elite in elites if not self._is_scheduled(elite)]

    def _is_scheduled(self, elite: Elite) -> bool:
        """Whether the elite has a schedule; False if the space has no schedule cells."""
        policy = self._moves.layout.schedule[0]
        return elite.candidate.vector[policy] != POLICY.choices.index(FIFO)

    def _same_half(self, elite: Elite, other: Elite) -> bool:
        """Whether both have a schedule or both have none."""
        return not self._searches_both or self._is_scheduled(elite) == self._is_scheduled(other)

    def _effective(self, vector: tuple[int, ...], origin: str = "") -> Candidate:
        if self._config.effective:
            vector = self._space.fit(effective(self._moves.layout, vector))
        return Candidate(vector, origin)

    def _kind(self, candidate: Candidate) -> tuple[frozenset[int], tuple[int, ...]]:
        """Return what similar tables share: the publication points, the schedule, the protocol."""
        layout, vector = self._moves.layout, candidate.vector
        others = (*layout.schedule, *layout.rule())
        return points(layout, vector), tuple(vector[cell] for cell in others)

    def _best(self, elites: Iterable[Elite]) -> list[Elite]:
        """Select the best, with a limit on similar ones: else all soon descend from one table.

        Under limits, the best within all of them comes first, and at most half are beyond: these
        are worth changing only if they are nearly within.

        A schedule is found early and a table late, and each may gain from the other. So some elites
        have a schedule and some have none, whatever their fitness.
        """
        different: list[Elite] = []
        met: Counter[tuple[frozenset[int], tuple[int, ...]]] = Counter()
        for elite in sorted(elites, key=_by_fitness):
            kind = self._kind(elite.candidate)
            met[kind] += 1
            if met[kind] <= self._config.alike:
                different.append(elite)
        within = [elite for elite in different if elite.excess <= 1.0]
        if within and len(within) < len(different):
            beyond = [elite for elite in different if elite.excess > 1.0]
            few = beyond[: self._config.elites // 2]
            different = [within[0], *sorted([*within[1:], *few], key=_by_fitness)]
        if not self._searches_both:
            return different[: self._config.elites]
        most = min(self._config.each_half, self._config.elites // 2)
        kept = [elite for half in self._halves(different) for elite in half[:most]]
        kept += [elite for elite in different if elite not in kept]
        order = {id(elite): place for place, elite in enumerate(different)}
        return sorted(kept[: self._config.elites], key=lambda elite: order[id(elite)])

    def _learn(self, child: Child, fitness: float) -> None:
        better = fitness > child.bar
        self._credit.tell(child.moves, better)
        if better:
            old, new = child.parent.candidate.vector, child.candidate.vector
            pairs = enumerate(zip(old, new, strict=True))
            gain = {cell: after for cell, (before, after) in pairs if after != before}
            self._gains = [*self._gains, gain][-GAINS_MAX:]

    def _rank(self, count: int, favour: float) -> int:
        """Draw a number below `count`, each `favour` times as likely as the one before it."""
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
