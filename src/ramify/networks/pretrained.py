"""Networks shipped with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from typing import Any

from ramify.base.hints import did_you_mean
from ramify.games import Game
from ramify.games import make as make_game
from ramify.networks.files import load
from ramify.networks.modules import GameNetwork


@dataclass(frozen=True)
class Pretrained:
    """A network shipped with the package: its game, training recipe and rating."""

    name: str
    game: str
    sizes: tuple[int, ...]  # of the board, the one it was trained on first; empty if there is only one
    recipe: str
    training: str
    rating: str
    params: dict[str, Any] = field(default_factory=dict)  # of the game, which it needs; the others are free
    learned: bool = False  # a model of the game, searched in place of its rules (MuZero)
    default: bool = True  # whether it plays where no network is named: not if games without one are as good

    @property
    def file(self) -> Path:
        """The path of its weights."""
        return _folder() / f"{self.name}.safetensors"

    def fits(self, game: Game) -> bool:
        """Whether it was made for this game, with these parameters."""
        return (
            self.game == game.name
            and (not self.sizes or game.params.get("size") in self.sizes)
            and not game.params.get("swap")  # no network here has seen the swap action
            and all(game.params.get(name) == value for name, value in self.params.items())
        )

    def module(self, game: Game | None = None) -> GameNetwork:
        """The torch network, for its own board size or that of the given game."""
        own = {**self.params, **({"size": self.sizes[0]} if self.sizes else {})}
        return load(self.file, game if game is not None else make_game(self.game, **own))


def _folder() -> Path:
    return Path(str(resources.files("ramify.networks"))) / "shipped"


def shipped() -> list[Pretrained]:
    """The shipped networks."""
    index: dict[str, Any] = json.loads((_folder() / "index.json").read_text(encoding="utf-8"))
    return [Pretrained(name, **{**facts, "sizes": tuple(facts["sizes"])}) for name, facts in index.items()]


def find(name: str) -> Pretrained:
    """The shipped network of that name; raises a ValueError with the known names if there is none."""
    known = {entry.name: entry for entry in shipped()}
    if name not in known:
        hint = did_you_mean(name, known, "; ") or "."
        raise ValueError(f"unknown pretrained network {name!r}{hint} The networks are {', '.join(known)}")
    return known[name]


def for_game(game: Game) -> Pretrained | None:
    """The best shipped network for this game, or None. A learned model evaluates positions as well, if nothing else
    does."""
    size = game.params.get("size")
    fitting = [entry for entry in shipped() if entry.default and entry.fits(game)]
    fitting.sort(key=lambda entry: (entry.learned, entry.sizes.index(size) if size is not None and entry.sizes else 0))
    return fitting[0] if fitting else None
