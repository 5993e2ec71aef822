from __future__ import annotations

import pytest

from policies import Encoding, build_seed
from trainer.search.effect import effective, points
from trainer.search.layout import Layout


@pytest.fixture
def layout(encoding: Encoding) -> Layout:
    return Layout(encoding)


def table(encoding: Encoding, **cells: int) -> tuple[int, ...]:
    """Return OCC's table with some cells set; `__` stands for a dot."""
    vector = encoding.encode(build_seed("occ", encoding.signature))
    for name, value in cells.items():
        vector[encoding.names.index(name.replace("__", "."))] = value
    return tuple(vector)


WAIT = "payment__update_customer__wait__new_order"
SHOWN = {"new_order__update_stock__write_visibility": 1}
BOUND = {"payment__update_warehouse__write_visibility": 1}


def test_dirty_reads_need_a_published_write(encoding: Encoding, layout: Layout) -> None:
    dirty = table(encoding, new_order__read_stock__read_version=1)
    assert effective(layout, dirty) == table(encoding)
    both = table(encoding, new_order__read_stock__read_version=1, **SHOWN)
    assert effective(layout, both) == both


def test_waits_need_a_possible_dependency(encoding: Encoding, layout: Layout) -> None:
    assert effective(layout, table(encoding, **{WAIT: 3})) == table(encoding)
    # Payment publishes, and so has dependencies; but NewOrder publishes nothing …
    assert effective(layout, table(encoding, **{WAIT: 3}, **BOUND)) == table(encoding, **BOUND)
    # … or NewOrder publishes, but Payment has no dependencies.
    assert effective(layout, table(encoding, **{WAIT: 3}, **SHOWN)) == table(encoding, **SHOWN)
    all_set = table(encoding, **{WAIT: 3}, **BOUND, **SHOWN)
    assert effective(layout, all_set) == all_set


def test_waits_before_the_first_dependency_have_no_effect(
    encoding: Encoding, layout: Layout
) -> None:
    early = "payment__update_warehouse__wait__new_order"  # the row of the first public write
    assert effective(layout, table(encoding, **{early: 3}, **BOUND, **SHOWN)) == table(
        encoding, **BOUND, **SHOWN
    )


def test_loops_can_create_earlier_dependencies(encoding: Encoding) -> None:
    source = encoding.signature.to_dict()
    for access in source["types"][0]["accesses"][3:6]:
        access["loop"] = True
    looped = Encoding(type(encoding.signature).from_dict(source))
    found = table(looped, new_order__read_item__wait__new_order=6, **SHOWN)
    assert effective(Layout(looped), found) == found
    assert effective(Layout(encoding), found) == table(encoding, **SHOWN)


@pytest.mark.parametrize("name", ["occ", "ic3"])
def test_seeds_keep_their_effect(encoding: Encoding, layout: Layout, name: str) -> None:
    seed = tuple(encoding.encode(build_seed(name, encoding.signature)))
    once = effective(layout, seed)
    assert effective(layout, once) == once
    assert points(layout, once) == points(layout, seed)
    kept = [cell.kind for cell, a, b in zip(encoding.cells, seed, once, strict=True) if a != b]
    assert set(kept) <= {"wait", "read_version"}


def test_both_kinds_of_publication_points_count(encoding: Encoding, layout: Layout) -> None:
    assert points(layout, table(encoding)) == frozenset()
    assert points(
        layout, table(encoding, delivery__scan_order_line__early_validation=1, **SHOWN)
    ) == {5, 22}


def test_only_parameters_of_the_admission_policy_have_an_effect(encoding: Encoding) -> None:
    scheduled = Encoding(encoding.signature, scheduled=True)
    layout = Layout(scheduled)
    idle = table(scheduled, schedule__window=0, schedule__unscheduled__payment=1)
    assert effective(layout, idle) == table(scheduled)
    smf = {"schedule__policy": 1, "schedule__window": 0, "schedule__unscheduled__payment": 1}
    assert effective(layout, table(scheduled, **smf)) == table(scheduled, **smf)
    deferring = table(scheduled, **smf, schedule__defer=0)
    assert effective(layout, deferring) == table(scheduled, **smf), "that is tsdefer's"
