"""The program dbtest of the original Silo, and of engines that are made from it."""

from .definition import Benchmark


def tpcc(db_type: str, throughput: str, *more: str) -> Benchmark:
    """Returns its TPC-C.

    Args:
        db_type: the protocol, as the value of its option of that name.
        throughput: a regular expression that finds the throughput in its output.
        more: further arguments.
    """
    return Benchmark(
        workload="tpcc",
        words={"mix": {"full": "45,43,4,4,4", "new_order_payment": "51,49,0,0,0"}},
        arguments=(
            *("--bench", "tpcc"),
            *("--db-type", db_type),
            *("--scale-factor", "{warehouses}"),
            *("--num-threads", "{threads}"),
            *("--runtime", "{whole_seconds}"),
            "--parallel-loading",
            "--retry-aborted-transactions",
            "--backoff-aborted-transactions",
            *more,
            *("--bench-opts", "--workload-mix {mix}"),
        ),
        throughput=throughput,
    )
