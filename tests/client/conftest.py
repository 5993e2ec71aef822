"""A PostgreSQL server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

import engine

INSTALL = "make setup EXTRAS=drivers"


@pytest.fixture(scope="session", name="postgresql")
def started() -> Iterator[str]:
    """The address of a private server, which is started once in a process."""
    try:
        engine.check_protocol("external", {"store": "postgresql"})
    except ValueError as error:
        pytest.skip(str(error))
    from engine.bench.client.server import private_server

    with private_server(durable=False) as address:
        yield address


@pytest.fixture(name="bank")
def created(postgresql: str) -> Iterator[str]:
    """The address of a database on it with four accounts of 1,000, dropped after the test."""
    with database(
        postgresql,
        "CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)",
        "INSERT INTO account SELECT id, 1000 FROM generate_series(0, 3) id",
    ) as address:
        yield address


@contextmanager
def database(server: str, *statements: str) -> Iterator[str]:
    """Yield the address of a new database, in which the statements have run; it is dropped."""
    psycopg = pytest.importorskip("psycopg", reason=f"psycopg is missing: {INSTALL}")
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE bank")
        address = server.replace("/postgres?", "/bank?")
        try:
            with psycopg.connect(address) as created:
                for statement in statements:
                    created.execute(statement)
            yield address
        finally:
            connection.execute("DROP DATABASE bank WITH (FORCE)")
