"""Signatures for the stand-in engine: TPC-C's shape, and a workload small enough to enumerate."""

from __future__ import annotations

from typing import Any

Rows = list[tuple[str, str]]
"""Accesses as (kind, table)."""

TPCC: dict[str, Rows] = {
    "new_order": [
        ("read", "WAREHOUSE"),
        ("read", "DISTRICT"),
        ("update", "DISTRICT"),
        ("read", "ITEM"),
        ("read", "STOCK"),
        ("update", "STOCK"),
        ("insert", "NEW_ORDER"),
        ("insert", "OORDER"),
        ("insert", "OORDER_C_ID_IDX"),
        ("insert", "ORDER_LINE"),
        ("read", "CUSTOMER"),
    ],
    "payment": [
        ("read", "WAREHOUSE"),
        ("update", "WAREHOUSE"),
        ("read", "DISTRICT"),
        ("update", "DISTRICT"),
        ("read", "CUSTOMER"),
        ("update", "CUSTOMER"),
        ("insert", "HISTORY"),
    ],
    "delivery": [
        ("scan", "NEW_ORDER"),
        ("remove", "NEW_ORDER"),
        ("read", "OORDER"),
        ("update", "OORDER"),
        ("scan", "ORDER_LINE"),
        ("update", "ORDER_LINE"),
        ("read", "CUSTOMER"),
        ("update", "CUSTOMER"),
    ],
}
TRANSFER: dict[str, Rows] = {"transfer": [("read", "ACCOUNT"), ("update", "ACCOUNT")]}


def _signature(workload: str, types: dict[str, Rows]) -> dict[str, Any]:
    entries: list[dict[str, Any]] = []
    state = 0
    for name, rows in types.items():
        accesses = []
        for kind, table in rows:
            access = f"{kind}_{table.lower()}"
            accesses.append(
                {"id": state, "name": access, "table": table, "kind": kind, "loop": False}
            )
            state += 1
        entries.append({"name": name, "accesses": accesses})
    return {"workload": workload, "types": entries}


SIGNATURES: dict[str, dict[str, Any]] = {
    "tpcc": _signature("tpcc", TPCC),
    "transfer": _signature("transfer", TRANSFER),
}
