"""What the commands of the arena share: options, a progress bar, tables of players."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli.common import fail, parse_settings, print_json, table_console, watched

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from ramify.arena import MatchConfig, PlayerConfig, Progress, Ratings, Standings
    from ramify.arena.draws import DrawModel
    from ramify.arena.matches import Watch
    from ramify.games import Game
    from ramify.store import Store

GameName = Annotated[str, typer.Option("--game", help="A game of 'ramify games', or openspiel:NAME.")]
Parameters = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A parameter of the game; may be repeated.")
]
Opening = Annotated[
    str, typer.Option(help="How games begin: none, random:K, every:K (K turns), or a file with one opening a line.")
]
Seed = Annotated[int, typer.Option(min=0, help="Of openings and of all chance.")]
MaxMoves = Annotated[int | None, typer.Option(min=1, help="Games of so many turns are draws; default: no limit.")]
AdjudicateAbove = Annotated[
    float | None, typer.Option(help="End a game when both players' values agree so far for 4 turns; default: never.")
]
StorePath = Annotated[Path, typer.Option("--store", help="The file that keeps the games.")]
Concurrency = Annotated[int, typer.Option(min=1, help="Games at once in each process.")]
Workers = Annotated[int, typer.Option(min=0, help="Processes that play; 0: this one.")]
Anchor = Annotated[str | None, typer.Option(help="The player whose rating is 0: its text, or its identity.")]
Replay = Annotated[bool, typer.Option("--replay", help="Play all games again, also those in the store.")]
CountForfeits = Annotated[
    bool, typer.Option("--count-forfeits", help="Count games that a player forfeited as lost; default: leave them out.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

MISTAKES = (ValueError, TypeError, ImportError, OSError, RuntimeError, KeyError)


@dataclass(frozen=True)
class Setup:
    """Everything a command of the arena was told, checked."""

    game: Game
    players: list[PlayerConfig]
    config: MatchConfig


@dataclass(frozen=True)
class How:
    """How games are played and kept: it changes none of them."""

    store: Path
    concurrency: int = 16
    workers: int = 0
    replay: bool = False
    count_forfeits: bool = False


def read_setup(
    game: str,
    params: list[str] | None,
    players: Sequence[str],
    opening: str,
    seed: int,
    max_moves: int | None,
    adjudicate_above: float | None,
) -> Setup:
    """The game, the players and the config; ends the command on a mistake."""
    from ramify.arena import Limits, MatchConfig, Openings
    from ramify.games import make

    try:
        limits = Limits(max_moves=max_moves, adjudicate_above=adjudicate_above)
        config = MatchConfig(Openings(read_openings(opening)), seed, limits)
        return Setup(make(game, **parse_settings(params or [])), read_players(players), config)
    except MISTAKES as error:
        fail(error)


def read_openings(text: str) -> str | list[str]:
    """Openings as typed: a kind, or a file."""
    path = Path(text)
    if not path.is_file():
        if path.suffix or path.name != text:
            raise ValueError(f"there is no file {text!r} with openings")
        return text
    try:
        lines = [line.strip() for line in path.read_text(encoding="utf-8").splitlines()]
    except UnicodeDecodeError:
        raise ValueError(f"{text!r} is no file with openings: it is no text") from None
    return [line for line in lines if line and not line.startswith("#")]


def read_players(texts: Sequence[str]) -> list[PlayerConfig]:
    """Players as typed, engines of other programs among them."""
    import ramify.protocols  # noqa: F401 - registers the kinds it has
    from ramify.arena import read_player

    players = [read_player(text) for text in texts]
    for config in players:
        _ = config.identity  # raises where a file that it names is missing
    return players


@contextmanager
def open_store(path: Path) -> Iterator[Store]:
    """The store; ends the command where it cannot be opened, or used later."""
    try:
        from ramify.store import Store, StoreError
    except ImportError as error:
        fail(error)
    try:
        with Store(path) as store:
            yield store
    except StoreError as error:
        fail(error)


@contextmanager
def progress_bar(quiet: bool) -> Iterator[Watch | None]:
    """What shows how far it is: games, their rate, the time left. Only where somebody looks."""
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
    """Rate and time left."""
    found = f"  {progress.found} were there" if progress.found else ""
    if progress.seconds_left is None:
        return found.strip()
    minutes, seconds = divmod(round(progress.seconds_left), 60)
    return f"{progress.games_per_s:.2f}/s  {minutes}:{seconds:02d} left{found}"


def find_anchor(labels: dict[str, str], anchor: str | None, players: Sequence[PlayerConfig] = ()) -> str | None:
    """The identity of the player meant, by its text, its identity or its name; ends the command where there is none."""
    if anchor is None:
        return None
    for identity, label in labels.items():
        if anchor in (identity, label):
            return identity
    for config in players:
        if anchor == config.name:
            return config.identity
    from ramify.arena import read_player

    try:
        if (identity := read_player(anchor).identity) in labels:
            return identity
    except ValueError:
        pass
    return fail(f"there is no player {anchor!r}; the players are {', '.join(labels.values())}")


def different(labels: dict[str, str]) -> dict[str, str]:
    """Labels by identity, with the identity added where two would read alike."""
    texts = list(labels.values())
    return {one: f"{text} [{one[:6]}]" if texts.count(text) > 1 else text for one, text in labels.items()}


def table_names(labels: dict[str, str], players: Sequence[PlayerConfig]) -> dict[str, str]:
    """What tables call the players, by identity: short, and different."""
    from ramify.arena import short_names

    names = {config.identity: config.name for config in players}
    short = short_names(list(labels.values()), [names.get(identity) for identity in labels])
    return different(dict(zip(labels, short, strict=True)))


def describe(standings: Standings, ratings: Ratings, labels: dict[str, str]) -> list[dict[str, Any]]:
    """Players best first, with points and ratings."""
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
    """The rating list of a group for people. The last column: how likely a player is stronger than the next."""
    from rich.table import Table

    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for name in ("", "player", "Elo", "95 %", "points", "games", "won", "drawn", "lost", "better than next"):
        table.add_column(name, justify="left" if name == "player" else "right", overflow="fold")
    for place, row in enumerate(rows):
        after = rows[place + 1]["identity"] if place + 1 < len(rows) else None
        interval = (
            "anchor"
            if row["identity"] == ratings.groups[row["group"]][0]
            else f"{row['low']:+.0f} … {row['high']:+.0f}"
        )
        better = "" if after is None else f"{100 * ratings.superiority(row['identity'], after):.1f} %"
        share = f"{row['points']:g}  ({100 * row['points'] / max(1, row['games']):.1f} %)"
        numbers = [str(row[name]) for name in ("games", "wins", "draws", "losses")]
        table.add_row(str(place + 1), row["player"], f"{row['elo']:+.0f}", interval, share, *numbers, better)
    return table


def crosstable(standings: Standings, rows: list[dict[str, Any]]) -> Table:
    """Points of every player against every other."""
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
    """The rating list of every group, and what its figures mean."""
    from ramify.arena.ratings import MEANING

    if len(ratings.groups) > 1:
        console.print(
            f"{len(ratings.groups)} groups of players have not met: no chain of games connects them. "
            "Each is rated apart, and ratings of different groups cannot be compared."
        )
    for number in range(len(ratings.groups)):
        own = [row for row in rows if row["group"] == number]
        if len(ratings.groups) > 1:
            console.print(f"group {number + 1}", style="bold")
        console.print(ratings_table(own, ratings))
        if cross and len(own) > 2:
            console.print(crosstable(standings, own))
    if ratings.advantage_error:
        console.print(f"moving first is worth {ratings.advantage:+.0f} ± {1.96 * ratings.advantage_error:.0f} Elo")
    console.print(f"{MEANING}.", style="dim")


def forfeit_lines(standings: Standings, labels: dict[str, str], least: float) -> list[str]:
    """A line for every player that failed in more than a share ``least`` of its games: how often, and how at first."""
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
    anchor: str | None,
    *,
    as_json: bool,
    cross: bool,
    more: dict[str, Any],
) -> None:
    """Print the standings: whole texts of players in JSON, short ones in tables.

    After Ctrl-C these are the standings so far, and the command ends with exit code 130.
    """
    labels = labels if as_json else table_names(labels, standings.players)
    mostly = forfeit_lines(standings, labels, 0.5)
    if standings.games:
        settings = more.pop("rating", {})
        ratings, rows = rated(standings, labels, anchor, settings)
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
                console.print(f"Forfeited games, which are not counted: {len(standings.forfeits)}", style="dim")
    if not standings.complete:
        print(
            f"ramify: Stopped. {len(standings.games)} finished games are kept. "
            f"Run the same command again{' without --replay' if more.get('replay') else ''} to resume.",
            file=sys.stderr,
        )
        raise typer.Exit(130)


def rated(
    standings: Standings, labels: dict[str, str], anchor: str | None, settings: dict[str, Any]
) -> tuple[Ratings | None, list[dict[str, Any]]]:
    """Ratings and the rows of the list; None and no rows where no game counts."""
    playing = {identity for game in standings.counted for identity in game.fixture.players}
    if not playing:
        return None, []
    ratings = standings.ratings(**settings, anchor=anchor if anchor in playing else None)
    return ratings, describe(standings, ratings, labels)


def print_document(
    standings: Standings,
    ratings: Ratings | None,
    draws: DrawModel | None,
    rows: list[dict[str, Any]],
    labels: dict[str, str],
    more: dict[str, Any],
) -> None:
    """Everything as one JSON document."""
    table = {f"{a} {b}": [line.wins, line.draws, line.losses] for (a, b), line in standings.crosstable().items()}
    failed = [
        f"{labels[game.fixture.players[0]]} – {labels[game.fixture.players[1]]}: {game.detail}"
        for game in standings.forfeits
    ]
    numbers: dict[str, Any] = {}
    if ratings is not None and draws is not None:
        numbers = {
            "groups": ratings.groups,
            "advantage": ratings.advantage,
            "draw_model": {"nu": draws.nu, "strengths": draws.strengths},
        }
    found = {"players": rows, "crosstable": table, **numbers, "forfeits": failed, "complete": standings.complete}
    print_json({"warnings": more.pop("warnings"), **found, "forfeits_counted": standings.count_forfeits, **more})
