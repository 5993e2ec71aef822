from __future__ import annotations

import pytest

from tests.scale import VARIABLE, ScaleError, scaled


@pytest.mark.parametrize(
    ("scale", "count", "most", "found"),
    [("1", 7, None, 7), ("10", 7, None, 70), ("10", 7, 12, 12), ("0.1", 3, None, 1)],
)
def test_a_count_is_multiplied_within_its_bounds(
    scale: str, count: int, most: int | None, found: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, scale)
    assert scaled(count, most) == found


def test_without_the_variable_a_count_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert scaled(7) == 7


@pytest.mark.parametrize("scale", ["", "abc", "0", "-1", "nan", "inf"])
def test_an_invalid_scale_is_reported(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, scale)
    with pytest.raises(ScaleError, match=f"{VARIABLE}={scale}: must be a number above 0"):
        scaled(7)
