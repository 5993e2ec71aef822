"""Other engines whose benchmarks `side_by_side.py` runs: one module of `known` for each."""
