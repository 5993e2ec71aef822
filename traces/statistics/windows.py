"""Window lengths that divide an hour.

They are a module of their own because every command checks its settings against them.
"""

from __future__ import annotations

WINDOW_MINUTES = 5
"""The paper's n."""

WINDOWS_MINUTES = tuple(n for n in range(1, 61) if 60 % n == 0)
"""The lengths that divide an hour evenly."""
