"""Replay programs: parts of traces as files that the engine maps and executes.

`part` selects transactions, `inputs` reads them, `numbering` assigns dense numbers, `program`
defines the file, `make` writes it, `prepared` caches it, and `likeness` compares the trace with its
replay.
"""
