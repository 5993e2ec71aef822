"""The counters of a scheduler."""

from dataclasses import dataclass

from heddle_client.policy import Mode


@dataclass(frozen=True)
class Metrics:
    """What a scheduler has done since it was made, or since its process was forked. Times in s."""

    mode: Mode
    enabled: bool
    started: int
    """Transactions that the scheduler has started."""
    waited: int
    """Those that did not start at once."""
    overtakings: int
    """Those that started while an older one waited."""
    forced: int
    """Those that started in spite of a conflict or of the bound: due, timed out or let go."""
    passed_through: int
    """Transactions that ran without the scheduler, because it was off or they were nested."""
    failed_open: int
    """Transactions that ran without the scheduler because it failed, and failures to end one."""
    cancelled: int
    """Transactions that stopped waiting and did not run, those that timed out included."""
    timed_out: int
    """Transactions whose `timeout` ended before they started, in all modes."""
    groups: int
    """Groups of merged transactions that have committed."""
    merged: int
    """Transactions in these groups."""
    failed_groups: int
    """Groups that were undone, or whose outcome is in doubt."""
    swaps: int
    """Policies that `load` or the watcher has put in force."""
    refused_swaps: int
    """Policy files that were refused, which left the policy in force."""
    running: int
    """Transactions that run now."""
    waiting: int
    """Transactions that wait now."""
    oldest_wait: float
    """How long the oldest of those has waited."""
    longest_wait: float
    """The longest wait of a transaction that has started."""
