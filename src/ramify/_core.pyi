"""The compiled core of ramify: games and search."""

from collections.abc import Sequence

import numpy
from numpy.typing import NDArray


from collections.abc import Callable, Sequence
from typing import Any, SupportsIndex

def build_info() -> dict[str, str]:
    """Compiler, architecture and sanitizer this module was built with."""

class InvalidInput(ValueError):
    pass

class IllegalAction(ValueError):
    pass

class EvaluatorError(RuntimeError):
    pass

class Exclusive:
    """
    A block that one caller at a time may be in; others get a RuntimeError.
    """

    def __init__(self, busy: str) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *error: Any) -> None: ...

hooks: dict[str, Callable[..., Any]]

SAME_RETURNS: float = 1e-06

class Symmetry:
    """
    A map of a game onto itself, as permutations of observation and actions.
    """

    @property
    def name(self) -> str: ...

    @property
    def swaps_players(self) -> bool:
        """Whether the players change places."""

    @property
    def observation(self) -> NDArray[numpy.int32]:
        """new.ravel()[i] = old.ravel()[observation[i]]"""

    @property
    def actions(self) -> NDArray[numpy.int32]:
        """Action a becomes actions[a]."""

    def __repr__(self) -> str: ...

class Game:
    """
    A game of the compiled core: its rules and parameters. Make one with ramify.make().
    """

    @property
    def name(self) -> str: ...

    @property
    def params(self) -> dict[str, Any]:
        """Every parameter in force."""

    @property
    def num_actions(self) -> int:
        """Length of the policy vector."""

    @property
    def observation_shape(self) -> tuple[int, ...]: ...

    @property
    def simultaneous(self) -> bool:
        """Whether both players can act at once."""

    @property
    def symmetries(self) -> list[Symmetry]:
        """Maps of the game onto itself; the identity first."""

    @property
    def state_bytes(self) -> int:
        """Memory of one position inside the core."""

    def initial_state(self, seed: int | None = None) -> State:
        """
        The start. The seed matters where the start is random; None draws a fresh one.
        """

    def state(self, text: str | None = None, **parts: Any) -> State:
        """
        A position from its parts (as in `state.fields`) or its short text form.
        """

    def random_turns(self, seed: int, games: int) -> int:
        """
        Play random games inside the core; returns the number of turns. For benchmarks.
        """

    def __eq__(self, other: object, /) -> bool: ...

    def __hash__(self) -> int: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[Any, ...]: ...

