"""Monte Carlo tree search: UCT (Kocsis and Szepesvári, ECML 2006).

Saqlain et al. apply it to job shops (Flexible Services and Manufacturing Journal 35(2), 2023).
"""

from __future__ import annotations

import math

import numpy as np

from trainer.schedule.batch import Numbers
from trainer.schedule.policies.task import Task

BRANCHES = 5
"""Transactions tried after a prefix, drawn from the rest; the same number as SMF samples."""
EXPLORATION = math.sqrt(2)


class Node:
    """A prefix of an order.

    Attributes:
        visits: the number of playouts through it.
        reward: the sum of their rewards, each from 0 to 1.
        children: by the next transaction.
    """

    def __init__(self) -> None:
        self.visits = 0
        self.reward = 0.0
        self.children: dict[int, Node] = {}

    def choose(self) -> int:
        """Return the child with the highest bound, from its mean reward and its few visits."""

        def bound(index: int) -> float:
            child = self.children[index]
            if child.visits == 0:
                return math.inf
            log = math.log(max(self.visits, 1))
            return child.reward / child.visits + EXPLORATION * math.sqrt(log / child.visits)

        return max(self.children, key=bound)


class Search:
    """The tree, and the best order of all playouts."""

    def __init__(self, task: Task) -> None:
        self._task = task
        self.best = task.random.permutation(len(task)).astype(np.uint32)
        self.shortest = self._longest = task.makespan(self.best)

    def play(self, root: Node, prefix: list[int]) -> None:
        """Make one playout: descend the tree, add a node, and complete the order at random."""
        path, node, order = [root], root, list(prefix)
        while len(order) < len(self._task):
            fresh = not node.children
            if fresh:
                self._grow(node, order)
            index = node.choose()
            order.append(index)
            node = node.children[index]
            path.append(node)
            if fresh:
                break
        whole = self._completed(order)
        reached = self._task.makespan(whole)
        if reached < self.shortest:
            self.best, self.shortest = whole, reached
        self._longest = max(self._longest, reached)
        spread = max(1, self._longest - self.shortest)
        for passed in path:
            passed.visits += 1
            passed.reward += (self._longest - reached) / spread

    def _left(self, order: list[int]) -> Numbers:
        left = np.ones(len(self._task), bool)
        left[order] = False
        return np.flatnonzero(left).astype(np.uint32)

    def _grow(self, node: Node, order: list[int]) -> None:
        left = self._left(order)
        drawn = self._task.random.choice(left, min(BRANCHES, len(left)), replace=False)
        node.children = {int(index): Node() for index in drawn}

    def _completed(self, order: list[int]) -> Numbers:
        rest = self._task.random.permutation(self._left(order))
        return np.concatenate([np.array(order, np.uint32), rest]).astype(np.uint32)


def tree_search(task: Task) -> Numbers:
    """Fix one place after the other: the child with most visits after some playouts."""
    search, root = Search(task), Node()
    prefix: list[int] = []
    spent = 1
    for place in range(len(task)):
        until = max(1, task.evaluations * (place + 1) // len(task))
        while spent < until:
            search.play(root, prefix)
            spent += 1
            if not task.proceed(spent / task.evaluations):
                return search.best
        if not root.children:
            continue  # with more places than playouts, the tree decides only the first ones
        index = max(root.children, key=lambda child: root.children[child].visits)
        prefix.append(index)
        root = root.children[index]
    return search.best
