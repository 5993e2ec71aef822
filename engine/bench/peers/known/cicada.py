"""Cicada, by its benchmark test_tx."""

from ..definition import NUMBER, Benchmark, Peer

PEER = Peer(
    name="cicada",
    source="https://github.com/efficient/cicada-engine",
    benchmarks=(
        Benchmark(
            workload="ycsb",
            words={"index": {"hash": "hash"}},
            arguments=(
                "{records}",
                "{operations}",
                "0.5",
                "{theta}",
                "{transactions}",
                "{threads}",
            ),
            throughput=rf"^throughput: +{NUMBER} M/sec",
            factor=1e6,
        ),
    ),
    lacks={
        "tpcc": "its TPC-C is in another repository",
        "ycsb ordered": "its ordered index is chosen in the source",
    },
    notes=(
        "It has many versions of a record. A look-up in the hash index isn't validated.",
        "A read loads three bytes of a row and copies nothing; a read-modify-write changes three"
        " bytes of a new version.",
        "A transaction that only reads runs on a snapshot. With 16 operations they are rare.",
        "The keys of a transaction differ. Inputs are drawn before the window, and the warm-up runs"
        " the same ones.",
        "A run is 200,000 transactions a thread for each second asked. It ends when the first"
        " thread is done.",
        "It needs 24 GiB of huge pages on two NUMA nodes, and test_tx.json in the binary's folder."
        " That often needs root.",
        "Its clock is the system's and needs no correction.",
        "Uncertain: the record size (MAX_TUPLE_SIZE 100) and the hash index are constants of"
        " test_tx_conf.h. They are those of commit 6c5ac6f; the output doesn't show yours.",
    ),
    in_own_folder=True,
)
