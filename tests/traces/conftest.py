from __future__ import annotations

from hypothesis import settings

# Machines are shared and slow at times; a time limit an example would fail tests for no fault.
settings.register_profile("heddle", deadline=None)
settings.load_profile("heddle")
