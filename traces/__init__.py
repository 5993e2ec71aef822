"""Transaction traces: recorded or imported workloads as data.

A trace is a Parquet dataset with one row for each transaction (`schema`). `writer` and `reader`
write and read it, `importers` convert logs, and `command` is `heddle trace`. The package imports no
other package of the project. It re-exports nothing, so that commands that need no trace start fast.
"""
