"""The bundled policies fit their workloads and have scores."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import engine
from policies import Signature, load
from policies.protocol import EXTERNAL, PLACES

LIBRARY = sorted((Path(__file__).resolve().parents[2] / "policies" / "library").glob("*.json"))


def test_policies_are_bundled() -> None:
    assert LIBRARY


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_a_bundled_policy_can_be_used_and_has_scores(path: Path) -> None:
    document = json.loads(path.read_text())
    provenance, protocol = document["provenance"], document.get("protocol")
    signature = Signature.from_dict(engine.signature(provenance["workload"]))
    load(path, signature, check=_has_store(protocol))
    on_threads = protocol is not None and protocol["name"] == EXTERNAL
    assert provenance["machine"]["kind"] == ("threads" if on_threads else "virtual")
    assert min(provenance["scores"].values()) >= 1.0


def _has_store(protocol: Mapping[str, Any] | None) -> bool:
    """Return whether this build can run a protocol: it may lack the package of a store."""
    if protocol is None:
        return True
    try:
        engine.check_protocol(protocol["name"], protocol["options"])
    except ValueError as error:
        if "this build lacks it" not in str(error):
            raise
        return False
    return True


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_a_bundled_policy_names_no_place_of_a_machine(path: Path) -> None:
    document = json.loads(path.read_text())
    measured = document["provenance"]["library"]["measured"]
    options = (document.get("protocol") or {}).get("options", {})
    assert not {*PLACES} & {*options, *measured.get("store", {})}
    assert not any(place in name for name in measured["baselines"] for place in PLACES)
