"""Measures the client library in front of a PostgreSQL server."""