class State:
    """A position of a native game."""

    @property
    def game(self) -> Game: ...

    @property
    def acting(self) -> tuple[int, ...]:
        """
        Players who choose now: (0,), (1,), (0, 1), or () when the game is over.
        """

    @property
    def is_over(self) -> bool: ...

    @property
    def current_player(self) -> int | None:
        """The player who acts; None where both act or the game is over."""

    @property
    def winner(self) -> int | None:
        """
        Who has the higher returns in a finished game; None: a draw, or not over.
        """

    @property
    def returns(self) -> NDArray[numpy.float32]:
        """Rewards so far, per player: float32[2]."""

    @property
    def key(self) -> int:
        """64 bits; equal keys promise equal futures."""

    @property
    def history_key(self) -> int:
        """As key, but equal only for equal repetition histories too."""

    @property
    def canonical_key(self) -> int:
        """
        The least key among the images under symmetries that keep the players; the key, where a game has none.
        """

    @property
    def heuristic(self) -> float | None:
        """
        Heuristic estimate of player 0's remaining rewards; None if the game has no heuristic.
        """

    @property
    def fields(self) -> dict[str, Any]:
        """The position as plain data; game.state(**fields) restores it."""

    def legal_actions(self, player: int | None = None) -> NDArray[numpy.int32]:
        """int32, ascending; empty for a player who does not act."""

    def legal_mask(self, player: int | None = None) -> NDArray[numpy.bool_]:
        """bool[num_actions]: True where legal_actions has the action."""

    def outcomes(self, player: int | None = None) -> tuple[NDArray[numpy.int32], NDArray[numpy.int32]]:
        """
        (actions, index): one action per outcome, and for every action its outcome or -1.
        """

    def apply(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> NDArray[numpy.float32]:
        """
        Play one action per acting player, as a number or by its name, in place; returns the rewards, float32[2].

        A pair may be one tuple, as in state.apply(result.best_action).
        """

    def after(self, *actions: SupportsIndex | str | tuple[SupportsIndex | str, ...]) -> State:
        """A copy with these actions applied, given as to apply."""

    def observation(self, player: int | None = None) -> NDArray[numpy.float32]:
        """float32 of game.observation_shape, as `player` sees it."""

    def action_name(self, action: int, player: int | None = None) -> str: ...

    def action(self, name: str, player: int | None = None) -> int:
        """The legal action of that name."""

    def transform(self, symmetry: int) -> State:
        """The image under game.symmetries[symmetry]."""

    def perft(self, depth: int) -> int:
        """Number of action sequences of that length from here."""

    def copy(self) -> State: ...

    def __copy__(self) -> State: ...

    def __deepcopy__(self, memo: dict[int, Any]) -> State: ...

    def svg(self) -> str:
        """The position as a picture."""

    def _repr_svg_(self) -> str: ...

    def __getattr__(self, name: str) -> Any: ...

    def __str__(self) -> str: ...

    def __repr__(self) -> str: ...

    def __reduce__(self) -> tuple[Any, ...]: ...

    def _set_returns(self, first: float, second: float) -> None: ...

def game_names() -> list[str]: ...

def make_game(name: str, params: dict[str, Any]) -> Game: ...

def game_params(name: str) -> list[tuple[str, Any, str]]:
    """(name, default, meaning) of every parameter."""

class Search:
    """One search; ramify.Searcher drives it."""

    def begin(self, seed: int, simulations: int = 0, full: bool = True) -> None: ...

    def collect(self, leaves: int, simulations: int) -> int:
        """Descend until that many leaves await evaluation; returns how many do."""

    def write(self, batch: dict[str, Any], row: int) -> None: ...

    def absorb(self, logits: NDArray[Any], values: NDArray[Any], row: int, rewards: NDArray[Any] | None = None) -> None: ...

    def cancel(self) -> None: ...

    def run_native(self, rollouts: int, seed: int, simulations: int, seconds: float) -> int: ...

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
        Simulations that it may still make, of so many and of so many evaluations; 0 once proven.
        """

    def second_moments(self) -> NDArray[Any]:
        """
        Means of the squares of what came of each of the root's edges, [2 * n0 * n1]; nan where unvisited.
        """

    @property
    def root_key(self) -> int: ...

    @property
    def needs_python(self) -> bool: ...

class Group:
    """Threads that work on many searches at once."""

    def __init__(self, threads: int) -> None: ...

    def gather(self, searches: list[Search], leaves: int, simulations: Sequence[int], batch: dict[str, Any]) -> list[int]: ...

    def absorb(self, searches: list[Search], rows: Sequence[int], logits: NDArray[Any], values: NDArray[Any], rewards: NDArray[Any] | None = None) -> None: ...

    def run_native(self, searches: list[Search], rollouts: int, seed: int, simulations: Sequence[int], seconds: float) -> int: ...

def make_search(state: State, settings: dict[str, Any]) -> Search: ...

def make_python_search(state: Any, settings: dict[str, Any]) -> Search: ...

def make_latent_search(num_actions: int, order: str, acting: int, first: Sequence[int], second: Sequence[int], settings: dict[str, Any]) -> Search: ...

def limit_graph_bytes(bytes: int) -> None:
    """
    Let every search graph end after so many bytes, in steps of 4 MiB, as it otherwise does after 8 GiB. For tests.
    """

def round_prior(prior: float) -> float:
    """The prior as the engine keeps it, in 16 bits."""

def softmax(logits: Sequence[float]) -> NDArray[numpy.float32]:
    """The engine's own softmax."""

MOST_DEPTH: int = 500

def alphabeta(state: Any, settings: dict[str, Any]) -> dict[str, Any]:
    """Alpha-beta search of one position; ramify.engine.alphabeta calls it."""

class Pool:
    """Many games at once; ramify.selfplay drives it."""

    def gather(self, half: int, batch: dict[str, Any]) -> int:
        """
        Play on in one half until every game awaits an evaluation; write the rows and say how many.
        """

    def absorb(self, half: int, logits: NDArray[Any], values: NDArray[Any]) -> None: ...

    def cancel(self) -> None: ...

    def take_finished(self) -> list[bytes]:
        """Records of the games finished since the last call."""

    @property
    def idle(self) -> bool: ...

    def stop(self) -> None:
        """Start no more games."""

    def questions(self) -> list[tuple[int, int, int, float]]:
        """Places that await an action, with game, move and temperature."""

    def report(self, place: int) -> dict[str, Any]: ...

    def answer(self, place: int, first: int, second: int) -> None: ...

    @property
    def counts(self) -> dict[str, int]: ...

def make_pool(game: Any, settings: dict[str, Any], play: dict[str, Any], seed: int, places: int, unfinished: list[int], first: int, games: int, threads: int) -> Pool: ...

matrix_tie: float = 1e-11

matrix_rounding: float = 16.0

def solve_matrix(payoffs: NDArray[numpy.float64], choose: str, all: bool, tie: float, rounding: float) -> tuple[Any, ...]:
    """
    (x, y, value, nash_conv, constant_sum, unique, constant, (extreme x, extreme y, pairs) or None) of a game
    [1 or 2, n0, n1].
    """

def zero_sum_values(payoffs: NDArray[numpy.float64]) -> NDArray[numpy.float64]:
    """The values of zero-sum games, [games, n0, n1]."""

def solve_matrices(payoffs: NDArray[numpy.float64], choose: str) -> float:
    """
    Solve zero-sum games [games, n0, n1] inside the core; returns the sum of their values. For benchmarks.
    """

def nash_conv(payoffs: NDArray[numpy.float64], x: NDArray[numpy.float64], y: NDArray[numpy.float64]) -> float:
    """
    What both players could gain by deviating alone, of payoffs [1 or 2, n0, n1].
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
