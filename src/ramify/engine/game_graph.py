"""Whole games as graphs: exact equilibria, best responses and CFR, for small games and positions near the end.

The functions are part of ``rf.equilibria``. docs/methods/game-graphs.md derives what they compute.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ramify import _core
from ramify._core import InvalidInput
from ramify.base.seeds import checked_seed
from ramify.engine.states import check_state, future_key
from ramify.games import State

Floats = NDArray[np.float64]
Ints = NDArray[np.int32]

# Probabilities over actions: [num_actions] of the acting player, or a pair of such arrays where both act.
Policy = Any
Strategy = Callable[[State], Policy] | Mapping[int, Policy]  # a mapping is indexed by ``state.key``
Objective = Literal["difference", "returns"]

MAX_POSITIONS = 2_000_000  # some 200 bytes each
_SHOWN = 3  # actions in a repr
_SUM = 1e-4  # by which probabilities may miss 1: policies are float32


class GameGraph:
    """Every position that can follow ``state``, as nodes and edges with rewards.

    The functions of this module build one for a state; give them a graph instead to build it only once. A game that is
    too large raises InvalidInput: more than ``max_positions`` positions, more than ``max_seconds``, or positions that
    can come back.
    """

    def __init__(self, state: State, *, max_positions: int = MAX_POSITIONS, max_seconds: float | None = None) -> None:
        check_state(state)
        if max_positions < 1:
            raise InvalidInput(f"max_positions must be at least 1, not {max_positions}")
        self.state = state.copy()
        self._core = _core.game_graph(self.state, max_positions, _seconds(max_seconds))

    @property
    def positions(self) -> int:
        """Number of positions in which a player chooses."""
        return len(self._core)

    @property
    def edges(self) -> int:
        """Number of pairs of outcomes, over all positions."""
        return self._core.num_edges

    @property
    def zero_sum(self) -> bool:
        """Whether the rewards of every edge sum to zero."""
        return self._core.zero_sum

    def __repr__(self) -> str:
        return f"<GameGraph of {self.state.game.name}: {self.positions} positions, {self.edges} edges>"

    def _repr_html_(self) -> str:
        return f"<div>{self.state.svg()}<p>{escape(repr(self)[1:-1])}</p></div>"


class TabularStrategy:
    """Strategies of both players in every position of a graph. Calling it with a state gives the probabilities."""

    def __init__(self, graph: GameGraph, probabilities: Floats) -> None:
        self.graph, self._probabilities = graph, probabilities
        probabilities.setflags(write=False)

    def __call__(self, state: State) -> Floats | tuple[Floats, Floats]:
        """Probabilities over actions: [num_actions] of the acting player, or a pair where both act."""
        acting = state.acting
        if not acting:
            raise InvalidInput(f"the game is over: nobody acts here\n{state}")
        found = self.outcomes(state)
        spread = [np.zeros(state.game.num_actions) for _ in found]
        for policy, player in zip(spread, (0, 1), strict=True):
            if player in acting:
                policy[state.outcomes(player)[0]] = found[player]
        return (spread[0], spread[1]) if len(acting) == 2 else spread[acting[0]]

    def outcomes(self, state: State) -> tuple[Floats, Floats]:
        """Probabilities over the outcomes of each player; a passive player has one outcome."""
        number = self.graph._core.find(future_key(state))
        if number < 0:
            raise InvalidInput(f"this position does not follow the one that was solved\n{state}")
        first, own, other, _, _ = self.graph._core.position(number)
        middle = first + len(own)
        return self._probabilities[first:middle], self._probabilities[middle : middle + len(other)]


@dataclass(frozen=True)
class GameSolution:
    """An equilibrium of a whole game. Arrays are indexed by outcome."""

    value: Floats  # [2], rewards to come of each player
    payoffs: Floats  # [2, n0, n1], reward and value of the next position, of each player
    x: Floats  # [n0], the first player's probabilities in the root position
    y: Floats  # [n1], the second's
    actions: tuple[Ints, Ints]  # outcome -> action; -1 for a passive player
    zero_sum: bool  # False: the players were taken to maximise the difference of returns
    strategy: TabularStrategy  # in all positions

    @property
    def difference(self) -> float:
        """Returns to come of player 0 minus those of player 1: the same in every equilibrium."""
        return float(self.value[0] - self.value[1])

    def __repr__(self) -> str:
        return f"<GameSolution of {_summary(self.strategy, self.value)}>"

    def _repr_html_(self) -> str:
        """The payoffs of player 0 in the root position, with both players' probabilities at the edges."""
        state = self.strategy.graph.state
        names = [
            [escape(state.action_name(int(action), player)) if action >= 0 else "" for action in self.actions[player]]
            for player in (0, 1)
        ]
        columns = zip(names[1], self.y, strict=True)
        head = "".join(f"<th>{name}<br>{share:.1%}</th>" for name, share in columns)
        rows = "".join(
            f"<tr><th>{name} {share:.1%}</th>{''.join(f'<td>{payoff:+.3f}</td>' for payoff in payoffs)}</tr>"
            for name, share, payoffs in zip(names[0], self.x, self.payoffs[0], strict=True)
        )
        values = ", ".join(f"{one:+.4g}" for one in self.value)
        return f"<div>{state.svg()}<p>values {values}</p><table><tr><th></th>{head}</tr>{rows}</table></div>"


