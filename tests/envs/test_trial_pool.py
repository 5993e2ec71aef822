from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

PROGRAM = """
import time
from envs.trial_pool import TrialPool

if __name__ == "__main__":
    with TrialPool(1) as pool:
        slot = pool._slots[0]
        slot.pool.submit(int).result()
        print(*slot.pool._processes, flush=True)
        time.sleep(60)
"""


def test_a_process_that_runs_trials_ends_with_the_one_it_runs_them_for(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    parent = subprocess.Popen(
        [sys.executable, str(program)],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert parent.stdout is not None
    child = Path("/proc") / parent.stdout.readline().strip()
    assert child.exists()
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    deadline = time.monotonic() + 30
    while child.exists() and (child / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
        assert time.monotonic() < deadline, "it lives on"
        time.sleep(0.05)
    parent.stdout.close()
