"""The variance tree, the ranking of its factors and the difference of two trees, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.sparse import csc_matrix

from envs.recorded_events import Selection
from envs.result import Machine
from trainer.variance.comparison import differences
from trainer.variance.factors import factors_of, top_factors
from trainer.variance.profile import Profile, TypeProfile
from trainer.variance.tree import Label, Node, Path, variance_tree

ROOT = Label("transaction", "transaction")


def label(name: str, factor: str | None = None) -> Label:
    return Label(name, factor or name)


PATHS: list[Path] = [
    (label("write log"), label("lock")),
    (label("write log"), label("copy")),
    (label("read"), label("lock")),
    (label("think"),),
]
"""A call graph of three levels, in which `lock` is called from two places."""
TIMES = np.array(
    [
        # lock in write log, copy, lock in read, think
        [1.0, 5.0, 2.0, 3.0],
        [3.0, 5.0, 4.0, 3.0],
        [1.0, 9.0, 2.0, 3.0],
        [3.0, 9.0, 4.0, 3.0],
    ]
)


def tree() -> Node:
    return variance_tree(ROOT, PATHS, csc_matrix(TIMES))


def by_name(root: Node) -> dict[str, Node]:
    return {node.label.name: node for node in root.nodes()}


def test_means_and_variances_are_those_of_the_sums() -> None:
    root = tree()
    assert root.mean_us == pytest.approx(TIMES.sum(axis=1).mean())
    assert root.variance == pytest.approx(np.var(TIMES.sum(axis=1)))
    write_log = by_name(root)["write log"]
    assert write_log.mean_us == pytest.approx(9.0)
    assert write_log.variance == pytest.approx(1.0 + 4.0)
    assert [child.variance for child in write_log.children] == pytest.approx([1.0, 4.0])
    # Eight of the 13 µs² are variances: 5 of `write log`, 1 of `read`; 2 are their covariance.
    assert root.variance == pytest.approx(8.0)
    (pair,) = [p for p in root.covariances if abs(p.value) > 1e-9]
    assert {pair.first.label.name, pair.second.label.name} == {"write log", "read"}
    assert pair.value == pytest.approx(2.0)


def test_algorithm_1_by_hand() -> None:
    """Height 2. `lock` (height 0, at two places) has 1 + 1 of 8 µs², `copy` has 4.

    Their specificity is (2 - 0)² = 4; that of `write log` and of the covariance (2 - 1)² = 1.
    """
    found = {factor.words: factor for factor in factors_of(tree())}
    assert found["lock"].contribution == pytest.approx(2.0)
    assert found["lock"].mean_us == pytest.approx(2.0 + 3.0)
    assert found["lock"].score == pytest.approx(4 * 2 / 8)
    assert found["copy"].score == pytest.approx(4 * 4 / 8)
    assert found["write log"].score == pytest.approx(1 * 5 / 8)
    assert found["read × write log"].score == pytest.approx(1 * 2 / 8)
    assert found["think"].score == 0
    assert found["transaction"].score == 0
    assert "read" not in found, "it is the same as its only child"
    top = top_factors(tree(), 3, 0.0)
    assert [factor.words for factor in top] == ["copy", "lock", "write log"]
    assert [factor.words for factor in top_factors(tree(), 3, 0.3)] == ["copy", "write log"]
    assert [factor.words for factor in top_factors(tree(), 1, 0.0)] == ["copy"]


def test_the_tail_is_that_of_the_slowest_transactions() -> None:
    times = np.ones((200, 2))
    times[7, 1] = 1000.0
    times[8, 1] = 500.0
    root = variance_tree(ROOT, [(label("a"),), (label("b"),)], times)
    assert by_name(root)["b"].tail_us == pytest.approx(750.0)
    assert by_name(root)["a"].tail_us == pytest.approx(1.0)


@given(
    st.lists(
        st.lists(st.floats(0, 1e6), min_size=len(PATHS), max_size=len(PATHS)),
        min_size=2,
        max_size=30,
    )
)
def test_a_node_is_its_children_with_their_covariances(rows: list[list[float]]) -> None:
    """Equation 2.2, at every node."""
    root = variance_tree(ROOT, PATHS, np.array(rows))
    for node in root.nodes():
        if node.children:
            parts = sum(child.variance for child in node.children)
            parts += sum(pair.value for pair in node.covariances)
            assert parts == pytest.approx(node.variance, rel=1e-6, abs=1e-3)
            assert sum(child.mean_us for child in node.children) == pytest.approx(node.mean_us)


def test_one_transaction_or_equal_ones_have_no_variance() -> None:
    for rows in (1, 3):
        root = variance_tree(ROOT, PATHS, np.repeat(TIMES[:1], rows, axis=0))
        assert root.variance == 0
        assert top_factors(root, 3, 0.01) == []


def profile(times: np.ndarray, subject: str) -> Profile:
    root = variance_tree(label("t"), PATHS, times)
    kind = TypeProfile("t", times.sum(axis=1), root, {})
    machine = Machine("virtual", 1)
    return Profile(subject, machine, 1.0, 1, 0, 0, Selection(), 1.0, {"t": kind})


def test_the_difference_is_where_the_variance_changes() -> None:
    slower = TIMES.copy()
    slower[:, 1] = [5.0, 5.0, 45.0, 45.0]
    (found,) = differences(profile(TIMES, "a"), profile(slower, "b"), 2, 0.01)
    assert found.name == "t"
    best = found.changes[0]
    assert best.words == "copy"
    assert best.change == pytest.approx(400.0 - 4.0)
    assert best.share == pytest.approx(1.0)
    assert best.mean_us == pytest.approx(25.0 - 7.0)
    # In the other direction the same factor makes the same share of the difference.
    (back,) = differences(profile(slower, "b"), profile(TIMES, "a"), 2, 0.01)
    assert back.changes[0].share == pytest.approx(1.0)
    assert back.changes[0].change == pytest.approx(-396.0)
    (none,) = differences(profile(TIMES, "a"), profile(TIMES, "a"), 2, 0.01)
    assert none.changes == []
