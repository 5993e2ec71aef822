"""Small workloads that are written down as tables and kinds of accesses."""

from __future__ import annotations

from policies import Signature

R, W, INS = "read", "update", "insert"


def workload(**types: list[tuple[str, str]]) -> Signature:
    """Return a workload made of (table, kind) pairs."""
    state = iter(range(1000))
    return Signature.from_dict(
        {
            "workload": "made_up",
            "types": [
                {
                    "name": name,
                    "accesses": [
                        {"id": next(state), "name": f"a{n}", "table": table, "kind": kind}
                        for n, (table, kind) in enumerate(accesses)
                    ],
                }
                for name, accesses in types.items()
            ],
        }
    )
