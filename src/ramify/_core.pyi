"""The compiled core of ramify: games and search."""

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray


from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

def build_info() -> dict[str, str]:
    """
    Return the compiler, architecture and sanitizer with which this module was built.
    """

class InvalidInput(ValueError):
    """
    Parameters, positions or payoffs that cannot be used; the message says what would be right.
    """

class IllegalAction(ValueError):
    """
    An action that cannot be played here; the message names it and the position, and nothing has changed.
    """

class EvaluatorError(RuntimeError):
    """
    An evaluator returned what cannot be used; the message names the row, and the search is as it was.
    """

class Exclusive:
    """
    Context manager for one caller at a time; others get a RuntimeError with the text `busy`.
    """

    def __init__(self, busy: str) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *error: Any) -> None: ...

hooks: dict[str, Callable[..., Any]]

SAME_RETURNS: float = 1e-06

MOST_TURNS: int = 10000

class Symmetry:
    """A symmetry of a game, as permutations of its observations and actions."""

    @property
    def name(self) -> str:
        """Name of the symmetry."""

    @property
    def swaps_players(self) -> bool:
        """Whether the symmetry exchanges the players."""

    @property
    def observation(self) -> NDArray[numpy.int32]:
        """
        Indices that transform an observation: new.ravel()[i] = old.ravel()[observation[i]].
        """

    @property
    def actions(self) -> NDArray[numpy.int32]:
        """Permutation of the actions: action a becomes actions[a]."""

    def __repr__(self) -> str: ...

class Game:
    """
    A game of the compiled core with its parameters. Use ramify.make() to create one.
    """

    @property
    def name(self) -> str:
        """Name of the game, as in ramify.make()."""

    @property
    def params(self) -> dict[str, Any]:
        """All parameters of the game, including defaults."""

    @property
    def num_actions(self) -> int:
        """Number of actions; the length of policy vectors."""

    @property
    def observation_shape(self) -> tuple[int, ...]:
        """Shape of the arrays that State.observation returns."""

    @property
    def simultaneous(self) -> bool:
        """Whether both players may act in the same turn."""

    @property
    def has_chance_events(self) -> bool:
        """Whether the game has chance events, such as throws of dice."""

    @property
    def symmetries(self) -> list[Symmetry]:
        """Symmetries of the game, starting with the identity."""

    @property
    def state_bytes(self) -> int:
        """Size of a state in the core, in bytes."""

    def initial_state(self, seed: int | None = None) -> State:
        """
        Return the initial state.

        The seed is used by games with a random initial state; None chooses a random seed.
        """

    def state(self, text: str | None = None, **parts: Any) -> State:
        """
        Return the state with the given fields (see `State.fields`) or in the given text notation, such as a FEN.
        """

    def random_turns(self, seed: int, games: int) -> int:
        """
        Play random games in the core and return the total number of turns. For benchmarks.
        """

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[Any, ...]: ...

