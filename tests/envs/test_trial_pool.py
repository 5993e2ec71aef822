from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.processes import is_alive
from tests.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import time
from envs.trial_pool import TrialPool

if __name__ == "__main__":
    with TrialPool(1) as pool:
        slot = pool._slots[0]
        slot.pool.submit(int).result()
        print(*slot.pool._processes, flush=True)
        time.sleep(3600)
"""


def test_worker_processes_end_with_their_parent(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    parent = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    assert is_alive(child)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    wait_until(lambda: not is_alive(child))
    parent.stdout.close()
