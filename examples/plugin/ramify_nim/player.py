"""A perfect player of Nim."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import xor
from typing import Literal

from ramify.arena import Player, PlayerConfig, Turn
from ramify.games import Game


class PerfectConfig(PlayerConfig):
    """Leaves heaps whose sizes have no binary digit left over, where it can; else takes one object."""

    kind: Literal["nim-perfect"] = "nim-perfect"

    def open(self, game: Game) -> Player:
        if game.name != "nim":
            raise ValueError(f"nim-perfect plays nim, not {game.name}")
        return Perfect()


class Perfect:
    def choose(self, turns: Sequence[Turn]) -> list[int]:
        return [self._best(turn) for turn in turns]

    def _best(self, turn: Turn) -> int:
        actions = turn.state.legal_actions(turn.player).tolist()
        for action in actions:
            heaps, _ = turn.state.after(action).position  # type: ignore[attr-defined]
            if reduce(xor, heaps) == 0:
                return int(action)
        return int(actions[0])

    def close(self) -> None:
        pass
