"""The UCI engine inside this process, for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest


@pytest.fixture
def session() -> Iterator[object]:
    from tests.protocols.uci_session import Session

    made = Session(network="material")
    yield made
    made.engine.close()
