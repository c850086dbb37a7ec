"""Networks that come with the package."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any, overload

from ramify.games import Game
from ramify.games import make as make_game
from ramify.games.hints import did_you_mean
from ramify.networks.evaluator import Network
from ramify.networks.files import load
from ramify.networks.modules import GameNetwork


@dataclass(frozen=True)
class Pretrained:
    """A network that comes with the package: what it plays, how it was made, and how well it does."""

    name: str
    game: str
    sizes: tuple[int, ...]  # of the board, the one it was trained on first
    recipe: str
    training: str
    rating: str

    @property
    def file(self) -> Path:
        """Where its weights are."""
        return _folder() / f"{self.name}.safetensors"

    def module(self, game: Game | None = None) -> GameNetwork:
        """The torch network, for its own size of the board or the given game's."""
        return load(self.file, game if game is not None else make_game(self.game, size=self.sizes[0]))


def _folder() -> Path:
    return Path(str(resources.files("ramify.networks"))) / "shipped"


def shipped() -> list[Pretrained]:
    """The networks that come with the package."""
    index: dict[str, Any] = json.loads((_folder() / "index.json").read_text(encoding="utf-8"))
    return [Pretrained(name, **{**facts, "sizes": tuple(facts["sizes"])}) for name, facts in index.items()]


def find(name: str) -> Pretrained:
    """The one of that name; a ValueError names those there are."""
    known = {entry.name: entry for entry in shipped()}
    if name not in known:
        hint = did_you_mean(name, known, "; ") or "."
        raise ValueError(f"there is no pretrained network {name!r}{hint} There are {', '.join(known)}")
    return known[name]


def for_game(game: Game) -> Pretrained | None:
    """The network that plays this game best, if one comes with the package."""
    plain = game.params.get("swap") in (None, False)  # no network here has seen the swap action
    fitting = [entry for entry in shipped() if entry.game == game.name and game.params.get("size") in entry.sizes]
    fitting.sort(key=lambda entry: entry.sizes.index(game.params["size"]))
    return fitting[0] if fitting and plain else None


@overload
def pretrained(name: None = None, device: str | None = None, **settings: Any) -> list[Pretrained]: ...
@overload
def pretrained(name: str, device: str | None = None, **settings: Any) -> Network: ...
def pretrained(name: str | None = None, device: str | None = None, **settings: Any) -> Network | list[Pretrained]:
    """The evaluator of a network that comes with the package; without a name, a list of them.

    It plays every size of the board that its game has, best those it was trained on. ``device`` and settings are those
    of ``rf.evaluators.Network``.
    """
    if name is None:
        return shipped()
    return Network(find(name).module(), device, **settings)
