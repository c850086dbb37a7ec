"""Places for stores: a file, and a database of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.store.server import Server, running_server, why_not


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server for all tests of this process; they are skipped where there is none."""
    if reason := why_not():
        pytest.skip(f"needs a PostgreSQL server: {reason}")
    with running_server() as server:
        yield server


@pytest.fixture(params=["sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a new store can be: the path of a file, or the URL of an empty schema."""
    if request.param == "sqlite":
        return str(tmp_path / "x.db")
    server: Server = request.getfixturevalue("postgres")
    return server.new_place()
