"""SmallBank (Alomari et al., ICDE 2008), with the mix and the hot accounts of OLTP-Bench."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trainer.schedule.batch import Operation
from trainer.schedule.generators.draws import read, setting, write
from trainer.schedule.generators.engine_workload import number, share

NAME = "smallbank"


@dataclass(frozen=True)
class SmallBank:
    """Six short transactions on customers with a savings and a checking account each."""

    accounts: int = setting(number(NAME, "accounts"), 2, 100_000_000, "number of customers")
    hot_accounts: int = setting(
        number(NAME, "hot_accounts"), 2, 100_000_000, "number of hot customers"
    )
    hot_share: float = setting(
        share(NAME, "hot_share"), 0, 1, "share of transactions on hot customers"
    )

    def transactions(self, random: np.random.Generator) -> Iterator[list[Operation]]:
        """Yield transactions without end."""
        names = list(OPERATIONS)
        shares = [share(NAME, name) for name in names]
        while True:
            one, other = self._customers(random)
            yield OPERATIONS[names[random.choice(len(names), p=shares)]](one, other)

    def _customers(self, random: np.random.Generator) -> tuple[int, int]:
        hot = random.random() < self.hot_share
        among = min(self.hot_accounts, self.accounts) if hot else self.accounts
        one = int(random.integers(among))
        return one, (one + 1 + int(random.integers(among - 1))) % among


def _amalgamate(one: int, other: int) -> list[Operation]:
    return [
        read("account", one),
        read("account", other),
        read("savings", one),
        read("checking", one),
        write("savings", one),
        write("checking", one),
        read("checking", other),
        write("checking", other),
    ]


def _balance(one: int, other: int) -> list[Operation]:
    return [read("account", one), read("savings", one), read("checking", one)]


def _deposit_checking(one: int, other: int) -> list[Operation]:
    return [read("account", one), read("checking", one), write("checking", one)]


def _send_payment(one: int, other: int) -> list[Operation]:
    return [
        read("account", one),
        read("account", other),
        read("checking", one),
        write("checking", one),
        read("checking", other),
        write("checking", other),
    ]


def _transact_savings(one: int, other: int) -> list[Operation]:
    return [read("account", one), read("savings", one), write("savings", one)]


def _write_check(one: int, other: int) -> list[Operation]:
    return [
        read("account", one),
        read("savings", one),
        read("checking", one),
        write("checking", one),
    ]


OPERATIONS = {
    "amalgamate": _amalgamate,
    "balance": _balance,
    "deposit_checking": _deposit_checking,
    "send_payment": _send_payment,
    "transact_savings": _transact_savings,
    "write_check": _write_check,
}
