"""``ramify demo``: train a Hex network from scratch in minutes, rate it, and write a report."""

from __future__ import annotations

import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options, report
from ramify.cli.arena import progress_bar
from ramify.cli.common import fail, parse_settings, print_json
from ramify.cli.train import CURVES, PROBLEMS, end_stopped, watcher

if TYPE_CHECKING:
    from ramify.arena import Standings
    from ramify.games import Game
    from ramify.training import TrainConfig

PRESET = "hex-5"
THOUGHT = 200  # simulations behind the pictures of the report
TRAINED, RANDOM = "trained", "random"  # names of players that others are measured against
SHOWN = ("", "c3", "b3 c3", "a1 c3 d2")  # positions in the report, as actions


@dataclass(frozen=True)
class Rated:
    """Players by name, and the results of their games."""

    identities: dict[str, str]  # by name
    standings: Standings

    @property
    def names(self) -> dict[str, str]:
        """The names by identity."""
        return {identity: name for name, identity in self.identities.items()}


def demo(
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="KEY=VALUE...", help="Override training settings.")
    ] = None,
    folder: Annotated[Path, typer.Option(help="The folder of the run. An unfinished run is resumed.")] = Path(
        "runs/demo"
    ),
    games: Annotated[int, typer.Option(min=2, help="Rating games per pair of players; an even number.")] = 40,
    simulations: Annotated[int, typer.Option(min=1, help="Number of simulations per move in rating games.")] = 200,
    json: options.AsJson = False,
) -> None:
    """Train a network for 5x5 Hex from scratch, rate it, and write a report.

    Takes about four minutes on two cores. The trained player is rated against
    random moves, alpha-beta search of depth 3, and the untrained network.
    """
    started = time.perf_counter()
    try:
        from ramify.arena.matches import check_pairs
        from ramify.training import load_config

        check_pairs(games)
        config = load_config(PRESET, parse_settings(settings or []))
        trained = train_with_panel(config, folder, quiet=json)
        rated = rate(config, folder, trained, games, simulations, quiet=json)
        path = write_report(config, folder, trained, rated, time.perf_counter() - started)
    except KeyboardInterrupt:
        end_stopped(folder)
    except PROBLEMS as error:
        fail(error)
    show(rated, path, time.perf_counter() - started, as_json=json)


def train_with_panel(config: TrainConfig, folder: Path, *, quiet: bool) -> Path:
    """Train or resume; returns the network file."""
    from ramify.training import network_file, train

    with ExitStack() as stack:
        return network_file(train(config, folder, show=watcher(stack, folder, quiet=quiet)))


def rate(config: TrainConfig, folder: Path, trained: Path, games: int, simulations: int, *, quiet: bool) -> Rated:
    """Play a round robin of the trained player, the untrained one, alpha-beta and random moves."""
    from ramify.arena import MatchConfig, Openings, ParallelSettings, Tournament, player_config, round_robin
    from ramify.games import make
    from ramify.store import Store
    from ramify.training import checkpoints, network_file

    first = network_file(checkpoints(folder / "checkpoints")[0])
    search = {"simulations": simulations, "c_puct": config.search.c_puct, "fpu": config.search.fpu, "exact": False}
    players = {
        TRAINED: player_config("search", network=str(trained), **search),
        "untrained": player_config("search", network=str(first), **search),
        "alpha-beta, depth 3": player_config("alphabeta", depth=3),
        RANDOM: player_config("random"),
    }
    pairings = tuple(round_robin(list(players.values())))
    game = make(config.game, **config.params)
    tournament = Tournament(game, pairings, games, MatchConfig(Openings("random:2"), config.seed))
    with Store(folder / "ramify.db") as store, progress_bar(quiet) as watch:
        standings = tournament.run(results=store.results(), parallel=ParallelSettings(concurrency=games), watch=watch)
    return Rated({name: player.identity for name, player in players.items()}, standings)


def write_report(config: TrainConfig, folder: Path, trained: Path, rated: Rated, seconds: float) -> Path:
    """Write the report: curves, ratings and positions."""
    from ramify.games import make
    from ramify.training import as_yaml, read_metrics

    iterations = list(read_metrics(folder / "metrics.jsonl", "iteration"))
    total = int(sum(line["games"] for line in iterations))
    subtitle = (
        f"{total:,} self-play games, {iterations[-1]['positions']:,} positions, "
        f"{iterations[-1]['step']:,} training steps, {seconds:.0f} s"
    )
    game = make(config.game, **config.params)
    sections = [
        ("Training curves", report.curves(iterations, CURVES)),
        ("Ratings", report.ratings_table(rated.standings, rated.names, rated.identities[RANDOM])),
        ("Sample positions", report.pictures(thoughts(config, game, trained))),
        ("Settings", report.verbatim(as_yaml(config, only_changed=True))),
    ]
    path = folder / "report.html"
    report.write(path, report.page(f"{game}, trained from scratch", subtitle, sections))
    return path


def thoughts(config: TrainConfig, game: Game, trained: Path) -> list[tuple[str, Any, Any]]:
    """Sample positions with the trained player's search results."""
    from ramify.engine import search
    from ramify.evaluators import Network
    from ramify.games.notation import play_words
    from ramify.networks import load

    evaluator, found = Network(load(trained), "cpu"), []
    for actions in SHOWN:
        state = game.initial_state()
        play_words(state, actions.split())
        result = search(state, evaluator, THOUGHT, c_puct=config.search.c_puct)
        player = state.acting[0]
        caption = f"{'red' if player == 0 else 'blue'} to move, value {result.value[player]:+.2f}; visits in percent"
        found.append((caption, state, result))
    return found


def show(rated: Rated, path: Path, seconds: float, *, as_json: bool) -> None:
    """Print the ratings and the path of the report."""
    from ramify.arena.ratings import MEANING

    ratings = rated.standings.ratings(anchor=rated.identities[RANDOM])
    lines, names, trained = rated.standings.crosstable(), rated.names, rated.identities[TRAINED]
    rows: list[dict[str, Any]] = [
        {
            "player": names[str(rating.player)],
            "elo": round(rating.elo),
            "interval": [round(rating.low), round(rating.high)],
            "trained_scores": lines[trained, str(rating.player)].points / lines[trained, str(rating.player)].games
            if rating.player != trained
            else None,
        }
        for rating in ratings.table
    ]
    if as_json:
        return print_json({"ratings": rows, "report": str(path), "seconds": round(seconds, 1)})
    for row in rows:
        low, high = row["interval"]
        score = "" if row["trained_scores"] is None else f"   the trained player scores {row['trained_scores']:.0%}"
        print(f"{row['player']:20} {row['elo']:+5} Elo ({low:+} to {high:+}){score}")
    print(f"{MEANING}.")
    print(f"Finished in {seconds:.0f} s. Report: {path}")
    return None
