"""PostgreSQL's csvlog, with its statements, as a trace; `log` says how a log is read."""
