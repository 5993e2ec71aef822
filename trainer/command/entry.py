"""The console script `heddle`; an interrupt while its libraries load exits with 130, too."""

from __future__ import annotations

import sys

INTERRUPTED = 130


def main() -> None:
    """Load the command and run it."""
    try:
        from trainer.command.main import main as run
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        raise SystemExit(INTERRUPTED) from None
    run()
