"""Traces for the engine to replay: a part of a trace as a file that it maps and follows.

`part` says which transactions, `inputs` reads them, `numbering` numbers what they are about,
`program` is the file, `make` writes it, `prepared` keeps what was made, `likeness` says how much
alike the trace and its replay are.
"""