@dataclass(frozen=True)
class BestResponse:
    """The best that a player can do against a fixed strategy of the other."""

    player: int
    value: float  # what the player gets
    strategy: TabularStrategy  # the response, and the strategy that it responds to

    def __repr__(self) -> str:
        return (
            f"<BestResponse of player {self.player} in {self.strategy.graph.state.game.name}: value {self.value:.6g}>"
        )


@dataclass(frozen=True)
class MccfrResult:
    """Average strategies of Monte-Carlo CFR."""

    value: Floats  # [2], rewards to come of each player, if both play these strategies
    nash_conv: float  # exact; in zero-sum games a bound on the error of ``value``
    strategy: TabularStrategy
    iterations: int

    def __repr__(self) -> str:
        return f"<MccfrResult of {_summary(self.strategy, self.value)}, NashConv {self.nash_conv:.3g}>"


def _summary(strategy: TabularStrategy, value: Floats) -> str:
    """One line: the game, its size, what each player gets, and what the players choose first."""
    graph = strategy.graph
    values = ", ".join(f"{one:.6g}" for one in value)
    chosen = [
        f"player {player}: {_mixture(graph.state, player, policy)}"
        for player, policy in zip((0, 1), strategy.outcomes(graph.state), strict=True)
        if player in graph.state.acting
    ]
    return f"{graph.state.game.name}: {graph.positions} positions, value ({values}), {', '.join(chosen)}"


def _mixture(state: State, player: int, policy: Floats) -> str:
    """The most probable actions with their probabilities."""
    actions = state.outcomes(player)[0]
    order = [place for place in np.argsort(-policy, kind="stable")[:_SHOWN] if policy[place] > 0]
    named = [f"{state.action_name(int(actions[place]), player)} ({100 * policy[place]:.3g} %)" for place in order]
    return " ".join(named) + (" …" if np.count_nonzero(policy) > len(order) else "")


def solve_game(
    game: State | GameGraph, *, max_positions: int = MAX_POSITIONS, max_seconds: float | None = None
) -> GameSolution:
    """Solve a game from a state to its end by backward induction, with an exact matrix solution in every position.

    In a game that is not zero-sum each player is taken to maximise the difference of returns, its own minus the
    other's, which makes it zero-sum; ``value`` and ``payoffs`` are still each player's own rewards. The strategies are
    one equilibrium; ``solve(solution.payoffs[0] - solution.payoffs[1], all=True)`` lists those of the root.

    >>> import ramify as rf
    >>> solve_game(rf.make("tictactoe").initial_state()).value.tolist()
    [0.0, 0.0]
    """
    started = time.perf_counter()
    graph = _graph(game, max_positions, max_seconds)
    halves, probabilities = graph._core.solve(_left(max_seconds, started))
    strategy = TabularStrategy(graph, probabilities)
    values = np.stack([halves, -halves], axis=1) if graph.zero_sum else graph._core.evaluate(probabilities)
    _, own, other, children, rewards = graph._core.position(0)
    later = np.where((children >= 0)[..., None], values[children], 0.0)
    payoffs = np.ascontiguousarray(np.moveaxis(rewards.astype(np.float64) + later, -1, 0))
    x, y = strategy.outcomes(graph.state)
    value = values[0] + 0.0  # no negative zeros
    for array in (value, payoffs):
        array.setflags(write=False)
    return GameSolution(value, payoffs, x, y, (own, other), graph.zero_sum, strategy)


