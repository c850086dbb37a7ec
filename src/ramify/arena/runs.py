"""Rating of a training run: a tournament of its checkpoints and of reference players, and its results."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.arena.matches import MatchConfig, ParallelSettings, Watch, check_pairs
from ramify.arena.muzero_player import SHARED_NODES
from ramify.arena.network_files import is_learned
from ramify.arena.openings import Openings
from ramify.arena.played import Played, plain_params
from ramify.arena.player import PlayerConfig, player_config
from ramify.arena.results import Results
from ramify.arena.tournament import Pairing, Standings, Tournament
from ramify.arena.versions import package_version
from ramify.base.files import write_atomically
from ramify.games import Game

if TYPE_CHECKING:
    from ramify.training import TrainConfig

RATINGS = "ratings.json"  # in the run's folder
SAMPLES = 3  # games stored for the report


@dataclass(frozen=True)
class RatingPlan:
    """Settings of a rating."""

    games: int = 20  # per pairing; each player moves first in half of them
    simulations: int | None = None  # per move of a checkpoint; None: as in the run's full searches
    checkpoints: int = 6  # maximum number: every k-th, and the latest one
    references: bool = True  # whether to include players that need no training

    def __post_init__(self) -> None:
        check_pairs(self.games)
        if self.checkpoints < 2:
            raise ValueError(f"checkpoints must be at least 2, the first and the latest, not {self.checkpoints}")


@dataclass(frozen=True)
class Entrant:
    """A player of the rating with its display name."""

    name: str
    config: PlayerConfig
    iteration: int | None = None  # of a checkpoint
    step: int | None = None


@dataclass(frozen=True)
class RunRating:
    """The players of a rating and their games. ``standings`` refers to players by identity."""

    config: TrainConfig
    game: Game
    plan: RatingPlan
    entrants: tuple[Entrant, ...]
    standings: Standings

    @property
    def names(self) -> dict[str, str]:
        """Display names of players, by identity."""
        return {entrant.config.identity: entrant.name for entrant in self.entrants}

    @property
    def latest(self) -> Entrant:
        """The latest checkpoint."""
        return [entrant for entrant in self.entrants if entrant.iteration is not None][-1]


def read_run(folder: Path) -> TrainConfig:
    """The config of the run in a folder; raises a ValueError if there is none, or it has no checkpoint."""
    from ramify.training import checkpoints
    from ramify.training.claims import file_config

    if not (folder / "config.yaml").is_file():
        raise ValueError(f"there is no training run in {folder}: it has no config.yaml; 'ramify train' makes one")
    if not checkpoints(folder / "checkpoints"):
        raise ValueError(f"the run in {folder} has no checkpoint yet")
    return file_config(folder)


def spaced(numbers: Sequence[int], most: int) -> list[int]:
    """At most ``most`` of these ascending numbers: multiples of the smallest sufficient power of two, and the last one.

    As a run gets longer, all or every second of the earlier choices stay, so that their games are used again.
    """
    step = 1
    while len(kept := [number for number in numbers if number % step == 0 or number == numbers[-1]]) > most:
        step *= 2
    return kept


def checkpoint_entrants(folder: Path, config: TrainConfig, game: Game, plan: RatingPlan) -> list[Entrant]:
    """The checkpoints to rate, oldest first."""
    from ramify.training import checkpoints, network_file, read_metrics

    steps = {int(line["iteration"]): int(line["step"]) for line in read_metrics(folder / "metrics.jsonl", "iteration")}
    paths = {int(path.name): path for path in checkpoints(folder / "checkpoints")}
    found: dict[str, Entrant] = {}
    for number in spaced(sorted(paths), plan.checkpoints):
        player = checkpoint_player(config, game, network_file(paths[number]), plan.simulations)
        name = f"iteration {number}" if number else "untrained"
        found.setdefault(player.identity, Entrant(name, player, number, steps.get(number, 0)))
    return list(found.values())


def checkpoint_player(config: TrainConfig, game: Game, network: Path, simulations: int | None) -> PlayerConfig:
    """A player with the search settings of the run, but without exploration noise."""
    plain: dict[str, Any] = {"noise_fraction": 0.0, "forced_playouts": 0.0, "root_temperature": 1.0, "threads": 1}
    plain |= {"fast_simulations": None, "max_evaluations": None, "max_seconds": None}
    if config.search.selection == "gumbel":
        plain["gumbel_scale"] = 0.0
    search = config.search.replace(**plain, simulations=simulations or config.search.simulations)
    acting = "visits"
    if game.simultaneous:  # optimal strategies are mixed
        acting = "average" if search.selection in ("regret", "exp3") else "nash"
    settings = {**search.model_dump(exclude_defaults=True), "simulations": search.simulations, "acting": acting}
    if is_learned(network):  # other defaults of the search: say what the run has
        settings |= {name: getattr(search, name) for name in ("c_puct", "c_base", "normalize")}
        settings = {name: value for name, value in settings.items() if name not in SHARED_NODES}
        return player_config("muzero", network=str(network), exact=False, **settings)
    return player_config("search", network=str(network), exact=False, **settings)


def reference_entrants(game: Game, simulations: int) -> list[Entrant]:
    """Players that need no training: random, alpha-beta or greedy, and MCTS with rollouts, if they support the game."""
    mixed = {"acting": "nash"} if game.simultaneous else {}
    known: list[tuple[str, str, dict[str, Any]]] = [
        ("random", "random", {}),
        ("alpha-beta, depth 3", "alphabeta", {"depth": 3}),
        ("greedy", "greedy", {}),
        (f"random playouts, {simulations} simulations", "search", {"simulations": simulations, **mixed}),
    ]
    found = []
    for name, kind, settings in known:
        config = player_config(kind, **settings)
        try:
            config.open(game).close()
        except ValueError:  # it does not support this game
            continue
        found.append(Entrant(name, config))
    kinds = [entrant.config.kind for entrant in found]
    return [one for one in found if not (one.config.kind == "greedy" and "alphabeta" in kinds)]


def run_pairings(entrants: Sequence[Entrant]) -> list[Pairing]:
    """Pairings: each checkpoint with the two before it, the latest with all players, references with each other and
    with the first, the middle and the latest checkpoint. Players of very different strength are connected by others."""
    rated = [entrant for entrant in entrants if entrant.iteration is not None]
    others = [entrant for entrant in entrants if entrant.iteration is None]
    pairs = [(rated[i], rated[j]) for j in range(len(rated)) for i in range(j) if j - i <= 2 or j == len(rated) - 1]
    measured = {rated[place].name: rated[place] for place in (0, len(rated) // 2, len(rated) - 1)}
    pairs += [(checkpoint, other) for checkpoint in measured.values() for other in others]
    pairs += [(others[i], others[j]) for j in range(len(others)) for i in range(j)]
    return [(first.config, second.config) for first, second in pairs]


def run_openings(game: Game, pairs: int, seed: int) -> Openings:
    """Openings of two random turns, of one in short games, and of none in very short games."""
    from ramify.training.fitting import game_size

    turns = game_size(game).turns
    openings = Openings(f"random:{2 if turns >= 6 else 1}" if turns >= 4 else "none")
    try:
        openings.take(game, pairs, seed)
    except ValueError:  # the game can end within the random turns
        return Openings("none")
    return openings


def rate_run(
    folder: Path,
    plan: RatingPlan,
    *,
    results: Results | None = None,
    parallel: ParallelSettings | None = None,
    watch: Watch | None = None,
) -> RunRating:
    """Rate the checkpoints of a run, finished or not. Games that are in ``results`` are not played again.

    On Ctrl-C the standings are incomplete.
    """
    config = read_run(folder)
    game = config.make_game()
    entrants = checkpoint_entrants(folder, config, game, plan)
    if plan.references:
        entrants += reference_entrants(game, plan.simulations or config.search.simulations)
    if len(entrants) < 2:
        raise ValueError(
            f"the run in {folder} has only one checkpoint and no references: there is nothing to compare it with"
        )
    conditions = MatchConfig(run_openings(game, plan.games // 2, config.seed), config.seed)
    tournament = Tournament(game, tuple(run_pairings(entrants)), plan.games, conditions)
    standings = tournament.run(results=results, parallel=parallel, watch=watch, on_interrupt="return")
    return RunRating(config, game, plan, tuple(entrants), standings)


def describe_rating(rating: RunRating) -> dict[str, Any]:
    """A rating as plain data for the report and for JSON, with the best player first."""
    standings, names = rating.standings, rating.names
    by_name = {entrant.name: entrant for entrant in rating.entrants}
    played = {identity for game in standings.counted for identity in game.fixture.players}
    # The first checkpoint has games against weak and strong players. The random player mostly loses every game, so
    # intervals relative to it would be very wide.
    anchor = rating.entrants[0].config.identity
    ratings = standings.ratings(anchor=anchor if anchor in played else None)
    lines = standings.crosstable()
    players = []
    for row in ratings.table:
        own = [line for (player, _), line in lines.items() if player == row.player]
        entrant = by_name[names[str(row.player)]]
        tally = {name: sum(getattr(line, name) for line in own) for name in ("wins", "draws", "losses")}
        numbers = {"elo": row.elo, "low": row.low, "high": row.high, "games": int(row.games), "points": row.points}
        players.append({"name": entrant.name, "iteration": entrant.iteration, "step": entrant.step, **numbers, **tally})
    pairs = [
        {"players": [names[a], names[b]], "wins": line.wins, "draws": line.draws, "losses": line.losses}
        for (a, b), line in lines.items()
        if list(names).index(a) < list(names).index(b)
    ]
    return {
        "game": rating.game.name,
        "params": plain_params(rating.game),
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "ramify": package_version(),
        "simulations": rating.plan.simulations or rating.config.search.simulations,
        "games_per_pairing": rating.plan.games,
        "anchor": names[str(ratings.anchor)],
        "players": players,
        "pairings": pairs,
        "forfeits": len(standings.forfeits),
        "samples": [describe_game(game, names) for game in sample_games(rating)],
    }


def sample_games(rating: RunRating) -> list[Played]:
    """Games of the latest checkpoint: against the best reference, the first checkpoint, and the previous one."""
    own, names = rating.latest.config.identity, rating.names
    table = [str(row.player) for row in rating.standings.ratings().table]
    references = {entrant.config.identity for entrant in rating.entrants if entrant.iteration is None}
    checkpoints = [entrant.config.identity for entrant in rating.entrants if entrant.iteration is not None]
    wanted = [*[player for player in table if player in references][:1], checkpoints[0], *checkpoints[-2:-1]]
    found = []
    others = list(dict.fromkeys(player for player in wanted if player != own and player in names))
    for number, other in enumerate(others):  # each with a different opening
        games = [game for game in rating.standings.counted if set(game.fixture.players) == {own, other}]
        found += games[2 * number % len(games) :][:1] if games else []
    return found[:SAMPLES]


def describe_game(game: Played, names: dict[str, str]) -> dict[str, Any]:
    """A game as plain data: players, start, actions and result."""
    return {
        "players": [names[identity] for identity in game.fixture.players],
        "start": game.fixture.opening.start,
        "opening": len(game.fixture.opening.actions),
        "actions": [list(turn) for turn in game.actions],
        "returns": list(game.returns),
        "winner": game.winner,
    }


def write_rating(folder: Path, found: dict[str, Any]) -> Path:
    """Write a rating to the run's folder; returns its file."""
    path = folder / RATINGS
    write_atomically(path, (json.dumps(found, indent=2, ensure_ascii=False) + "\n").encode())
    return path


def read_rating(folder: Path) -> dict[str, Any] | None:
    """The rating in a run's folder; None if it is missing or cannot be read."""
    try:
        found: dict[str, Any] = json.loads((folder / RATINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found if isinstance(found, dict) and "players" in found else None
