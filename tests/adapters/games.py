"""Games that adapters are tried with: every native one, and one of each other kind."""

from __future__ import annotations

from typing import Any

import ramify as rf
from ramify import _core
from tests import chance_games
from tests.games.small_games import Duel, Pile

# PettingZoo's and Gymnasium's tests warn of what is right here: bounds of observations that no game declares, masks
# without legal actions for agents who do not act, an empty board that is all zeros.
EXPECTED_WARNINGS = [
    "ignore:.*infinity.*",
    "ignore:.*A Box observation space m.*imum value is.*",
    "ignore:.*all zeros.*",
    "ignore:.*probably should be gymnasium.spaces.*",
    "ignore:.*Observation is not a NumPy array",
    "ignore:.*more than 3 dimensions",
    "ignore:.*is a single number",
    "ignore:.*shape of a graphical observation.*",
    "ignore:.*does not have a spec.*",
    "ignore:.*not having a spec.*",
    "ignore:.*observation space.*recognized as an image.*",
    "ignore:.*agents are terminated or truncated",
]

SMALL = {"pyrat": {"preset": "tiny"}}  # whole games of these take longer than tests should

OTHERS = {
    "python": Pile,
    "simultaneous": Duel,
    "chance": chance_games.Pig,
    "chance at the start": chance_games.Race,
    "simultaneous chance": chance_games.Bluff,
}


def native(name: str) -> Any:
    return rf.make(name, **SMALL.get(name, {}))


def everything() -> dict[str, Any]:
    """{name: function that makes a game}"""
    games: dict[str, Any] = {name: (lambda name=name: native(name)) for name in _core.game_names()}
    return games | OTHERS
