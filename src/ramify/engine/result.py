"""Results of a search."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ramify._core import IllegalAction
from ramify.base.deprecation import warn_renamed
from ramify.base.seeds import checked_seed
from ramify.engine import equilibria, policies, result_text
from ramify.engine.config import SearchConfig
from ramify.engine.policies import DEFAULT_NASH, Method, NashConfig
from ramify.engine.seen import BeyondRules, followed
from ramify.games import State
from ramify.games.protocol import ActionLike

if TYPE_CHECKING:
    from ramify.engine import result_html

Report = Mapping[str, Any]
Path = list[tuple[int, int]]
ActionOrPair = int | tuple[int, int]  # a pair where both players act
Step = ActionLike | tuple[ActionLike, ...]  # of a path: an action by number or name, or a pair of them
Counts = NDArray[np.int64]
Floats = NDArray[np.float32]


T = TypeVar("T", bound=np.generic)

NO_GRAPH = (
    "this result has no search graph: a pickled or copied result holds only the statistics of the root; call this on "
    "the result that the searcher returned"
)


@dataclass(frozen=True)
class Proof:
    """Bounds proven by the solver for the root: lower and upper bounds of the reward still to come."""

    bounds: NDArray[np.float32]  # [2, players]
    stakes: NDArray[np.float32]  # [2, players]: bounds that follow from the rules alone
    edges: NDArray[np.float32]  # [2, players, n0, n1]
    plies: NDArray[np.int64]  # [n0, n1]: plies to the end of the game from a proven edge on; -1 where not proven

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(_all_frozen(state))


def _frozen(array: NDArray[Any]) -> NDArray[Any]:
    array.setflags(write=False)
    return array


def _all_frozen(value: Any) -> Any:
    """Make every array in ``value`` read-only; returns ``value``."""
    if isinstance(value, np.ndarray):
        _frozen(value)
    elif isinstance(value, tuple | list):
        for item in value:
            _all_frozen(item)
    elif isinstance(value, dict):
        _all_frozen(list(value.values()))
    return value


@dataclass(frozen=True)
class _Kept:
    """A stored value with the interface of a query to the graph."""

    found: Any

    def __call__(self) -> Any:
        return self.found


@dataclass(frozen=True)
class SearchResult:
    """Result of a search: the statistics of its root.

    ``visit_counts``, ``q_values`` and ``prior`` are arrays over all actions of the acting player; where both act, they
    and ``best_action`` are pairs. The fields are indexed by outcome, for both players; a passive player has one.
    """

    visits: NDArray[np.int64]  # [n0, n1], edge visits
    outcomes: tuple[NDArray[np.int32], NDArray[np.int32]]  # outcome -> action; -1 for a passive player
    priors: tuple[NDArray[np.float32], NDArray[np.float32]]  # as used by the search, including root noise
    q: tuple[NDArray[np.float32], NDArray[np.float32]]  # each player's value of its outcomes (fpu where unvisited)
    payoffs: NDArray[np.float32]  # [2, n0, n1]: reward + discount * child value; nan where unvisited
    value: NDArray[np.float32]  # [2]
    evaluation: NDArray[np.float32]  # [2], the evaluator's value of the root
    acting: tuple[int, ...]
    num_actions: int
    principal_variation: list[ActionOrPair]
    stats: dict[str, Any]
    proven: NDArray[np.float32] | None = None  # [2], proven returns of the game, rewards so far included
    proof: Proof | None = None  # with solver=True: bounds of the root and its edges
    average: tuple[NDArray[np.float32], NDArray[np.float32]] | None = None  # strategies of regret and exp3, per outcome
    gumbel: tuple[Any, Any] | None = None  # per player: noise of Gumbel search and visits before it, per outcome
    winners: tuple[int, int] | None = None  # outcome that won sequential halving in Gumbel search, per player
    scores: tuple[Any, Any] = field(default=((), ()), repr=False)  # selection scores of the outcomes at the end
    config: SearchConfig | None = field(default=None, repr=False)
    _state: State | None = field(default=None, repr=False)
    _look: Callable[[Path], Report] | None = field(default=None, repr=False)
    _squares: Callable[[], NDArray[np.float64]] | None = field(default=None, repr=False)

    @classmethod
    def from_report(cls, report: Report, *, num_actions: int, **rest: Any) -> SearchResult:
        """Build a result from the core's report on a node."""
        proof = proven = None
        if "bounds" in report:
            proof = Proof(*(_frozen(report[name]) for name in ("bounds", "stakes", "edge_bounds", "plies")))
            state: State | None = rest.get("_state")
            if report["proven"]:
                paid = state.returns if state is not None else np.zeros(2, np.float32)
                proven = _frozen(np.asarray(paid + proof.bounds[0], np.float32))
        gumbel = None
        if "gumbel" in report:
            first, second = zip(report["gumbel"], report["visits_before"], strict=True)
            gumbel = (first, second)
        return cls(
            proven=proven,
            proof=proof,
            average=report.get("average"),
            gumbel=gumbel,
            winners=report.get("winners"),
            scores=report["scores"],
            visits=_frozen(report["edge_visits"]),
            outcomes=(_frozen(report["outcomes"][0]), _frozen(report["outcomes"][1])),
            priors=(_frozen(report["priors"][0]), _frozen(report["priors"][1])),
            q=(_frozen(report["q"][0]), _frozen(report["q"][1])),
            payoffs=_frozen(report["payoffs"]),
            value=_frozen(report["value"]),
            evaluation=_frozen(report["evaluation"]),
            acting=players(report["acting"]),
            num_actions=num_actions,
            **rest,
        )

    def __getstate__(self) -> dict[str, Any]:
        """The statistics of the root, for pickle and copies. The graph stays with the searcher."""
        kept = {**vars(self), "_look": None, "_squares": None}
        if self._squares is not None:
            with suppress(ValueError):  # the searcher may have moved on
                kept["_squares"] = _Kept(self._squares())
        return kept

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(_all_frozen(state))

    @property
    def best_action(self) -> ActionOrPair:
        """The action to play, or a pair where both act: ``action()`` at temperature 0. ``state.apply`` accepts both."""
        return self.action(temperature=0.0)

    @property
    def visit_counts(self) -> Counts | tuple[Counts, Counts]:
        """Visits of every action of the acting player, int64[num_actions]; where both act, a pair of such arrays.

        Actions with the same effect form one outcome, whose visits stand on the action that ``outcomes`` lists: the
        sum is that of ``visits``. Actions that are not legal have none.
        """
        return self._of_acting(lambda player: self._on_listed(player, self.visits.sum(axis=1 - player)))

    @property
    def prior(self) -> Floats | tuple[Floats, Floats]:
        """Priors used by the search, including root noise, float32[num_actions]; indexed like ``visit_counts``."""
        return self._of_acting(lambda player: self._on_listed(player, self.priors[player]))

    @property
    def q_values(self) -> Floats | tuple[Floats, Floats]:
        """The acting player's own value of every action, float32[num_actions]; where both act, a pair of such arrays.

        nan where an action is not legal. Every action of an outcome has the outcome's value; what has no visits has the
        value that the search assumed for it (``fpu``).
        """
        return self._of_acting(self._q_of_actions)

    def policy(
        self,
        player: int | None = None,
        method: Method = "visits",
        temperature: float = 1.0,
        nash: NashConfig = DEFAULT_NASH,
    ) -> NDArray[np.float32]:
        """Probabilities of all actions, in proportion to weights ** (1 / temperature); 0 is greedy. The weights are

        ``visits``    visit counts
        ``pruned``    visit counts without those caused by noise and forced playouts
        ``nash``      the player's strategy in an equilibrium of ``payoffs``, by the settings ``nash``
        ``average``   the average strategy of selection="regret" or "exp3"
        ``improved``  the improved policy of Gumbel search: softmax of log prior plus transformed values

        Actions refuted by the solver get probability 0. If the root is proven, only actions that keep its value have
        a positive probability: of winning ones the quickest, of losing ones the slowest. Where both players choose,
        ``nash`` then secures the proven value; visits and averages are those at the time of the proof and need not be
        an equilibrium.
        """
        player = self._player(player)
        policy = np.zeros(self.num_actions, np.float32)
        policy[self.outcomes[player]] = self._outcome_policy(player, method, temperature, nash)
        return policy

    def is_informative(self, method: Method = "nash", nash: NashConfig = DEFAULT_NASH) -> bool:
        """Whether there is something to learn from this search by a policy method.

        There is not if the payoffs of all pairs visited are equal, for both players; with ``nash`` also if no outcome
        of some player has ``nash.min_visits`` visits.
        """
        return policies.is_informative(self._root(), method, nash)

    def action(
        self,
        temperature: float | None = None,
        rng: np.random.Generator | int | None = None,
        method: Method | Literal["lcb"] = "visits",
        nash: NashConfig = DEFAULT_NASH,
    ) -> ActionOrPair:
        """Choose the action to play; a pair where both players act.

        At temperature 0 (the default) this is the action with the largest weight, in Gumbel search the winner of
        sequential halving; above 0 the action is sampled. ``nash`` and ``average`` are sampled at temperature 1 unless
        one is given, because the most likely action of a mixed policy is easily exploited. ``lcb`` chooses by the best
        lower confidence bound, see ``lcb``. ``rng`` is a generator or a seed; by default the seed of the search.
        """
        if temperature is None:
            temperature = 1.0 if method in policies.MIXED else 0.0
        policies.check_method(method, (*policies.METHODS, "lcb"))
        if rng is not None and not isinstance(rng, np.random.Generator):
            rng = np.random.default_rng(checked_seed(rng, ", or rng a numpy.random.Generator"))
        if rng is None and temperature > 0:
            rng = np.random.default_rng(self.stats["seed"])
        chosen = []
        for player in self.acting:
            if method == "lcb":
                index = self._best_bound(player)
            elif temperature == 0 and method == "visits" and self.winners is not None and not self._settled(player):
                index = max(0, self.winners[player])  # negative: there was only one outcome
            else:
                policy = self._outcome_policy(player, method, temperature, nash)
                sampled = rng is not None and temperature > 0
                index = int(rng.choice(len(policy), p=policy)) if rng is not None and sampled else int(policy.argmax())
            chosen.append(int(self.outcomes[player][index]))
        return (chosen[0], chosen[1]) if len(chosen) == 2 else chosen[0]

    def lcb(self, player: int | None = None, z: float = 5.0, share: float = 0.15) -> NDArray[np.float64]:
        """Lower confidence bounds of a player's outcomes: value - z * standard error; nan with too few visits.

        Only outcomes with at least ``share`` of the most visits have a bound. The variance is that of the backed-up
        values, mixed with the largest possible variance at a weight of 1 / visits**3.
        """
        player = self._player(player)
        if self._squares is None:
            raise ValueError(NO_GRAPH)
        visits = policies.marginal(self.visits, player)
        squares = np.nan_to_num(self._squares().reshape(self.payoffs.shape)[player])
        payoffs = np.nan_to_num(self.payoffs[player].astype(np.float64))
        counts = np.maximum(visits, 1)
        mean = (self.visits * payoffs).sum(axis=1 - player) / counts
        variance = np.maximum(0.0, (self.visits * squares).sum(axis=1 - player) / counts - mean**2)
        widest = max(float(np.nanmax(np.abs(payoffs), initial=0.0)), 1e-8) ** 2
        weight = 1.0 / counts**3
        spread = (variance + weight * widest) / (1 + weight)
        bound = mean - z * np.sqrt(spread / counts)
        return np.where((visits > 0) & (visits >= share * visits.max()), bound, np.nan)

    def node(self, path: Sequence[Step]) -> Report:
        """The engine's statistics of the node at the end of ``path``, the actions from the root on.

        An action is a number or a name, and a pair where both act: ``result.node(["d4", "c5"])``. The engine's own
        form of an edge will do too: an action of each player, -1 if passive; of a chance event (outcome, -1).
        The node of a chance event has outcomes for actions, and probabilities for priors.
        ``ready`` is True if the node is expanded; only then does it have outcomes, priors, visits and payoffs.
        """
        if self._look is None:
            raise ValueError(NO_GRAPH)
        return self._look(self._edges(path))

    def _edges(self, path: Sequence[Step]) -> Path:
        """A path as the engine has it."""
        if isinstance(path, str):
            raise TypeError(f"path must be a list of actions, such as {path.split()}, not the text {path!r}")
        if all(isinstance(step, tuple) and _is_edge(step) for step in path):
            return cast(Path, list(path))
        if self._state is None:
            raise TypeError(f"without a state, the steps of a path are pairs of numbers, not {list(path)!r}")
        edges: Path = []
        state = self._state
        for step in path:
            given = step if isinstance(step, tuple) else (step,)
            if not _is_edge(given):
                given = _edge(state, given, self._acting_after(edges) or state.acting)
            edges.append((int(given[0]), int(given[1])))
            state = followed(state, edges[-1])
        return edges

    def _acting_after(self, edges: Path) -> tuple[int, ...]:
        """Who acts at the end of a path by the node there, since a learned model goes on where the rules cannot."""
        assert self._look is not None
        return players(self._look(edges)["acting"])

    def look(self, path: Path) -> Report:
        """Deprecated name of ``node``."""
        warn_renamed("SearchResult.look", "SearchResult.node")
        return self.node(path)

    def tree(self, depth: int = 2, width: int = 5) -> str:
        """The most visited part of the graph as text: ``width`` edges per node, ``depth`` levels."""
        if self._look is None or self._state is None:
            raise ValueError(NO_GRAPH)
        lines = [f"value {_pair(self.value)}  visits {int(self.visits.sum()) + 1}"]
        self._grow(lines, [], self._state, depth, width, "")
        return "\n".join(lines)

    def explore(self, depth: int = 3, width: int = 4) -> result_html.Explorer:
        """The most visited part of the graph, for a notebook, which shows it as a tree to click through."""
        if self._look is None or self._state is None:
            raise ValueError(NO_GRAPH)
        from ramify.engine import result_html  # for notebooks: not at import

        return result_html.explore(self, self._state.copy(), depth, width)

    def variation(self, *actions: int, length: int = 8) -> list[ActionOrPair]:
        """The most visited line of play, at most ``length`` actions long, from the root or starting with ``actions``.

        It ends before a chance event: what follows depends on the outcome.
        Give one action per acting player, as in ``outcomes``. Returns actions, or tuples where both players act.
        """
        if self._look is None:
            raise ValueError(NO_GRAPH)
        path: Path = []
        if actions:
            first = dict(zip(self.acting, actions, strict=True))
            path.append((first.get(0, -1), first.get(1, -1)))
        while len(path) < length:
            report = self._look(path)
            if not report["ready"] or report["acting"] == CHANCE or not report["edge_visits"].any():
                break
            path.append(most_visited(report))
        return [played(joint) for joint in path]

    def _grow(self, lines: list[str], path: Path, state: State, depth: int, width: int, indent: str) -> None:
        assert self._look is not None
        report = self._look(path)
        if depth == 0 or not report["ready"]:
            return
        for joint, row in best_edges(report, width):
            child = followed(state, joint)
            note = "  illegal by the rules" if isinstance(child, BeyondRules) else ""
            lines.append(f"{indent}{name_of(state, joint)}  {row}{note}")
            self._grow(lines, [*path, joint], child, depth - 1, width, indent + "    ")

    def _player(self, player: int | None) -> int:
        if player is None:
            if len(self.acting) != 1:
                raise ValueError("both players act here: give player=0 or player=1")
            return self.acting[0]
        if player not in self.acting:
            raise ValueError(f"player {player} does not act here; the acting players are {self.acting}")
        return player

    def _of_acting(self, array: Callable[[int], NDArray[T]]) -> NDArray[T] | tuple[NDArray[T], NDArray[T]]:
        """The array of the acting player, or of both as a pair."""
        return (array(0), array(1)) if len(self.acting) == 2 else array(self.acting[0])

    def _on_listed(self, player: int, numbers: NDArray[T]) -> NDArray[T]:
        """Map values per outcome of a player to its actions: to the representative of each outcome; 0 elsewhere."""
        spread = np.zeros(self.num_actions, numbers.dtype)
        spread[self.outcomes[player]] = numbers
        return spread

    def _q_of_actions(self, player: int) -> Floats:
        values = np.full(self.num_actions, np.nan, np.float32)
        values[self.outcomes[player]] = self.q[player]
        if self._state is not None:
            listed, index = self._state.outcomes(player)
            if np.array_equal(listed, self.outcomes[player]):  # learned models have their own outcomes
                values[index >= 0] = self.q[player][index[index >= 0]]
        return values

    def _root(self) -> policies.Root:
        return policies.Root(
            self.visits,
            self.priors,
            self.q,
            self.payoffs,
            self.evaluation,
            self.average,
            self.scores,
            self.config or SearchConfig().for_evaluator(None),
        )

    def _outcome_policy(
        self, player: int, method: str, temperature: float, nash: NashConfig = DEFAULT_NASH
    ) -> NDArray[np.float64]:
        if not temperature >= 0:
            raise ValueError(f"temperature must be 0 or more, not {temperature}")
        secured = self._secured(player) if method == "nash" else None
        weights = policies.outcome_weights(self._root(), player, method, nash) if secured is None else secured
        if weights.sum() == 0:  # a single simulation: only priors are known
            weights = self.priors[player].astype(np.float64)
        if method not in policies.MIXED and (allowed := self._allowed(player)) is not None:
            weights = weights * allowed if (weights * allowed).sum() > 0 else allowed.astype(np.float64)
        if temperature == 0:
            order = np.lexsort((-np.arange(len(weights)), self.priors[player], self.q[player], weights))
            weights = np.zeros_like(weights)
            weights[order[-1]] = 1.0
            return weights
        return policies.tempered(weights, temperature)

    def _secured(self, player: int) -> NDArray[np.float64] | None:
        """A strategy that secures the proven value where both players choose, from the lower bounds; else None."""
        if self.proof is None or self.proven is None or 1 in self.visits.shape:
            return None
        lows = self.proof.edges[0, player]
        if not np.isfinite(lows).all():
            return None
        return equilibria.solve(lows).x if player == 0 else equilibria.solve(-lows).y

    def _settled(self, player: int) -> bool:
        """Whether proofs rule out some of the player's outcomes."""
        allowed = self._allowed(player)
        return allowed is not None and not allowed.all()

    def _allowed(self, player: int) -> NDArray[np.bool_] | None:
        """Outcomes not ruled out by proofs; None without a solver, or where both players choose."""
        proof = self.proof
        if proof is None or 1 not in self.visits.shape or self.visits.shape[player] == 1:
            return None
        low, high = (bound.ravel() for bound in proof.edges[:, player])
        value = proof.bounds[0, player]
        if self.proven is None:
            allowed = ~((high < value) | (high <= proof.stakes[0, player]))
        else:
            allowed = (proof.plies.ravel() >= 0) & (low >= value)
            least, most = (float(stake) for stake in proof.stakes[:, player])
            middle = (least + most) / 2 if np.isfinite(least) and np.isfinite(most) else 0.0
            plies = proof.plies.ravel()
            if allowed.any() and value != middle:
                wanted = plies[allowed].min() if value > middle else plies[allowed].max()
                allowed &= plies == wanted
        return np.asarray(allowed) if allowed.any() else None

    def _best_bound(self, player: int) -> int:
        """The outcome with the best bound among those not ruled out by proofs; the most visited if none has a bound."""
        bounds = self.lcb(player)
        if (allowed := self._allowed(player)) is not None:
            bounds[~allowed] = np.nan
        if np.isnan(bounds).all():
            return int(self._outcome_policy(player, "visits", 0.0).argmax())
        return int(np.nanargmax(bounds))

    def __str__(self) -> str:
        return result_text.screen(self)

    def __repr__(self) -> str:
        return result_text.short(self)

    def _repr_html_(self) -> str:
        from ramify.engine import result_html

        return result_html.summary(self)


