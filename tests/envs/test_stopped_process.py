"""The watchdog of real cores while the process is stopped."""

from __future__ import annotations

import signal
import subprocess
import sys
import time

PROGRAM = """
import engine
session = engine.Session({"name": "micro", "records": "1000"}, 1)
options = engine.RunOptions(seconds=1.5, watchdog_s=1.0)
print("ready", flush=True)
print(session.run(options)["commits"] > 0)
"""


def test_a_process_that_was_stopped_has_no_stuck_worker() -> None:
    """A stop longer than the watchdog, as by Ctrl-Z, a frozen container or a suspended laptop."""
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(0.3)
        process.send_signal(signal.SIGSTOP)
        time.sleep(1.5)
        process.send_signal(signal.SIGCONT)
        told, error = process.communicate(timeout=60)
    assert (process.returncode, told) == (0, "True\n"), error
