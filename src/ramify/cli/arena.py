"""What the commands of the arena share: reading players, a progress bar, rating tables."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from ramify.cli.common import fail, print_json, table_console, watched
from ramify.cli.options import read_options, with_defaults, with_reward

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ramify.arena import MatchConfig, PlayerConfig, Progress, Ratings, Standings
    from ramify.arena.draws import DrawModel
    from ramify.arena.matches import Watch
    from ramify.arena.played import Played
    from ramify.games import Game
    from ramify.store import Store

AT_SIMULATIONS = re.compile(r" @(\d+)")
MISTAKES = (ValueError, TypeError, ImportError, OSError, RuntimeError, KeyError)


@contextmanager
def resumable(kept: str = "Finished games are saved") -> Iterator[None]:
    """Work that Ctrl-C interrupts and the same command resumes; mistakes are told in one line."""
    try:
        yield
    except KeyboardInterrupt:
        print(f"ramify: stopped. {kept}; run the same command again to resume.", file=sys.stderr)
        raise typer.Exit(130) from None
    except MISTAKES as error:
        fail(error)


@dataclass(frozen=True)
class GivenOptions:
    """``-p``, ``-s`` and ``--network`` as typed."""

    param: list[str] | None = None
    set_: list[str] | None = None
    network: str | None = None


@dataclass(frozen=True)
class Setup:
    """The game, the players and the match config, all checked."""

    game: Game
    players: list[PlayerConfig]
    config: MatchConfig


@dataclass(frozen=True)
class How:
    """How games are run and stored. None of it changes the games."""

    store: str
    concurrency: int = 16
    workers: int = 0
    replay: bool = False
    count_forfeits: bool = False
    cluster: str | None = None


def read_setup(
    game: str,
    options: GivenOptions,
    players: Sequence[str],
    opening: str,
    seed: int,
    max_moves: int | None,
    adjudicate_above: float | None,
) -> Setup:
    """The game, the players and the match config; ends the command on an error."""
    from ramify.arena import Limits, MatchConfig, Openings

    params, settings = read_options(game, options.param, options.set_)
    try:
        limits = Limits(max_moves=max_moves, adjudicate_above=adjudicate_above)
        config = MatchConfig(Openings(read_openings(opening)), seed, limits)
        chosen = read_players(players, options.network, settings)
        return Setup(game_for(game, params, chosen), chosen, config)
    except MISTAKES as error:
        fail(error)


def game_for(name: str, params: dict[str, Any], players: Sequence[PlayerConfig]) -> Game:
    """The game that players play: for the reward that their network was trained for, unless one is given."""
    from ramify.games import make

    return make(name, **with_reward(name, params, *(getattr(player, "network", None) for player in players)))


def read_openings(text: str) -> str | list[tuple[str, ...]]:
    """Openings from their text: a kind, or a file."""
    from ramify.games.files import openings

    if openings.is_opening_file(text):
        return openings.read_openings(text)
    if Path(text).suffix or Path(text).name != text:
        raise ValueError(f"there is no file {text!r} with openings")
    return text


def read_players(
    texts: Sequence[str], network: str | None = None, settings: dict[str, Any] | None = None
) -> list[PlayerConfig]:
    """Players from their texts. ``network`` and search ``settings`` are defaults for players that search."""
    import ramify.protocols  # noqa: F401 - registers its kinds of players

    players = with_defaults(texts, network, settings or {})
    for config in players:
        _ = config.identity  # raises if a file that it names is missing
    return players


def check_save(game: Game, file: Path) -> None:
    """End the command if games cannot be written to this file."""
    from ramify.arena.game_files import check_file

    try:
        check_file(game, file)
    except ValueError as error:
        fail(error)


def save_games(file: Path, game: Game, games: Sequence[Played], names: dict[str, str]) -> None:
    """Write the games of a match; ends the command if that fails."""
    from ramify.arena.game_files import write_games

    try:
        write_games(file, game, games, names)
    except (ImportError, OSError) as error:
        fail(error)


@contextmanager
def open_store(place: str | Path) -> Iterator[Store]:
    """The store at a path or a URL; ends the command if it cannot be opened or used."""
    try:
        from ramify.store import Store, StoreError
    except ImportError as error:
        fail(error)
    try:
        opened = Store(place)
    except (StoreError, ImportError) as error:
        fail(error)
    try:
        with opened as store:
            yield store
    except StoreError as error:
        fail(error)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Watch | None]:
    """A progress bar with games, rate and time left; only on a terminal."""
    if not watched(quiet):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as Bar

    columns = [TextColumn("games"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[rate]}")]
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("games", total=None, rate="")
        yield lambda progress: bar.update(
            task, total=progress.wanted, completed=progress.done, rate=rate_text(progress)
        )


def rate_text(progress: Progress) -> str:
    """The rate, the time left, and the number of games that were in the store."""
    found = f"  {progress.found} from the store" if progress.found else ""
    if progress.seconds_left is None:
        return found.strip()
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    return f"{progress.games_per_s:.2f}/s  {minutes}:{seconds:02d} left{found}"


def find_anchor(labels: dict[str, str], anchor: str | None, players: Sequence[PlayerConfig] = ()) -> str | None:
    """The identity of the player meant, by its text, its identity or its name in tables; ends the command where there
    is none."""
    if anchor is None:
        return None
    for identity, label in labels.items():
        if anchor in (identity, label):
            return identity
    for identity, name in table_names(labels, players).items():
        if anchor == name:
            return identity
    from ramify.arena import read_player

    try:
        if (identity := read_player(anchor).identity) in labels:
            return identity
    except ValueError:
        pass
    return fail(f"there is no player {anchor!r}; the players are {', '.join(labels.values())}")


def by_age(store: Store, players: Sequence[PlayerConfig]) -> list[str]:
    """Identities of players, the one that has been in the store longest first."""
    ages = {identity: age for age, identity in enumerate(store.players())}
    return sorted((config.identity for config in players), key=lambda one: ages.get(one, len(ages)))


def different(labels: dict[str, str]) -> dict[str, str]:
    """Labels by identity, with the identity added to labels that occur twice."""
    texts = list(labels.values())
    return {one: f"{text} [{one[:6]}]" if texts.count(text) > 1 else text for one, text in labels.items()}


def table_names(labels: dict[str, str], players: Sequence[PlayerConfig]) -> dict[str, str]:
    """What tables call the players, by identity: short, and different."""
    from ramify.arena import short_names

    names = {config.identity: config.name for config in players}
    short = short_names(list(labels.values()), [names.get(identity) for identity in labels])
    return different(dict(zip(labels, short, strict=True)))


def describe(standings: Standings, ratings: Ratings, labels: dict[str, str]) -> list[dict[str, Any]]:
    """One row per player, best first, with points and rating."""
    names = {config.identity: config.name for config in standings.players}
    lines = standings.crosstable()
    rows = []
    for rating in ratings.table:
        own = [line for (player, _), line in lines.items() if player == rating.player]
        rows.append(
            {
                "player": labels[str(rating.player)],
                "name": names.get(str(rating.player)),
                "identity": rating.player,
                "elo": rating.elo,
                "low": rating.low,
                "high": rating.high,
                "group": rating.group,
                "games": int(rating.games),
                "points": rating.points,
                "wins": sum(line.wins for line in own),
                "draws": sum(line.draws for line in own),
                "losses": sum(line.losses for line in own),
            }
        )
    return rows


def ratings_table(rows: list[dict[str, Any]], ratings: Ratings) -> Table:
    """The rating list of a group. The last column is the probability that a player is stronger than the next."""
    from rich.table import Table

    from ramify.arena.ratings import elo_text

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("", "player", "Elo", "95 %", "points", "games", "won", "drawn", "lost", "better than next"):
        table.add_column(name, justify="left" if name == "player" else "right", overflow="fold")
    for place, row in enumerate(rows):
        after = rows[place + 1]["identity"] if place + 1 < len(rows) else None
        interval = interval_text(row, anchor=row["identity"] == ratings.groups[row["group"]][0])
        better = "" if after is None else f"{100 * ratings.superiority(row['identity'], after):.1f} %"
        share = f"{row['points']:g}  ({100 * row['points'] / max(1, row['games']):.1f} %)"
        numbers = [str(row[name]) for name in ("games", "wins", "draws", "losses")]
        table.add_row(str(place + 1), row["player"], elo_text(row["elo"]), interval, share, *numbers, better)
    return table


def interval_text(row: Mapping[str, Any], *, anchor: bool) -> str:
    """The 95 % interval of a rating; the anchor has none."""
    from ramify.arena.ratings import elo_text

    return "anchor" if anchor else f"{elo_text(row['low'])} … {elo_text(row['high'])}"


def few_games(players: Iterable[tuple[str, int]]) -> str:
    """A sentence on the players (name, games) with too few games for a rating; empty if there are none."""
    from ramify.arena.ratings import FEW_GAMES

    few = ", ".join(f"{name} ({games})" for name, games in players if games < FEW_GAMES)
    return f"Too few games for a rating (fewer than {FEW_GAMES}): {few}." if few else ""


def crosstable(standings: Standings, rows: list[dict[str, Any]]) -> Table:
    """The points of each player against each other player."""
    from rich.table import Table

    lines = standings.crosstable()
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("")
    table.add_column("player", overflow="fold")
    for place in range(len(rows)):
        table.add_column(str(place + 1), justify="right")
    for place, row in enumerate(rows):
        cells = []
        for other in rows:
            line = lines.get((row["identity"], other["identity"]))
            cells.append("–" if other is row else "" if line is None else f"{line.points:g}/{line.games}")
        table.add_row(str(place + 1), row["player"], *cells)
    return table


def print_standings(
    console: Console, standings: Standings, ratings: Ratings, rows: list[dict[str, Any]], *, cross: bool
) -> None:
    """Print the rating list of each group, and what Elo means."""
    from ramify.arena.ratings import MEANING, elo_text

    if len(ratings.groups) > 1:
        console.print(
            f"There are {len(ratings.groups)} groups of players without games between them. "
            "Ratings are comparable within a group only."
        )
    for number in range(len(ratings.groups)):
        own = [row for row in rows if row["group"] == number]
        if len(ratings.groups) > 1:
            console.print(f"group {number + 1}", style="bold")
        console.print(ratings_table(own, ratings))
        if cross and len(own) > 2:
            console.print(crosstable(standings, own))
    if ratings.advantage_error:
        console.print(f"First-move advantage: {elo_text(ratings.advantage)} ± {1.96 * ratings.advantage_error:.0f} Elo")
    if few := few_games((row["player"], row["games"]) for row in rows):
        console.print(few, markup=False, soft_wrap=True)
    names = {row["identity"]: row["player"] for row in rows}
    zero = f"{names[ratings.anchor]}, the anchor" if len(ratings.groups) == 1 else "the anchor of each group"
    console.print(f"Elo is relative to {zero}.", markup=False, soft_wrap=True)
    console.print(f"{MEANING}.", style="dim")
    if at := AT_SIMULATIONS.search(" ".join(names.values())):
        console.print(f"@{at[1]} means {at[1]} simulations per move.", style="dim")


def forfeit_lines(standings: Standings, labels: dict[str, str], least: float) -> list[str]:
    """A line for each player that forfeited more than a share ``least`` of its games, with the first reason."""
    games, failed = Counter[str](), dict[str, list[str]]()
    for game in standings.games:
        games.update(set(game.fixture.players))
        for seat in game.forfeited:
            failed.setdefault(game.fixture.players[seat], []).append(game.detail)
    return [
        f"{labels[player]} forfeited {len(details)} of its {games[player]} games ({details[0]})"
        for player, details in failed.items()
        if len(details) > least * games[player]
    ]


def report(
    standings: Standings,
    labels: dict[str, str],
    anchors: Sequence[str],
    *,
    as_json: bool,
    cross: bool,
    more: dict[str, Any],
) -> None:
    """Print the standings: whole texts of players in JSON, short ones in tables.

    The anchor is the first of ``anchors`` with games that count.

    After Ctrl-C these are the standings so far, and the command ends with exit code 130.
    """
    labels = labels if as_json else table_names(labels, standings.players)
    mostly = forfeit_lines(standings, labels, 0.5)
    if standings.games:
        settings = more.pop("rating", {})
        ratings, rows = rated(standings, labels, anchors, settings)
        if as_json:
            draws = None if ratings is None else standings.draw_model(**settings)
            print_document(standings, ratings, draws, rows, labels, {"warnings": mostly, **more})
        else:
            console = table_console()
            for line in mostly:
                console.print(line, style="red", markup=False, soft_wrap=True)
            if ratings is not None:
                print_standings(console, standings, ratings, rows, cross=cross)
            for line in forfeit_lines(standings, labels, 0.0):
                if line not in mostly:
                    console.print(line, style="red", markup=False, soft_wrap=True)
            if standings.forfeits and not standings.count_forfeits:
                console.print(f"Forfeited games, not counted: {len(standings.forfeits)}", style="dim")
    if not standings.complete:
        print(
            f"ramify: stopped. {len(standings.games)} games are saved; run the same command again"
            f"{' without --replay' if more.get('replay') else ''} to resume.",
            file=sys.stderr,
        )
        raise typer.Exit(130)


def rated(
    standings: Standings, labels: dict[str, str], anchors: Sequence[str], settings: dict[str, Any]
) -> tuple[Ratings | None, list[dict[str, Any]]]:
    """The ratings and the rows of the list; None and no rows if no game counts."""
    playing = {identity for game in standings.counted for identity in game.fixture.players}
    if not playing:
        return None, []
    anchor = next((identity for identity in anchors if identity in playing), None)
    ratings = standings.ratings(**settings, anchor=anchor)
    return ratings, describe(standings, ratings, labels)


def print_document(
    standings: Standings,
    ratings: Ratings | None,
    draws: DrawModel | None,
    rows: list[dict[str, Any]],
    labels: dict[str, str],
    more: dict[str, Any],
) -> None:
    """Print the standings as JSON."""
    table = {f"{a} {b}": [line.wins, line.draws, line.losses] for (a, b), line in standings.crosstable().items()}
    failed = [
        f"{labels[game.fixture.players[0]]} – {labels[game.fixture.players[1]]}: {game.detail}"
        for game in standings.forfeits
    ]
    numbers: dict[str, Any] = {}
    if ratings is not None and draws is not None:
        numbers = {
            "anchor": ratings.anchor,
            "groups": ratings.groups,
            "advantage": ratings.advantage,
            "draw_model": {"nu": draws.nu, "strengths": draws.strengths},
        }
    found = {"players": rows, "crosstable": table, **numbers, "forfeits": failed, "complete": standings.complete}
    print_json({"warnings": more.pop("warnings"), **found, "forfeits_counted": standings.count_forfeits, **more})
