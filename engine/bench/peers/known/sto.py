"""STO, by its benchmark tpcc_bench."""

from ..definition import NUMBER, Benchmark, Peer, TscClock

PEER = Peer(
    name="sto",
    source="https://github.com/readablesystems/sto",
    benchmarks=(
        Benchmark(
            workload="tpcc",
            words={"mix": {"full": "0", "new_order_payment": "2"}},
            arguments=(
                "--dbid=default",
                "--nwarehouses={warehouses}",
                "--nthreads={threads}",
                "--time={named_seconds:.3f}",
                "--mix={mix}",
                "--gc",
            ),
            throughput=rf"^Throughput: {NUMBER} txns/sec",
            clock=TscClock(
                ticks=rf"^Elapsed time: {NUMBER} ticks", milliseconds=rf"^Real time: {NUMBER} ms"
            ),
        ),
    ),
    lacks={"ycsb": "its YCSB has 10 M records of ten 100-byte columns, set in the source"},
    notes=(
        "Order numbers come from a counter outside the transaction. NewOrder neither reads nor"
        " writes D_NEXT_O_ID.",
        "No NewOrder rolls back. In Heddle 1 % do, as TPC-C asks, and count as commits.",
        "A Delivery is queued, and the thread that owns the warehouse runs it. It counts when run.",
        "OrderStatus and StockLevel are validated as other transactions are; they read no"
        " snapshot. Heddle's do.",
        "The brand-generic comparison of I_DATA and S_DATA is left out.",
        "The protocol is its optimistic one (--dbid=default), without commutative updates. Garbage"
        " collection is on (--gc); it is off by default.",
        "It takes the TSC's frequency from the processor's name, or 1 GHz where that has none."
        " Throughput and run time are corrected by the measured frequency.",
        "Uncertain: a customer's last name is found by one read of a list of customers in some"
        " versions, and by a scan in others.",
        "Uncertain: in a version that was read, StockLevel's scan has its bounds exchanged and may"
        " find nothing.",
        "Uncertain: options are those of commit 590ad12; earlier versions have no --mix.",
    ),
)