class State:
    """A state of a game of the compiled core."""

    @property
    def game(self) -> Game:
        """The game this state belongs to."""

    @property
    def acting(self) -> tuple[int, ...]:
        """
        Players to act: (0,), (1,) or (0, 1), or () if the game is over or chance decides.
        """

    @property
    def is_over(self) -> bool:
        """Whether the game is over."""

    @property
    def current_player(self) -> int | None:
        """The player to act; None if both players act or the game is over."""

    @property
    def winner(self) -> int | None:
        """
        The player with the higher returns; None if the game is a draw or not over.
        """

    @property
    def returns(self) -> NDArray[numpy.float32]:
        """Sum of rewards so far for each player, a float32 array of length 2."""

    @property
    def key(self) -> int:
        """
        64-bit key of the state. States with equal keys have the same continuations.
        """

    @property
    def history_key(self) -> int:
        """
        Like `key`, but different for states with different repetition histories.
        """

    @property
    def canonical_key(self) -> int:
        """
        Smallest key among the images of the state under the symmetries that do not exchange the players.
        """

    @property
    def heuristic(self) -> float | None:
        """
        Heuristic estimate of the rewards player 0 will still receive; None if the game has no heuristic.
        """

    @property
    def stakes(self) -> tuple[tuple[float, float], tuple[float, float], bool]:
        """
        (least, most, zero_sum): bounds per player of the rewards still to come, infinite where the rules know none, and whether one player wins what the other loses at every turn.
        """

    @property
    def fields(self) -> dict[str, Any]:
        """The state as plain data; game.state(**fields) restores it."""

    def legal_actions(self, player: int | None = None) -> NDArray[numpy.int32]:
        """
        Return the legal actions in ascending order, an int32 array; empty if the player does not act.

        The player may be omitted if only one player acts.
        """

    def greedy_actions(self, player: int | None = None) -> NDArray[numpy.int32] | None:
        """
        Return the best actions by the game's simple player, an int32 array; None if the game has no such player.

        In PyRat these are the steps on shortest ways to the nearest cheese.
        """

    def planned_actions(self, player: int | None = None) -> NDArray[numpy.int32] | None:
        """
        Return the actions that a player who plans ahead begins with, an int32 array; None if the game has no such player.

        In PyRat it chooses well which piece of cheese to go for first: see ``rf.evaluators.Planner``.
        """

    def legal_mask(self, player: int | None = None) -> NDArray[numpy.bool_]:
        """
        Return a bool array of length num_actions that is True for legal actions.
        """

    def outcomes(self, player: int | None = None) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
        """
        Return the outcomes as a tuple (actions, index) of int32 arrays.

        Actions with the same effect share an outcome: `actions` has one action per outcome; `index` has the outcome
        of each action, -1 for illegal ones.
        """

    def apply(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> NDArray[numpy.float32]:
        """
        Play one action per acting player, given by number or name, and return the rewards of both players.

        The state is modified in place. Two actions may be given as one tuple: state.apply(result.best_action).
        """

    def after(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> State:
        """
        Return a copy of the state with the given actions applied; see `apply`.
        """

    def observation(self, player: int | None = None) -> NDArray[numpy.float32]:
        """
        Return the observation of the player, a float32 array of shape game.observation_shape.
        """

    def action_name(self, action: int, player: int | None = None) -> str:
        """Return the name of an action."""

    def action(self, name: str, player: int | None = None) -> int:
        """Return the legal action with the given name."""

    def transform(self, symmetry: int) -> State:
        """Return the image of the state under game.symmetries[symmetry]."""

    def perft(self, depth: int) -> int:
        """Return the number of sequences of `depth` actions from this state."""

    @property
    def is_chance(self) -> bool:
        """Whether chance decides here: only of states that apply_only leads to."""

    def chance_outcomes(self) -> tuple[NDArray[numpy.int32], NDArray[numpy.float64]]:
        """
        Return the outcomes of the chance event here and their probabilities; both are empty where there is none.
        """

    def apply_only(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> NDArray[numpy.float32]:
        """
        As `apply`, but leave a chance event that follows undrawn. At a chance event, give it this outcome.
        """

    def peek_chance(self) -> int:
        """Return the outcome that `draw_chance` would give."""

    def draw_chance(self) -> int:
        """
        Draw the chance event here from the seed of this game, in place; return the outcome.
        """

    def reseed_chance(self, seed: int) -> None:
        """Draw the chance events still to come from another seed, in place."""

    @property
    def chance_seed(self) -> int:
        """Seed of the chance events of this game."""

    @property
    def chance_events(self) -> int:
        """Number of chance events so far."""

    def copy(self) -> State:
        """Return a copy of the state."""

    def __copy__(self) -> State: ...

    def __deepcopy__(self, memo: dict[int, Any]) -> State: ...

    def svg(self) -> str:
        """Return a picture of the state as SVG."""

    def _repr_svg_(self) -> str: ...

    def __getattr__(self, name: str) -> Any: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[Any, ...]: ...

    def _set_returns(self, first: float, second: float) -> None: ...

def game_names() -> list[str]:
    """Return the names of the games of the compiled core."""

def make_game(name: str, params: dict[str, Any]) -> Game:
    """Create a game; use ramify.make() instead."""

def game_params(name: str) -> list[tuple[str, Any, str]]:
    """
    Return a tuple (name, default, description) for each parameter of a game.
    """

class EvaluationCache:
    """
    Evaluations by key; ramify.engine.cache keeps it up to date. Thread-safe.
    """

    def __init__(self, capacity: int) -> None: ...

    def clear(self) -> None:
        """
        Forget everything, and what is being evaluated now as soon as it is there.
        """

    def __len__(self) -> int: ...

    @property
    def capacity(self) -> int: ...

    @property
    def bytes(self) -> int: ...

class Slots:
    """
    Rows of the array in which a model keeps latent states, shared by many searches.
    """

    def __init__(self) -> None: ...

    @property
    def capacity(self) -> int:
        """Rows that the array needs: every slot in any batch so far is below it."""

    @property
    def held(self) -> int:
        """Slots that searches hold now."""

class Search:
    """One search; ramify.Searcher drives it."""

    def begin(self, seed: int, simulations: int = 0, full: bool = True) -> None: ...

    def restrict_root(self, first: Sequence[int], second: Sequence[int]) -> None:
        """
        Search from a fresh root with these actions alone, of each player; none: all.
        """

    def use_cache(self, cache: EvaluationCache) -> None:
        """Look evaluations up in this cache, and store them there."""

    def cancel(self) -> None:
        """Cancel all leaves in flight, as if they had never been selected."""

    def release_slots(self) -> None:
        """
        Give the slots of latent states back: the search may still be looked at, but not go on.
        """

    def run_native(self, rollouts: int, seed: int, simulations: int, seconds: float, greedy: bool = False, prior: float = 0.0, planner: bool = False) -> int: ...

    def report(self, path: list[tuple[int, int]]) -> dict[str, Any]: ...

    @property
    def last_path(self) -> list[tuple[int, int]]:
        """The actions of the last descent."""

    def principal_variation(self) -> list[tuple[int, int]]: ...

    def advance(self, first: int, second: int) -> bool: ...

    @property
    def stats(self) -> dict[str, Any]: ...

    @property
    def proven(self) -> bool: ...

    def left(self, simulations: int, evaluations: int | None = None) -> int:
        """
        Simulations that may still be started within these limits, not counting those in flight; 0 once proven.
        """

    def second_moments(self) -> NDArray[Any]:
        """
        Means of the squares of what came of each of the root's edges, [2 * n0 * n1]; nan where unvisited.
        """

    @property
    def root_key(self) -> int: ...

    @property
    def needs_python(self) -> bool: ...

class LeafBatch:
    """Leaves in flight: rows written, evaluations not given back yet."""

    def __len__(self) -> int: ...

    def __bool__(self) -> bool:
        """
        Whether there are any leaves; all of them may be in the cache, so that there are no rows.
        """

    @property
    def counts(self) -> list[int]:
        """Rows of every search, in order."""

    def absorb(self, logits: NDArray[Any], values: NDArray[Any], rewards: NDArray[Any] | None = None) -> None:
        """
        Expand the leaves and back up their values. Batches may be absorbed in any order.
        """

class Group:
    """Threads that drive one search or many."""

    def __init__(self, threads: int) -> None: ...

    def gather(self, searches: list[Search], number: int, leaves: int, simulations: Sequence[int], arrays: dict[str, Any]) -> LeafBatch:
        """
        Collect up to ``leaves`` leaves of every search and write them to the arrays, search after search. ``number`` (0, 1, ...) tells the batches apart that are in flight at once.
        """

    def run_native(self, searches: list[Search], rollouts: int, seed: int, simulations: Sequence[int], seconds: float, greedy: bool = False, prior: float = 0.0, planner: bool = False) -> int: ...

def make_search(state: State, settings: dict[str, Any]) -> Search: ...

def make_python_search(state: Any, settings: dict[str, Any]) -> Search: ...

def make_latent_search(num_actions: int, order: str, acting: int, first: Sequence[int], second: Sequence[int], settings: dict[str, Any], slots: Slots | None = None, observation: NDArray[Any] | None = None) -> Search: ...

def limit_graph_bytes(bytes: int) -> None:
    """
    Let every search graph end after so many bytes, in steps of 4 MiB, as it otherwise does after 16 GiB. For tests.
    """

def use_wide_vectors(wide: bool) -> bool:
    """
    Let searches compute with eight numbers at a time where the processor has AVX2, as they do unless told otherwise, or with four. Returns which. For tests: the results are the same.
    """

def round_prior(prior: float) -> float:
    """The prior as the engine keeps it, in 16 bits."""

def softmax(logits: Sequence[float]) -> NDArray[numpy.float32]:
    """The engine's own softmax."""

MOST_DEPTH: int = 500

def alphabeta(state: Any, settings: dict[str, Any], stop: Callable[[], bool] | None = None) -> dict[str, Any]:
    """Run an alpha-beta search; use ramify.alphabeta() instead."""

class Pool:
    """Many games at once; ramify.selfplay drives it."""

    def gather(self, share: int, arrays: dict[str, Any]) -> LeafBatch:
        """
        Play on in one share of the games until each of them awaits an evaluation, and write the rows.
        """

    def refill(self, batch: LeafBatch, logits: NDArray[Any], values: NDArray[Any], rewards: NDArray[Any] | None, arrays: dict[str, Any]) -> LeafBatch:
        """
        Absorb the evaluation of a batch and gather the next one of the same share, in one go.
        """

    def cancel(self) -> None: ...

    def take_finished(self) -> list[bytes]:
        """Records of the games finished since the last call."""

    @property
    def idle(self) -> bool: ...

    def stop(self) -> None:
        """Start no more games."""

    def add(self, numbers: Sequence[int]) -> None:
        """
        Play the games with these numbers too; only for a pool that had nothing but a list of numbers.
        """

    @property
    def not_begun(self) -> int:
        """Number of games not begun yet."""

    @property
    def counts(self) -> dict[str, int]: ...

def make_pool(game: Any, settings: dict[str, Any], play: dict[str, Any], seed: int, places: int, unfinished: list[int], first: int, games: int, threads: int, shares: int = 2, model: dict[str, Any] | None = None, cache: EvaluationCache | None = None, openings: list[Any] = []) -> Pool: ...

def outcome_policy(report: dict[str, Any], settings: dict[str, Any], acting: dict[str, Any], player: int, temperature: float) -> NDArray[numpy.float64]:
    """
    Probabilities of a player's outcomes as self-play computes them; use SearchResult.policy() instead.
    """

matrix_tie: float = 1e-11

matrix_rounding: float = 16.0

def solve_matrix(payoffs: NDArray[numpy.float64], choose: str, all: bool, tie: float, rounding: float) -> tuple[Any, ...]:
    """
    Compute a Nash equilibrium of a matrix game; use ramify.equilibria.solve() instead.

    `payoffs` has shape [1, n0, n1] (zero-sum) or [2, n0, n1]. Returns a tuple (x, y, value, nash_conv,
    constant_sum, unique, constant, extremes); with `all`, extremes is (extreme x, extreme y, pairs), else None.
    """

def zero_sum_values(payoffs: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """
    Return the values of zero-sum games with payoffs of shape [games, n0, n1].
    """

def solve_matrices(payoffs: NDArray[numpy.float64], choose: str) -> float:
    """
    Solve zero-sum games, payoffs [games, n0, n1], and return the sum of their values. For benchmarks.
    """

def nash_conv(payoffs: NDArray[numpy.float64], x: NDArray[numpy.float64], y: NDArray[numpy.float64]) -> float:
    """
    Return the sum of what each player could gain by deviating from the strategies x and y.

    `payoffs` has shape [1, n0, n1] (zero-sum) or [2, n0, n1].
    """

class GameGraph:
    """Every position that can follow one, numbered from it (0) on."""

    def __len__(self) -> int: ...

    @property
    def num_edges(self) -> int: ...

    @property
    def num_choices(self) -> int: ...

    @property
    def zero_sum(self) -> bool: ...

    @property
    def order(self) -> NDArray[numpy.uint32]:
        """Positions, each after all of its children."""

    def find(self, key: int) -> int:
        """The position with this key, or -1."""

    def position(self, position: int) -> tuple[int, NDArray[numpy.int32], NDArray[numpy.int32], NDArray[numpy.int64], NDArray[numpy.float32]]:
        """
        (first choice, actions of player 0, of player 1, children [n0, n1] with -1 for the end, rewards [n0, n1, 2]).
        """

    def payoffs(self, values: NDArray[numpy.float64], position: int) -> NDArray[numpy.float64]:
        """Half differences [n0, n1] in a position, given all values."""

    def solve(self, max_seconds: float) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        (values by position, strategies by choice) of the zero-sum game of half differences.
        """

    def uniform(self) -> NDArray[numpy.float64]:
        """Uniform strategies by choice."""

    def evaluate(self, strategies: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
        """Rewards to come, [positions, 2]."""

    def best_response(self, strategies: NDArray[numpy.float64], player: int, own: bool) -> tuple[NDArray[numpy.float64], NDArray[numpy.float64]]:
        """
        (values by position, strategies with the response by choice); values are own rewards, or half differences.
        """

    def mccfr(self, iterations: int, seed: int, max_seconds: float) -> NDArray[numpy.float64]:
        """Average strategies by choice."""

def game_graph(state: Any, max_positions: int, max_seconds: float) -> GameGraph:
    """The graph of everything that can follow a state; 0: no limit."""
