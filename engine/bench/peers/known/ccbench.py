"""Silo of CCBench, by its programs tpcc_silo.exe and ycsb_silo.exe."""

from ..definition import NUMBER, Benchmark, Peer, Requirement

COMMON = ("-thread_num={threads}", "-extime={whole_seconds}", "-clocks_per_us={tsc_mhz:.0f}")
THROUGHPUT = rf"^throughput\[tps\]:\s*{NUMBER}"
# Its programs of different years know different names; -undefok excuses the unknown ones.
YCSB = (
    ("ycsb_max_ope", "max_ope", "{operations}"),
    ("ycsb_rratio", "rratio", "50"),
    ("ycsb_rmw", "rmw", "1"),
    ("ycsb_tuple_num", "tuple_num", "{records}"),
    ("ycsb_zipf_skew", "zipf_skew", "{theta}"),
)


def _tpcc(mix: str, payment: int, each_other: int) -> Benchmark:
    return Benchmark(
        workload="tpcc",
        binary="tpcc",
        words={"mix": {mix: mix}},
        arguments=(
            *COMMON,
            "-tpcc_num_wh={warehouses}",
            f"-tpcc_perc_payment={payment}",
            f"-tpcc_perc_order_status={each_other}",
            f"-tpcc_perc_delivery={each_other}",
            f"-tpcc_perc_stock_level={each_other}",
        ),
        throughput=THROUGHPUT,
    )


PEER = Peer(
    name="ccbench",
    source="https://github.com/thawk105/ccbench",
    benchmarks=(
        _tpcc("full", payment=43, each_other=4),
        _tpcc("new_order_payment", payment=49, each_other=0),
        Benchmark(
            workload="ycsb",
            binary="ycsb_silo|^silo",
            words={"index": {"ordered": "ordered"}},
            arguments=(
                *COMMON,
                *(f"-{name}={value}" for *names, value in YCSB for name in names),
                "-undefok=" + ",".join(name for *names, _ in YCSB for name in names),
            ),
            throughput=THROUGHPUT,
            requires=(
                Requirement(
                    r"FLAGS_(ycsb_)?max_ope:\s+16\b", "shows no YCSB of 16 operations (max_ope)"
                ),
                Requirement(
                    r"\bVAL_SIZE 100\b",
                    "isn't built for records of 100 bytes; configure it with"
                    " -DCCBENCH_VAL_SIZE=100, or -DVAL_SIZE=100 in older versions",
                ),
                Requirement(r"\bMASSTREE_USE 1\b", "isn't built with its index (MASSTREE_USE=1)"),
            ),
        ),
    ),
    lacks={"ycsb hash": "its YCSB has an ordered index or an array"},
    notes=(
        "TPC-C: after an abort it draws a new transaction and doesn't retry the same one. The mix"
        " leans towards transactions that rarely abort.",
        "TPC-C: 1 % of NewOrders name an unknown item and abort, as TPC-C asks. They aren't"
        " counted; Heddle counts them as commits.",
        "OrderStatus and StockLevel are validated as other transactions are. Heddle's read a"
        " snapshot.",
        "YCSB: a transaction may draw a key twice. Inputs are drawn inside the window.",
        "The commits are divided by the seconds that it sleeps, so the figure needs no correction."
        " Its epochs and backoff follow -clocks_per_us, which is set to the measured TSC"
        " frequency. A run takes whole seconds.",
        "Backoff is a build option (BACK_OFF): on by default in recent versions, off in others.",
        "Uncertain: options are those of versions with the folder cc/silo. YCSB also has the names"
        " of older ones. An older TPC-C program has NewOrder and Payment only, and is refused by"
        " its own options.",
    ),
)
