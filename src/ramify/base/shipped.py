"""The networks shipped with the package: which there are and what they are for, known without torch."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TypeVar

from ramify.base.hints import did_you_mean


class NamedGame(Protocol):
    """What has to be known of a game."""

    @property
    def name(self) -> str: ...

    @property
    def params(self) -> Mapping[str, Any]: ...


@dataclass(frozen=True)
class ShippedNetwork:
    """A network shipped with the package: its game, training recipe and rating."""

    name: str
    game: str
    sizes: tuple[int, ...]  # of the board, the one it was trained on first; empty if there is only one
    recipe: str
    training: str
    rating: str
    params: dict[str, Any] = field(default_factory=dict)  # of the game, which it needs; the others are free
    learned: bool = False  # a model of the game, searched in place of its rules (MuZero)
    search: dict[str, Any] = field(default_factory=dict)  # settings it was trained with, where MuZero's do not suit it
    default: bool = True  # whether it plays where no network is named: not if games without one are as good

    @property
    def file(self) -> Path:
        """The path of its weights."""
        return _folder() / f"{self.name}.safetensors"

    @property
    def own_params(self) -> dict[str, Any]:
        """The parameters of the game that it was trained on."""
        return {**self.params, **({"size": self.sizes[0]} if self.sizes else {})}

    def fits(self, game: NamedGame) -> bool:
        """Whether it was made for this game, with these parameters."""
        return (
            self.game == game.name
            and (not self.sizes or game.params.get("size") in self.sizes)
            and not game.params.get("swap")  # no network here has seen the swap action
            and all(game.params.get(name) == value for name, value in self.params.items())
        )


Entry = TypeVar("Entry", bound=ShippedNetwork)


def _folder() -> Path:
    return Path(__file__).resolve().parent.parent / "networks" / "shipped"


def entries(kind: Callable[..., Entry]) -> list[Entry]:
    """The shipped networks."""
    index: dict[str, Any] = json.loads((_folder() / "index.json").read_text(encoding="utf-8"))
    return [kind(name, **{**facts, "sizes": tuple(facts["sizes"])}) for name, facts in index.items()]


def named(name: str, known: list[Entry]) -> Entry:
    """The shipped network of that name; raises a ValueError with the known names if there is none."""
    by_name = {entry.name: entry for entry in known}
    if name not in by_name:
        hint = did_you_mean(name, by_name, "; ") or "."
        raise ValueError(f"unknown pretrained network {name!r}{hint} The networks are {', '.join(by_name)}")
    return by_name[name]


def best_for(game: NamedGame, known: list[Entry]) -> Entry | None:
    """The best shipped network for this game, or None. A learned model evaluates positions as well, if nothing else
    does."""
    size = game.params.get("size")
    fitting = [entry for entry in known if entry.default and entry.fits(game)]
    fitting.sort(key=lambda entry: (entry.learned, entry.sizes.index(size) if size is not None and entry.sizes else 0))
    return fitting[0] if fitting else None


def shipped_networks() -> list[ShippedNetwork]:
    """The shipped networks."""
    return entries(ShippedNetwork)


def shipped_for(game: NamedGame) -> ShippedNetwork | None:
    """The best shipped network for this game, or None."""
    return best_for(game, shipped_networks())
