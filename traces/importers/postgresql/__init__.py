"""Imports PostgreSQL's log with its statements; `log` defines how it is read."""
