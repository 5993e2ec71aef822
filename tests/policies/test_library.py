"""The bundled policies fit their workloads and have scores."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import engine
from policies import Signature, load

LIBRARY = sorted((Path(__file__).resolve().parents[2] / "policies" / "library").glob("*.json"))


def test_policies_are_bundled() -> None:
    assert LIBRARY


@pytest.mark.parametrize("path", LIBRARY, ids=lambda path: path.stem)
def test_a_bundled_policy_can_be_used_and_has_scores(path: Path) -> None:
    provenance = json.loads(path.read_text())["provenance"]
    load(path, Signature.from_dict(engine.signature(provenance["workload"])))
    assert provenance["machine"]["kind"] in ("threads", "virtual")
    assert min(provenance["scores"].values()) >= 1.0
