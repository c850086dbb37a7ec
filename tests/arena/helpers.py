"""Players for tests: quick ones of any strength, and broken ones."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from ramify.arena import PlayerConfig, Turn, register_player
from ramify.games import Game


@register_player
class DiceConfig(PlayerConfig):
    """Plays at random, but takes a win that it sees with probability ``skill``."""

    kind: Literal["test_dice"] = "test_dice"
    skill: float = 0.0
    seconds: float = 0.0  # of sleep at each call
    log: str = ""  # a file that gets a line for every call

    def content(self) -> dict[str, Any]:
        return {"kind": self.kind, "skill": self.skill}

    def open(self, game: Game) -> Dice:
        return Dice(self)


class Dice:
    def __init__(self, config: DiceConfig) -> None:
        self.config = config
        self.batches: list[int] = []

    def choose(self, turns: Sequence[Turn]) -> list[int]:
        self.batches.append(len(turns))
        time.sleep(self.config.seconds)
        if self.config.log:
            with open(self.config.log, "a") as file:  # noqa: PTH123
                file.write(f"{len(turns)}\n")
        return [self.one(turn) for turn in turns]

    def one(self, turn: Turn) -> int:
        rng = np.random.default_rng(turn.seed)
        legal = turn.state.legal_actions(turn.player)
        if rng.random() < self.config.skill and len(turn.state.acting) == 1:
            for action in legal:
                after = turn.state.copy()
                after.apply(action)
                if after.is_over and after.returns[turn.player] > 0:
                    return int(action)
        return int(rng.choice(legal))

    def close(self) -> None:
        pass


@register_player
class BrokenConfig(PlayerConfig):
    """Plays its first legal action, and fails in a way of its own at some ply where ``seed % 3`` is 0."""

    kind: Literal["test_broken"] = "test_broken"
    how: Literal["raise", "illegal", "text", "bool", "few", "change", "open"] = "raise"
    ply: int = 4

    def open(self, game: Game) -> Broken:
        if self.how == "open":
            raise ValueError("this player plays no games")
        return Broken(self)


class Broken:
    def __init__(self, config: BrokenConfig) -> None:
        self.config = config

    def choose(self, turns: Sequence[Turn]) -> list[Any]:
        answers: list[Any] = [int(turn.state.legal_actions(turn.player)[0]) for turn in turns]
        for i, turn in enumerate(turns):
            if turn.ply >= self.config.ply and turn.seed % 3 == 0:
                if self.config.how == "raise":
                    raise RuntimeError("no idea\nat all")
                if self.config.how == "few":
                    return answers[:-1]
                answers[i] = {"illegal": 999, "text": "a1", "bool": True}.get(self.config.how, answers[i])
            if self.config.how == "change":
                turn.state.apply(*(int(turn.state.legal_actions(player)[0]) for player in turn.state.acting))
        return answers

    def close(self) -> None:
        raise RuntimeError("not even that")


def turns_of(game: Game, count: int) -> list[Turn]:
    """Positions of random play, different in depth."""
    rng, turns = np.random.default_rng(3), []
    while len(turns) < count:
        state = game.initial_state(int(rng.integers(1000)))
        for _ in range(int(rng.integers(6))):
            if not state.is_over:
                state.apply(*(int(rng.choice(state.legal_actions(player))) for player in state.acting))
        if not state.is_over:
            turns += [Turn(state, player, int(rng.integers(2**62)), len(turns)) for player in state.acting]
    return turns