def best_response(
    game: State | GameGraph,
    strategy: Strategy,
    player: int,
    *,
    objective: Objective = "difference",
    max_positions: int = MAX_POSITIONS,
    max_seconds: float | None = None,
) -> BestResponse:
    """The best response of ``player`` to the other player's strategy, exactly, on the whole game from a state.

    ``strategy`` is a function of a state, or a mapping by ``state.key``, to probabilities over actions: [num_actions]
    of the acting player, or a pair where both act (the responder's may be None). It is asked only where the other
    player's strategy can lead.

    The ``objective`` "difference" is half the difference of returns, which in a zero-sum game is the player's return;
    "returns" is the player's own return in any game.
    """
    if player not in (0, 1):
        raise InvalidInput(f"player must be 0 or 1, not {player!r}")
    graph = _graph(game, max_positions, max_seconds)
    probabilities = _tabulate(graph, strategy, (player,))
    values, response = graph._core.best_response(probabilities, player, _own(objective))
    return BestResponse(player, float(values[0]), TabularStrategy(graph, response))


def game_nash_conv(
    game: State | GameGraph,
    strategy: Strategy,
    *,
    objective: Objective = "difference",
    max_positions: int = MAX_POSITIONS,
    max_seconds: float | None = None,
) -> float:
    """NashConv on the whole game: see ``rf.equilibria.nash_conv``."""
    graph = _graph(game, max_positions, max_seconds)
    return _nash_conv(graph, _tabulate(graph, strategy, (0, 1)), objective)


def strategy_value(
    game: State | GameGraph,
    strategy: Strategy,
    *,
    max_positions: int = MAX_POSITIONS,
    max_seconds: float | None = None,
) -> Floats:
    """The rewards to come of each player, [2], if both play this strategy (given as to ``best_response``)."""
    graph = _graph(game, max_positions, max_seconds)
    return np.asarray(graph._core.evaluate(_tabulate(graph, strategy, ()))[0])


def mccfr(
    game: State | GameGraph,
    iterations: int = 1000,
    seed: int = 0,
    *,
    max_positions: int = MAX_POSITIONS,
    max_seconds: float | None = None,
) -> MccfrResult:
    """Approximate an equilibrium by external-sampling Monte-Carlo CFR; deterministic by ``seed``.

    A method independent of ``solve_game``, to check it and searches. A game that is not zero-sum is played for the
    difference of returns, as in ``solve_game``.
    """
    if iterations < 1:
        raise InvalidInput(f"iterations must be at least 1, not {iterations}")
    started = time.perf_counter()
    graph = _graph(game, max_positions, max_seconds)
    probabilities = graph._core.mccfr(iterations, checked_seed(seed), _left(max_seconds, started))
    value = graph._core.evaluate(probabilities)[0]
    gap = _nash_conv(graph, probabilities, "difference")
    return MccfrResult(value, gap, TabularStrategy(graph, probabilities), iterations)


def _graph(game: State | GameGraph, max_positions: int, max_seconds: float | None) -> GameGraph:
    if isinstance(game, GameGraph):
        return game
    return GameGraph(game, max_positions=max_positions, max_seconds=max_seconds)


def _seconds(given: float | None) -> float:
    if given is not None and not given > 0:
        raise InvalidInput(f"max_seconds must be more than 0, or None, not {given}")
    return 0.0 if given is None else float(given)


def _left(max_seconds: float | None, started: float) -> float:
    """The time left of a limit; 0: no limit."""
    return 0.0 if max_seconds is None else max(max_seconds - (time.perf_counter() - started), 1e-9)


def _own(objective: str) -> bool:
    if objective not in ("difference", "returns"):
        raise InvalidInput(f"objective must be 'difference' or 'returns', not {objective!r}")
    return objective == "returns"


def _nash_conv(graph: GameGraph, probabilities: Floats, objective: Objective) -> float:
    own = _own(objective)
    values = graph._core.evaluate(probabilities)[0]
    now = values if own else (0.5 * (values[0] - values[1]), 0.5 * (values[1] - values[0]))
    gains = [graph._core.best_response(probabilities, player, own)[0][0] - now[player] for player in (0, 1)]
    return float(sum(max(gain, 0.0) for gain in gains))


