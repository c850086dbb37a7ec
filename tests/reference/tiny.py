"""Tiny games for the transcriptions: only what a search asks of a state."""

from __future__ import annotations

from copy import copy
from types import SimpleNamespace
from typing import Any

import numpy as np

from .evaluators import mix, unit


class TinyState:
    """One outcome per legal action, all of ``num_actions`` legal; subclasses say the rest."""

    num_actions = 0
    acting: tuple[int, ...] = ()
    key = 0

    @property
    def game(self) -> Any:
        return SimpleNamespace(num_actions=self.num_actions)

    @property
    def is_over(self) -> bool:
        return not self.acting

    def copy(self) -> Any:
        return copy(self)

    def observation(self, player: int) -> np.ndarray:
        return np.array([player], dtype=np.float32)

    def legal_actions(self, player: int) -> np.ndarray:
        return np.arange(self.num_actions if player in self.acting else 0, dtype=np.int32)

    def outcomes(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        legal = self.legal_actions(player)
        index = np.full(self.num_actions, -1, dtype=np.int32)
        index[legal] = np.arange(len(legal))
        return legal, index


class Harvest(TinyState):
    """Two players on a row of cells take coins at the same time; a coin reached together is halved.

    It has all that makes simultaneous games hard: rewards on the way that do not sum to zero, actions with the same
    effect (a wall is a wait), transpositions, and turns on which one player is busy (the turn after taking a
    coin, unless both are).
    """

    num_actions = 3  # wait, left, right
    coin = 0.25

    def __init__(self, cells: int = 6, coins: int = 0b101101, turns: int = 8) -> None:
        self.cells, self.coins, self.turns = cells, coins, turns
        self.at = (1, cells - 2)
        self.acting = (0, 1)

    @property
    def key(self) -> int:
        return mix(1, *self.at, self.coins, self.turns, sum(1 << p for p in self.acting))

    def target(self, player: int, action: int) -> int:
        return min(max(self.at[player] + (0, -1, 1)[action], 0), self.cells - 1)

    def outcomes(self, player: int) -> tuple[np.ndarray, np.ndarray]:
        if player not in self.acting:
            return super().outcomes(player)
        targets = [self.target(player, action) for action in range(3)]
        first = sorted({targets.index(cell) for cell in targets})
        return np.array(first, dtype=np.int32), np.array([first.index(targets.index(t)) for t in targets])

    def apply(self, *actions: int) -> np.ndarray:
        for player, action in zip(self.acting, actions, strict=True):
            at = list(self.at)
            at[player] = self.target(player, action)
            self.at = (at[0], at[1])
        rewards = np.array([self.coin * (self.coins >> cell & 1) for cell in self.at], dtype=np.float32)
        for cell in self.at:
            self.coins &= ~(1 << cell)
        if self.at[0] == self.at[1]:
            rewards /= 2
        self.turns -= 1
        busy = [p for p in (0, 1) if rewards[p] == self.coin]
        self.acting = (1 - busy[0],) if len(busy) == 1 else (0, 1)
        if not self.turns or not self.coins:
            self.acting = ()
        return rewards


class Ladder(TinyState):
    """Alternate turns (or one player's), every action legal until the last turn, a reward on every edge."""

    num_actions = 3

    def __init__(self, turns: int = 5, players: int = 2, zero_sum: bool = True) -> None:
        self.turns, self.players, self.zero_sum = turns, players, zero_sum
        self.acting = (0,)
        self.key = mix(2, turns)

    def apply(self, action: int) -> np.ndarray:
        self.key = mix(self.key, action)
        self.turns -= 1
        self.acting = ((self.acting[0] + 1) % self.players,) if self.turns else ()
        mine, other = unit(mix(self.key, 0)), unit(mix(self.key, 1))
        return np.array([mine, -mine if self.zero_sum else other], dtype=np.float32)


class Script(TinyState):
    """A game written down as ``{name: (acting, {actions: (rewards, name)})}``; other names are terminal."""

    def __init__(self, book: dict[str, Any], num_actions: int = 2) -> None:
        self.book, self.num_actions, self.at = book, num_actions, "root"

    @property
    def acting(self) -> tuple[int, ...]:
        return self.book[self.at][0] if self.at in self.book else ()

    @property
    def key(self) -> int:
        return mix(*self.at.encode())

    def legal_actions(self, player: int) -> np.ndarray:
        if player not in self.acting:
            return np.zeros(0, dtype=np.int32)
        column = self.acting.index(player)
        return np.array(sorted({actions[column] for actions in self.book[self.at][1]}), dtype=np.int32)

    def apply(self, *actions: int) -> np.ndarray:
        rewards, self.at = self.book[self.at][1][tuple(map(int, actions))]
        return np.array(rewards, dtype=np.float32)


class Historied:
    """Any state, its key made to depend on the whole way to it: nothing transposes any more."""

    def __init__(self, state: Any) -> None:
        self.state, self.key = state, mix(3, state.key)

    @property
    def history_key(self) -> int:
        return self.key

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    def copy(self) -> Historied:
        twin = Historied(self.state.copy())
        twin.key = self.key
        return twin

    def apply(self, *actions: int) -> np.ndarray:
        rewards = self.state.apply(*actions)
        self.key = mix(self.key, *map(int, actions), self.state.key)
        return rewards


class Turnable:
    """A state of native tic-tac-toe that, like Hex, has the rotation by 180 degrees and no other symmetry."""

    def __init__(self, state: Any) -> None:
        self.state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self.state, name)

    @property
    def canonical_key(self) -> int:
        return min(self.state.key, self.state.transform(2).key)

    def transform(self, symmetry: int) -> Turnable:
        return type(self)(self.state.transform((0, 2)[symmetry]))

    def copy(self) -> Turnable:
        return type(self)(self.state.copy())


class Unturned(Turnable):
    """The same without any symmetry: the canonical key is the plain one."""

    @property
    def canonical_key(self) -> int:
        return self.state.key


class AlwaysCanonical(Turnable):
    """As Turnable, but every action ends in canonical orientation: the plain key is the canonical one."""

    def apply(self, *actions: int) -> np.ndarray:
        rewards = self.state.apply(*actions)
        if self.state.key != self.canonical_key:
            self.state = self.state.transform(2)
        return rewards


class RulesModel:
    """A latent model that knows the rules: its latents are states. The end is absorbing: all is 0 there."""

    def __init__(self, state: Any, evaluate: Any, per_player: bool = True) -> None:
        self.state, self.evaluator, self.per_player = state, evaluate, per_player

    def initial(self, observations: np.ndarray) -> tuple[Any, ...]:
        assert len(observations) == 1
        return [self.state], *self.predict(self.state)

    def recurrent(self, latents: list[Any], actions: np.ndarray) -> tuple[Any, ...]:
        state, rewards, mover = latents[0].copy(), np.zeros(2, dtype=np.float32), 0
        if not state.is_over:
            mover = state.acting[0]
            rewards = state.apply(int(actions[0]))
        return [state], (rewards if self.per_player else rewards[mover])[None], *self.predict(state)

    def predict(self, state: Any) -> tuple[np.ndarray, np.ndarray]:
        logits = np.zeros((2, state.game.num_actions), dtype=np.float32)
        values, mover = np.zeros(2, dtype=np.float32), 0
        if not state.is_over:
            (logits, values), mover = self.evaluator(state), state.acting[0]
            logits[mover, np.setdiff1d(np.arange(state.game.num_actions), state.legal_actions(mover))] = -1e9
        pair = (logits, values) if self.per_player else (logits[mover], values[mover])
        return pair[0][None], pair[1][None]
