from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.trainer.conftest import (  # noqa: E402
    encoding,
    evaluator,
    fake_engine,
    tpcc,
    virtual_evaluator,
)

__all__ = ["encoding", "evaluator", "fake_engine", "tpcc", "virtual_evaluator"]
