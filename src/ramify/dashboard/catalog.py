"""What can be chosen on the pages: games, networks and opponents. Clients name an entry; only the server knows paths,
and only players that the server was started with run other programs."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import ramify.protocols  # noqa: F401 - registers its kinds of players
from ramify.arena import player_config, read_player
from ramify.base.settings import read_value
from ramify.base.shipped import named, shipped_for, shipped_networks
from ramify.dashboard.config import WebConfig
from ramify.dashboard.runs import RunFolder
from ramify.engine import Searcher
from ramify.engine.batch import NativeEvaluator
from ramify.engine.cache import EvaluationCache
from ramify.evaluators.simple import GreedyRollout, Planner, Rollout, best_native, rollouts_of
from ramify.games import Game, list_games, make
from ramify.games.registry import presets
from ramify.presentation.names import game_title
from ramify.presentation.opponents import ArenaOpponent, Opponent, SearchOpponent, find_evaluator, play_searcher

BOARDS: tuple[tuple[str, dict[str, Any]], ...] = (
    ("hex", {"size": 7}),
    ("hex", {"size": 5}),
    ("hex", {"size": 9}),
    ("hex", {"size": 11}),
    ("chess", {}),
    ("connect_four", {}),
    ("tictactoe", {}),
)
TITLES = {"tictactoe": "Tic-tac-toe"}
KEPT = 12  # evaluators in memory
MOST_CACHED, CACHE_BYTES = 50_000, 32 << 20  # evaluations of each that are kept: positions, and about so much memory
ROLLOUT, MATERIAL, GREEDY, PLANNER = "rollout", "material", "greedy", "planner"
PLAIN = (ROLLOUT, MATERIAL, GREEDY, PLANNER)  # evaluators without a network
LONGEST = 200  # characters of the parameters of a game
LARGEST = 200  # number in the parameters of a game of OpenSpiel
EXPLODING = ("openspiel:blotto",)


@dataclass(frozen=True)
class Entry:
    """A game that can be chosen."""

    key: str
    title: str
    name: str
    params: Mapping[str, Any]


@dataclass(frozen=True)
class Choice:
    """A network or an opponent that can be chosen."""

    key: str
    title: str


class Catalog:
    """The choices of one server."""

    def __init__(self, config: WebConfig, runs: RunFolder) -> None:
        self.config, self.runs = config, runs
        self._evaluators: OrderedDict[tuple[str, str, float], tuple[Any, str, EvaluationCache | None]] = OrderedDict()
        self._lock = threading.Lock()

    # Games.

    def games(self) -> list[Entry]:
        """The games on offer, the best known first."""
        found = [(name, params) for name, params in BOARDS]
        found += [("pyrat", {"preset": preset}) for preset in presets("pyrat")]
        found += [(name, {}) for name in list_games() if name not in {name for name, _ in found}]
        return [Entry(game_key(name, params), entry_title(name, params), name, params) for name, params in found]

    def make_game(self, key: str) -> Game:
        """The game of a key: one on offer, or a name and parameters as people write them. A ValueError says why not."""
        for entry in self.games():
            if entry.key == key:
                return make(entry.name, **entry.params)
        name, _, rest = key.strip().partition(" ")
        if len(key) > LONGEST:
            raise ValueError(f"a game is described by at most {LONGEST} characters")
        if name not in list_games() and not name.startswith("openspiel:"):
            raise ValueError(f"there is no game {name[:40]!r}; the games are {', '.join(list_games())}")
        params = read_params(rest)
        if name.startswith("openspiel:"):
            check_openspiel(name, params)
        return make(name, **params)

    # Networks.

    def networks(self, game: Game) -> list[Choice]:
        """Networks that fit a game, the default first, then evaluators without a network."""
        known = [entry for entry in shipped_networks() if entry.fits(game)]
        found = [Choice(f"shipped:{entry.name}", f"{entry.name} (shipped)") for entry in known]
        for run in self.runs.of_game(game.name):
            found.append(Choice(f"run:{run.name}", f"{run.name} (your run)"))
        found += [Choice(f"file:{i}", Path(file).stem) for i, file in enumerate(self.config.networks)]
        if game.name == "chess":
            found.append(Choice(MATERIAL, "material count"))
        if isinstance(best_native(game), Planner):
            found.append(Choice(PLANNER, Planner.knowledge))
        if isinstance(rollouts_of(game), GreedyRollout):
            found.append(Choice(GREEDY, GreedyRollout.knowledge))
        found.append(Choice(ROLLOUT, Rollout.knowledge))
        best = shipped_for(game)
        first = f"shipped:{best.name}" if best else next(choice.key for choice in found if choice.key in PLAIN)
        return sorted(found, key=lambda choice: choice.key != first)

    def default(self, game: Game) -> str:
        """The network to begin with: a shipped one, else none; those of runs are for those who choose them."""
        return self.networks(game)[0].key

    def network(self, key: str) -> str:
        """What the library takes for a network; a ValueError if there is no such network."""
        kind, _, name = key.partition(":")
        if key in PLAIN:
            return key
        if kind == "run":
            run, _, number = name.partition("/")
            return str(self.runs.network(run, number or None))
        if kind == "file" and name.isdigit() and int(name) < len(self.config.networks):
            return self.config.networks[int(name)]
        if kind == "shipped":
            return named(name, shipped_networks()).name
        raise ValueError(f"there is no network {key[:40]!r}")

    def searcher(
        self,
        game: Game,
        key: str,
        limits: tuple[int | None, float | None],
        seed: int,
        settings: Mapping[str, Any] | None = None,
    ) -> tuple[Searcher, str]:
        """A search with a network within these limits, and the network's name. All searches of a network share what it
        has evaluated."""
        evaluator, name, cache = self.evaluator(game, key)
        both = {"max_nodes": self.config.budget.nodes, **(settings or {})}
        return play_searcher(game, evaluator, limits, seed, both, cache), name

    def evaluator(self, game: Game, key: str) -> tuple[Any, str, EvaluationCache | None]:
        """The evaluator of a network, its name, and what it has evaluated; kept for the next who asks."""
        network = self.network(key)
        place = Path(network)
        known = (str(game), network, place.stat().st_mtime if place.exists() else 0.0)
        with self._lock:  # loaded once, also if two ask for it at the same time
            if known not in self._evaluators:
                evaluator, name = find_evaluator(game, network)
                native = isinstance(evaluator, NativeEvaluator)
                room = max(100, min(MOST_CACHED, CACHE_BYTES // (8 * game.num_actions)))
                self._evaluators[known] = (evaluator, name, None if native else EvaluationCache(evaluator, room))
            self._evaluators.move_to_end(known)
            while len(self._evaluators) > KEPT:
                self._evaluators.popitem(last=False)
            return self._evaluators[known]

    # Opponents.

    def opponents(self, game: Game) -> list[Choice]:
        """The opponents of a person: searches, players without one, and programs that the server was started with."""
        found = [Choice(f"search {one.key}", f"Search with {one.title}") for one in self.networks(game)]
        found += [
            Choice(f"policy {one.key}", f"Network alone: {one.title}")
            for one in self.networks(game)
            if one.key not in PLAIN
        ]
        if not game.simultaneous:
            found.append(Choice("player alphabeta:depth=3", "Alpha-beta, depth 3"))
        if game.name == "pyrat":
            found.append(Choice("player greedy", "Greedy: takes the nearest cheese"))
        found.append(Choice("player random", "Random moves"))
        given = enumerate(self.config.players)
        return found + [Choice(f"given {i}", text) for i, text in given if plays(text, game)]

    def open_opponent(
        self, game: Game, key: str, limits: tuple[int | None, float | None], seed: int
    ) -> tuple[Opponent, Any]:
        """The opponent, and its searcher if it has one that can be stopped."""
        kind, _, rest = key.partition(" ")
        if kind == "search":
            searcher, knowledge = self.searcher(game, rest, self.limited(limits), seed)
            return SearchOpponent(searcher, knowledge), searcher
        if kind == "policy":
            return ArenaOpponent(player_config("network", network=self.network(rest)), game), None
        if kind == "given" and rest.isdigit() and int(rest) < len(self.config.players):
            return ArenaOpponent(read_player(self.config.players[int(rest)]), game), None
        if kind == "player" and key in {choice.key for choice in self.opponents(game)}:
            return ArenaOpponent(read_player(rest), game), None
        raise ValueError(f"there is no opponent {key[:40]!r}")

    def limited(self, limits: tuple[int | None, float | None]) -> tuple[int | None, float | None]:
        """Simulations and seconds within the budget of a client; never without a limit of time."""
        simulations, seconds = limits
        budget = self.config.budget
        return (
            None if simulations is None else max(1, min(simulations, budget.simulations)),
            min(seconds or budget.seconds, budget.seconds),
        )


def plays(player: str, game: Game) -> bool:
    """Whether a player that the server was started with can play a game: a program speaks the protocol of one."""
    return getattr(read_player(player), "plays", game.name) == game.name


def game_key(name: str, params: Mapping[str, Any]) -> str:
    """A game as text: its name and parameters."""
    return " ".join([name, *(f"{key}={value}" for key, value in params.items())])


def check_openspiel(name: str, params: Mapping[str, Any]) -> None:
    """Raise a ValueError for parameters that a client may not give to OpenSpiel: a text may name a file or another
    game, and it makes games of any size, in which the server would be lost for minutes."""
    if not all(isinstance(value, int | float) and abs(value) <= LARGEST for value in params.values()):
        raise ValueError(f"parameters of OpenSpiel's games are numbers up to {LARGEST} here")
    if params and name in EXPLODING:
        raise ValueError(f"{name} has no parameters here: it lists all of its actions")


def typed_game(key: str, params: str) -> str:
    """A game of the list, or its name with the parameters that somebody has typed."""
    return f"{key.split()[0]} {params.strip()}" if params.strip() else key


def entry_title(name: str, params: Mapping[str, Any]) -> str:
    if name == "pyrat":
        return f"PyRat, {params.get('preset', 'default')}"
    try:
        title = TITLES.get(name) or game_title(make(name, **params))
    except Exception:  # a game of the user's own that needs parameters
        title = name
    return title[:1].upper() + title[1:]


def read_params(text: str) -> dict[str, Any]:
    """Parameters written as ``size=5 swap=true``."""
    found: dict[str, Any] = {}
    for word in text.split():
        key, equals, value = word.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w{0,40}", key):
            raise ValueError(f"parameters are written name=value, not {word[:40]!r}")
        found[key] = read_value(value)
    return found
