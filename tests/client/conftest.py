"""A PostgreSQL server for the tests of this folder."""

from __future__ import annotations

from collections.abc import Iterator

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
    psycopg = pytest.importorskip("psycopg", reason=f"psycopg is missing: {INSTALL}")
    with psycopg.connect(postgresql, autocommit=True) as connection:
        connection.execute("CREATE DATABASE bank")
        address = postgresql.replace("/postgres?", "/bank?")
        try:
            with psycopg.connect(address) as bank:
                bank.execute("CREATE TABLE account (id int PRIMARY KEY, balance int NOT NULL)")
                bank.execute("INSERT INTO account SELECT id, 1000 FROM generate_series(0, 3) id")
            yield address
        finally:
            connection.execute("DROP DATABASE bank WITH (FORCE)")
