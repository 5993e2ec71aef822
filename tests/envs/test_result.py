from __future__ import annotations

import json
from types import ModuleType

import pytest

from envs import Result


def test_the_engines_dictionary_comes_through_whole(fake_engine: ModuleType) -> None:
    session = fake_engine.Session({"name": "tpcc"}, 2)
    raw = session.run("silo", None, "exponential", 0.0, 0.5, 0.0, 7, {})
    result = Result.from_dict(raw)
    assert result.throughput == raw["throughput"]
    assert result.machine.cores == 2
    assert result.types["payment"].latency_us.p99 == 40.0
    assert len(result.aborts_by_state) == 27
    again = json.loads(json.dumps(result.as_dict()))
    assert again == raw
    assert Result.from_dict(again) == result


def test_another_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema_version 2"):
        Result.from_dict({"schema_version": 2})
