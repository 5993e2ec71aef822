"""What the fitness of a policy is relative to: the best of what needs no learning."""

from __future__ import annotations

from envs.external_sweep import TunedStore
from envs.tuned_backoff import TunedBackoff

Reference = TunedBackoff | TunedStore
"""`silo_tuned`, or in front of an external store `external_tuned`. Both have `name`, `words` and
`subject()`."""
