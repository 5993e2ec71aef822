"""Transaction traces: what a workload did, as data.

One row a transaction, with its accesses where they are known, as a Parquet dataset (`schema`).
`writer` and `reader` are the ways in and out, `importers` make traces of logs of the outside world,
`command` is `heddle trace`. The package is a leaf: it imports no other package of the project. It
gathers no names here, so that a command that needs no trace loads none of it.
"""
