from __future__ import annotations

import itertools

import pytest

from envs import Subject
from envs.anomalies import PERMITTED, checked_level, is_checkable, level_of, missing

SKEWED = ("write_skew",)
ALL = ("write_skew", "read_skew", "lost_update")


def of(level: str, protocol: str = "mvto", **options: str) -> Subject:
    return Subject("one", protocol, options={"isolation": level, **options})


def test_each_level_permits_more_than_the_one_before() -> None:
    permitted = list(PERMITTED.values())
    assert all(set(one) < set(other) for one, other in itertools.pairwise(permitted))


def test_the_anomalies_name_the_level() -> None:
    assert level_of(()) == "serializable"
    assert level_of(SKEWED) == "snapshot"
    assert level_of(list(reversed(ALL))) == "read_committed"


@pytest.mark.parametrize("allow", [("lost_update",), ("write_skew", "read_skew"), ("phantom",)])
def test_no_level_permits_other_sets(allow: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"must be one of \[\] \(serializable\), \[write_skew\]"):
        level_of(allow)


def test_what_must_be_allowed_is_what_the_level_permits() -> None:
    assert missing(of("serializable"), ()) == ()
    assert missing(of("snapshot"), ()) == SKEWED
    assert missing(of("snapshot"), ALL) == ()
    assert missing(of("read_committed"), SKEWED) == ("read_skew", "lost_update")
    assert missing(of("read_committed", "external"), ()) == (), "its histories show it"


def test_the_order_of_a_stores_versions_is_known_if_the_first_updater_wins() -> None:
    assert is_checkable(of("repeatable_read", "external"), SKEWED)
    assert not is_checkable(of("read_committed", "external"), ALL)
    assert is_checkable(of("read_committed", "external", locks="hints"), ALL)
    assert is_checkable(of("serializable", "external"), ALL)
    assert is_checkable(of("read_committed"), ALL)


def test_only_weaker_levels_are_checked_for_less() -> None:
    assert checked_level(of("serializable"), ALL) == "serializable"
    assert checked_level(Subject("silo", "silo"), ALL) == "serializable"
    assert checked_level(of("snapshot"), SKEWED) == "snapshot"
    assert checked_level(of("snapshot"), ALL) == "snapshot", "no more than it permits"
    assert checked_level(of("snapshot"), ()) == "serializable"
    assert checked_level(of("read_committed", "external"), ALL) == "read_committed"
    assert checked_level(of("read_committed", "external", locks="hints"), ALL) == "serializable"
