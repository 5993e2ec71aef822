"""The original Silo, by its benchmark dbtest."""

from .. import dbtest
from ..definition import NUMBER, Peer

PEER = Peer(
    name="silo",
    source="https://github.com/stephentu/silo",
    benchmarks=(dbtest.tpcc("ndb-proto2", rf"^agg_throughput: {NUMBER} ops/sec", "--verbose"),),
    lacks={"ycsb": "its YCSB has one operation a transaction and uniform keys only"},
    notes=(
        "No NewOrder rolls back. In Heddle 1 % do, as TPC-C asks, and count as commits.",
        "NewOrder reads no S_DATA and no S_DIST, leaves OL_DIST_INFO out and S_ORDER_CNT as it is.",
        "Delivery leaves C_DELIVERY_CNT as it is.",
        "OrderStatus and StockLevel read a snapshot.",
        "An aborted transaction is retried with the same input, after a backoff that doubles. Both"
        " are off by default.",
        "Nothing is logged. Threads aren't pinned, and memory comes from the allocator of the"
        " build: both need --numa-memory, which reserves memory by core.",
        "Its clock is the system's and needs no correction. A run takes whole seconds.",
        "Uncertain: options are those of commits d1aa76a and 81c26f5; earlier versions have no"
        " --backoff-aborted-transactions.",
    ),
)
