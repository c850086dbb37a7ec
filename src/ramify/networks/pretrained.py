"""Networks shipped with the package, as torch modules."""

from __future__ import annotations

from dataclasses import dataclass

from ramify.base.shipped import ShippedNetwork, best_for, entries, named
from ramify.games import Game
from ramify.games import make as make_game
from ramify.networks.files import load
from ramify.networks.modules import GameNetwork


@dataclass(frozen=True)
class Pretrained(ShippedNetwork):
    """A network shipped with the package: its game, training recipe and rating."""

    def module(self, game: Game | None = None) -> GameNetwork:
        """The torch network, for its own board size or that of the given game."""
        return load(self.file, game if game is not None else make_game(self.game, **self.own_params))


def shipped() -> list[Pretrained]:
    """The shipped networks."""
    return entries(Pretrained)


def find(name: str) -> Pretrained:
    """The shipped network of that name; raises a ValueError with the known names if there is none."""
    return named(name, shipped())


def for_game(game: Game) -> Pretrained | None:
    """The best shipped network for this game, or None. A learned model evaluates positions as well, if nothing else
    does."""
    return best_for(game, shipped())
