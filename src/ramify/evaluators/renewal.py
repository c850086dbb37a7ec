"""Measures again how fast the libraries run networks on this CPU."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ramify.networks as networks
from ramify.evaluators.backends import installed
from ramify.evaluators.cpu import SIZES, Choice, Opened
from ramify.evaluators.speeds import speed_table
from ramify.games import make
from ramify.networks.blocks import folded

USUAL: dict[str, Any] = {"game": "hex", "params": {"size": 7}, "config": "6x64"}  # where nothing was measured yet


def measure_again() -> Iterator[str]:
    """Measure every network of the table again, and yield its name when that is done.

    Networks that cannot be made again, such as those of a game that is not registered, are forgotten: they are
    measured when they are next used.
    """
    table = speed_table()
    found = [(entry["recipe"], max(entry["sizes"])) for entry in table.networks.values() if entry["recipe"]]
    table.clear()
    for recipe, largest in found or [(USUAL, SIZES[-1])]:
        try:
            game = make(recipe["game"], **recipe["params"])
            module = folded(networks.make(game, recipe["config"]))
        except Exception:  # a game or a kind of network that is not there any more
            continue
        choice = Choice(module, installed(), table)
        choice.rates(Opened(module), tuple(game.observation_shape), largest)
        yield choice.label(tuple(game.observation_shape))
