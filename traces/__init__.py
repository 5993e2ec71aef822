"""Transaction traces: what a workload did, as data.

This package will hold the trace schema (one row a transaction, with its accesses where known, as a
Parquet dataset), importers from the outside world, statistics, the peak hour with its conflict and
error rates (Wang et al., OSDI 2021, section 7.6), and synthesis. It is a leaf: it imports no other
package of the project. Nothing is implemented yet.
"""