CHANCE = 4  # what reports have as ``acting`` where chance decides, otherwise a bit mask of players


def players(mask: int) -> tuple[int, ...]:
    """The players in the core's bit mask."""
    return tuple(player for player in (0, 1) if mask >> player & 1)


def played(joint: tuple[int, int]) -> ActionOrPair:
    """The action of the acting player, or the pair where both act."""
    return joint if min(joint) >= 0 else max(joint)


def action_by(player: int, actions: ActionOrPair) -> int:
    """The action of one player: its element of a pair, or the single action of the acting player."""
    return actions[player] if isinstance(actions, tuple) else actions


def most_visited(report: Report) -> tuple[int, int]:
    """The actions of a node's most visited edge; ties as in SearchResult.action where one player chooses."""
    visits = report["edge_visits"]
    best = int(visits.argmax())
    if 1 in visits.shape:
        chooser = int(visits.shape[0] == 1)
        ranks = (-np.arange(visits.size), report["priors"][chooser], report["q"][chooser], visits.ravel())
        best = int(np.lexsort(ranks)[-1])
    i, j = divmod(best, visits.shape[1])
    return int(report["outcomes"][0][i]), int(report["outcomes"][1][j])


def best_edges(report: Report, width: int) -> list[tuple[tuple[int, int], str]]:
    """The most visited edges of a node, each with a line of statistics."""
    visits = report["edge_visits"]
    order = np.argsort(-visits.ravel(), kind="stable")[:width]
    edges = []
    for flat in order:
        i, j = divmod(int(flat), visits.shape[1])
        if visits[i, j] == 0:
            break
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        prior = " ".join(f"{report['priors'][p][k]:.3f}" for p, k in ((0, i), (1, j)) if report["acting"] >> p & 1)
        weight = f"prior {prior}" if report["acting"] != CHANCE else f"probability {report['priors'][0][i]:.3f}"
        edges.append((joint, f"visits {visits[i, j]}  value {_pair(report['payoffs'][:, i, j])}  {weight}"))
    return edges


def name_of(state: State, joint: tuple[int, int]) -> str:
    """The names of an edge's actions, or its outcome where chance decides."""
    if getattr(state, "is_chance", False):
        return f"chance {joint[0]}"
    return " / ".join(state.action_name(action, player) for player, action in enumerate(joint) if action >= 0)


def _is_edge(step: tuple[Any, ...]) -> bool:
    return len(step) == 2 and all(isinstance(action, int | np.integer) for action in step)


def _edge(state: State, given: tuple[ActionLike, ...], acting: tuple[int, ...]) -> tuple[int, int]:
    """The edge that actions by number or name, one per acting player, stand for."""
    if getattr(state, "is_chance", False):
        return int(given[0]), -1
    if len(given) != len(acting):
        raise IllegalAction(f"a step of a path has one action per acting player, {len(acting)} here, not {given!r}")
    edge = [-1, -1]
    for player, action in zip(acting, given, strict=True):
        edge[player] = state.action(action, player) if isinstance(action, str) else int(action)
    return edge[0], edge[1]


def _pair(values: NDArray[np.float32]) -> str:
    return f"{values[0]:+.3f} {values[1]:+.3f}"
