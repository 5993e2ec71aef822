"""Polyjuice's engine, by the program dbtest of its artifact's folder ae-tpcc-polyjuice."""

from .. import dbtest
from ..definition import NUMBER, Peer

PEER = Peer(
    name="polyjuice",
    source="https://github.com/derFischer/Polyjuice",
    benchmarks=(
        dbtest.tpcc("ndb-ic3", rf"^RESULT throughput\({NUMBER}\)", "--policy", "{policy}"),
    ),
    lacks={"ycsb": "no YCSB of 16 operations is known of it"},
    notes=(
        "Its policy is training/input-RL-occ-tpcc.txt of the artifact, plain OCC. Give a learned"
        " one, such as one of ae-policy/tpcc, as polyjuice=BINARY,policy=FILE.",
        "A policy learned for 48 threads need not transfer to fewer. The artifact's scripts run"
        " the full mix only.",
        "An aborted transaction is retried with the same input, after the policy's backoff.",
        "Its clock is the system's and needs no correction. A run takes whole seconds.",
        "Uncertain: its transactions were read in the artifact's folder ae-tpcc-polyjuice-latency."
        " There no NewOrder rolls back, and NewOrder reads no S_DATA and no S_DIST, leaves"
        " OL_DIST_INFO out and S_ORDER_CNT as it is. Read-only transactions read a snapshot.",
    ),
    files={"policy": "../../training/input-RL-occ-tpcc.txt"},
)