def _tabulate(graph: GameGraph, strategy: Strategy, responders: Sequence[int]) -> Floats:
    """Probabilities by choice, asked of ``strategy`` wherever it matters for these responders, and uniform elsewhere.

    A position matters for a responder if it can be reached by any actions of the responder and actions that the other
    player plays; without responders, if both play there.
    """
    if isinstance(strategy, TabularStrategy) and strategy.graph is graph:
        return strategy._probabilities
    core, table = graph._core, graph._core.uniform()
    kinds = responders or (None,)
    matters: dict[int, tuple[State, set[int | None]]] = {0: (graph.state, set(kinds))}
    for number in core.order[::-1].tolist():  # every position before its children
        if number not in matters:
            continue
        state, wanted = matters.pop(number)
        first, own, other, children, _ = core.position(number)
        wanted_of = [player for player in state.acting if wanted != {player}]
        x, y = table[first : first + len(own)], table[first + len(own) : first + len(own) + len(other)]
        asked = _ask(strategy, state, wanted_of)
        for player, probabilities in asked.items():
            (x, y)[player][:] = probabilities
        for (i, j), child in np.ndenumerate(children):
            reached = {kind for kind in wanted if (kind == 0 or x[i] > 0) and (kind == 1 or y[j] > 0)}
            if child < 0 or not reached:
                continue
            if child not in matters:
                joint = [int(actions[k]) for actions, k in ((own, i), (other, j)) if actions[k] >= 0]
                matters[int(child)] = (state.after(*joint), set())
            matters[int(child)][1].update(reached)
    return table


def strategy_policy(strategy: Strategy, state: State, player: int) -> Floats:
    """The strategy's probabilities over actions of a player who acts in this state, checked."""
    return _policies(strategy, state, (player,))[player]


def _ask(strategy: Strategy, state: State, players: Sequence[int]) -> dict[int, Floats]:
    """The strategy's probabilities over outcomes of these players, who act in this state."""
    return {player: by_outcome(state, player, policy) for player, policy in _policies(strategy, state, players).items()}


def by_outcome(state: State, player: int, policy: Floats) -> Floats:
    """Probabilities over the outcomes of a player, from those over its actions."""
    actions, index = state.outcomes(player)
    found = np.bincount(index[index >= 0], weights=policy[index >= 0], minlength=len(actions))
    return found.astype(np.float64, copy=False)


def _policies(strategy: Strategy, state: State, players: Sequence[int]) -> dict[int, Floats]:
    if not players:
        return {}
    given = _lookup(strategy, state) if isinstance(strategy, Mapping) else strategy(state)
    both = len(state.acting) == 2
    if both and (np.isscalar(given) or given is None or len(given) != 2):
        raise InvalidInput(f"a strategy must give a pair of arrays of probabilities where both players act\n{state}")
    pair = both or (isinstance(given, tuple) and len(given) == 2 and not np.isscalar(given[0]))
    return {player: _checked(given[player] if pair else given, state, player) for player in players}


def _lookup(strategy: Mapping[int, Policy], state: State) -> Policy:
    try:
        return strategy[state.key]
    except KeyError:
        raise InvalidInput(f"the strategy has no entry for the key {state.key} of this position\n{state}") from None


def _checked(policy: Any, state: State, player: int) -> Floats:
    """Probabilities over actions that sum to 1 exactly."""
    where = f"of player {player} in this position\n{state}"
    try:
        array = np.asarray(policy, np.float64)
    except (TypeError, ValueError):
        raise InvalidInput(f"a strategy must give probabilities over actions, not {policy!r}, {where}") from None
    if array.shape != (state.game.num_actions,):
        wanted = state.game.num_actions
        raise InvalidInput(f"a strategy must give {wanted} probabilities, not shape {list(array.shape)}, {where}")
    if not (array >= 0).all() or not abs(array.sum() - 1) <= _SUM or array[~state.legal_mask(player)].any():
        raise InvalidInput(
            f"a strategy must give probabilities of legal actions that sum to 1, not {array.tolist()}, {where}"
        )
    return np.asarray(array / array.sum())
