"""``pgx:NAME``: the board games of pgx, which are functions of JAX.

They have no parameters. Player 0 is the one who begins. Observations are pgx's, as planes; actions are named by their
numbers. A game that is played asks JAX for one position after the other; where a search comes back to a position, all
its children are computed at once, in one batch. JAX compiles a game when its first action is played: seconds to half a
minute, depending on the game.

Equal keys promise equal futures; that of a position is the key of its history, under which no two paths meet.
"""

from __future__ import annotations

import reprlib
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify._core import IllegalAction, InvalidInput
from ramify.base.hints import did_you_mean
from ramify.games.python_game import PythonGame, refuse_parts, refuse_unknown
from ramify.games.python_state import PythonState
from ramify.games.simulators import planes_first, planes_shape
from ramify.games.stable import stable_key

LOTS = "it draws chance events within a turn, which a search would foresee"
HIDDEN = "its information is imperfect: players do not see the whole state"
UNFIT = {
    "2048": LOTS,
    "backgammon": f"{LOTS}; openspiel:backgammon can be played",
    "bridge_bidding": HIDDEN,
    "kuhn_poker": HIDDEN,
    "leduc_holdem": HIDDEN,
    "sparrow_mahjong": HIDDEN,
}
MOST_CHILDREN = 512  # of a batch; games with more actions are asked for one child after the other


def _pgx() -> Any:
    try:
        import jax  # noqa: F401
        import pgx
    except ImportError as error:
        raise ImportError("pgx games need pgx and JAX: pip install 'ramify[pgx]'") from error
    return pgx


@dataclass(eq=False, slots=True)
class Position:
    """A state of pgx, which is never changed, and how it came about. What is computed later is kept."""

    state: Any
    turns: tuple[int, ...]
    path: int  # key of the history
    visited: bool = False  # whether a child was asked for
    children: Any = None  # the states of all of them, as one state with a dimension more
    shown: dict[int, NDArray[np.float32]] = field(default_factory=dict)  # by player


class PgxGame(PythonGame):
    """A game of pgx. Make one with ``ramify.make("pgx:NAME")``."""

    zero_sum, returns_range = True, (-1.0, 1.0)

    def __init__(self, task: str) -> None:
        pgx = _pgx()
        _refuse_unfit(pgx, task)
        import jax

        self._task, self._rules = task, pgx.make(task)
        self.name, self.params = f"pgx:{task}", {}
        self.num_actions = int(self._rules.num_actions)
        self.observation_shape = planes_shape(tuple(int(side) for side in self._rules.observation_shape))
        self._one = jax.jit(self._rules.step)
        self._all = jax.jit(jax.vmap(self._rules.step, in_axes=(None, 0)))
        self._observe = jax.jit(self._seen_by)
        self._get, self._map = jax.device_get, jax.tree_util.tree_map
        self._first = jax.device_get(jax.jit(self._rules.init)(jax.random.PRNGKey(0)))
        self._begins = int(self._first.current_player)  # pgx draws who begins

    def _seen_by(self, state: Any, viewer: Any) -> Any:
        with warnings.catch_warnings():  # pgx would drop this argument, and has no other way to ask for it
            warnings.simplefilter("ignore", DeprecationWarning)
            return self._rules.observe(state, viewer)

    def start(self, rng: np.random.Generator) -> Position:
        del rng  # who begins is all that is random
        return Position(self._first, (), stable_key(0, self._identity))

    def acting(self, position: Position) -> Sequence[int]:
        return () if bool(position.state.terminated) else (int(position.state.current_player) ^ self._begins,)

    def legal_actions(self, position: Position, player: int) -> list[int]:
        del player
        legal: list[int] = np.flatnonzero(position.state.legal_action_mask).tolist()
        return legal

    def apply(self, position: Position, action: int) -> tuple[Position, tuple[float, float]]:
        state = self._child(position, action)
        rewards = [float(reward) for reward in state.rewards]
        turns = (*position.turns, action)
        after = Position(state, turns, stable_key((position.path, action)))
        return after, (rewards[self._begins], rewards[1 - self._begins])

    def _child(self, position: Position, action: int) -> Any:
        """The state after an action: alone the first time, with its siblings the second time."""
        if position.children is None and (not position.visited or self.num_actions > MOST_CHILDREN):
            position.visited = True
            return self._get(self._one(position.state, action))
        if position.children is None:
            position.children = self._get(self._all(position.state, np.arange(self.num_actions)))
        return self._map(lambda leaves: leaves[action], position.children)

    def observation(self, position: Position, player: int) -> NDArray[np.float32]:
        if player not in position.shown:
            state, viewer = position.state, player ^ self._begins
            seen = state.observation if viewer == int(state.current_player) else self._observe(state, viewer)
            position.shown[player] = planes_first(np.asarray(seen))
        return position.shown[player]

    def key(self, position: Position) -> int:
        return position.path

    def text(self, position: Position) -> str:
        moves = " ".join(map(str, position.turns[-12:]))
        return f"{len(position.turns)} actions{', the last of them ' if moves else ''}{moves}"

    def state(self, actions: Any = (), **unknown: Any) -> PythonState:  # type: ignore[override]
        """The state after these actions from the initial state, as in `state.fields`."""
        refuse_parts(self.name, ["actions"], unknown)
        if not isinstance(actions, list | tuple):
            raise InvalidInput(f"{self.name}: actions must be a list, not {reprlib.repr(actions)}")
        state = PythonState(self, self.start(np.random.default_rng(0)))
        for number, action in enumerate(actions, 1):
            try:
                state.apply(action)
            except IllegalAction as error:
                raise InvalidInput(f"{self.name}: action {number} cannot be played: {error}") from error
        return state

    def _fields(self, state: PythonState) -> dict[str, Any]:
        return {"actions": list(state.position.turns)}

    def __reduce__(self) -> tuple[Any, ...]:
        return load, (self._task, {})


def load(task: str, params: dict[str, Any]) -> PgxGame:
    """The game ``pgx:NAME``."""
    refuse_unknown(f"game 'pgx:{task}'", [], params)
    return PgxGame(task)


def _refuse_unfit(pgx: Any, task: str) -> None:
    known = sorted({*pgx.available_envs(), *UNFIT})
    if task not in known:
        raise InvalidInput(
            f"pgx has no game '{task}'; {did_you_mean(task, known, after=' ')}there are {', '.join(known)}"
        )
    reason = LOTS if task.startswith("minatar") else UNFIT.get(task)
    if reason:
        raise InvalidInput(f"pgx:{task} cannot be played here: {reason}")
