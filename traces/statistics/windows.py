"""Lengths of the windows that an hour is split into.

They stand apart from what reads traces, because every command checks its settings against them.
"""

from __future__ import annotations

WINDOW_MINUTES = 5
"""The paper's n."""

WINDOWS_MINUTES = tuple(n for n in range(1, 61) if 60 % n == 0)
"""What an hour can be split into evenly."""
