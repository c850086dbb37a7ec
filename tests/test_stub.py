"""The committed stub is what the core says of itself, and the check would notice a difference."""

from __future__ import annotations

from tools.stub import STUB, difference, generate


def test_the_stub_is_current() -> None:
    assert difference(STUB.read_text(encoding="utf-8"), generate()) == []


def test_a_stale_stub_is_noticed() -> None:
    fresh = generate()
    stale = fresh.replace("def copy(self) -> State:", "def copy(self) -> Game:")
    assert stale != fresh
    assert any(line.startswith("+") and "-> State" in line for line in difference(stale, fresh))


def test_the_stub_knows_the_types_that_matter() -> None:
    text = generate()
    for line in (
        "def apply(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> NDArray[numpy.float32]:",
        "hooks: dict[str, Callable[..., Any]]",
        "from typing import Any, SupportsIndex",
    ):
        assert line in text
