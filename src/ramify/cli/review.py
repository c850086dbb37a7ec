"""``ramify review``: find the mistakes of a played game."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail, print_json, print_warning, table_console, watched
from ramify.presentation.chess_lines import move_name

if TYPE_CHECKING:
    from ramify.arena.review import ReviewedMove
    from ramify.engine import Searcher
    from ramify.games import Game, State
    from ramify.games.files import GameRecord

SIMULATIONS = 800
SHOWN = 6  # moves of a line in the table


def review(
    file: Annotated[Path, typer.Argument(help="The game: a .pgn, .sgf or .json file.")],
    simulations: Annotated[int, typer.Option(min=2, help="Number of simulations per position.")] = SIMULATIONS,
    set_: options.SearchSettings = None,
    network: options.Network = None,
    evaluator: options.BestEvaluator = None,
    player: Annotated[int | None, typer.Option(min=0, max=1, help="Review only the moves of this player.")] = None,
    seed: options.Seed = 0,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the game with marks and better lines: .pgn or .sgf.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Show all moves, not only the weak ones.")] = False,
    json: options.AsJson = False,
) -> None:
    """Find the mistakes of a game, or of all games in a PGN file, with the better line.

    Every position is searched. A move that loses at least 0.1 of the value (in
    -1 to 1) against the best one is an inaccuracy, 0.2 a mistake, 0.3 a blunder.
    Without --network the shipped network for the game is used, if there is one.
    --out writes values as comments (before your own), marks, and better lines
    as variations; variations that were in the file are left out.

    \b
    ramify review game.pgn --network runs/chess-taught
    ramify review game.pgn --player 0 --simulations 3000 --out reviewed.pgn
    ramify review game.sgf --network hex-7
    """
    from ramify.arena.review import review as judge

    reviewed: list[tuple[GameRecord, list[ReviewedMove]]] = []
    players = (0, 1) if player is None else (player,)
    try:
        records = read_records(file)
        check_target(records[0], out)
        settings = simulations, set_, seed
        chosen = choose_evaluator(records[0].start.game, network, evaluator)
        for number, record in enumerate(records, 1):
            searcher = make_searcher(record.start.game, chosen, *settings)
            with ExitStack() as stack:
                which = f" game {number} of {len(records)}" if len(records) > 1 else ""
                reviewed.append((record, judge(record, searcher, players, progress_of(stack, json, which))))
            if out is not None:
                write_reviewed(out, reviewed)
            if not json:
                print_review(*reviewed[-1], everything=everything, number=number if len(records) > 1 else None)
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)
    if json:
        described = [describe(record, moves) for record, moves in reviewed]
        print_json(described if len(records) > 1 else described[0])


def read_records(file: Path) -> list[GameRecord]:
    """The games in a file. One that cannot be read is named on stderr; where none can be read, its error is raised."""
    from ramify.games.files import GameFileError, read_games

    found: list[GameRecord] = []
    problems: list[GameFileError] = []
    for read in read_games(file):
        if isinstance(read, GameFileError):
            problems.append(read)
        else:
            found.append(read)
    if not found:
        raise problems[0] if problems else GameFileError(f"{file}: there is no game in this file")
    for problem in problems:
        print_warning(f"a game is left out: {problem}")
    return found


def check_target(record: GameRecord, out: Path | None) -> None:
    """Raise a ValueError if the reviewed game cannot be written to this file."""
    from ramify.games.files import extensions

    possible = [name for name in extensions(record.start.game) if name != ".json"]
    if out is not None and out.suffix.lower() not in possible:
        raise ValueError(
            f"a reviewed game of {record.start.game.name} is written as {' or '.join(possible) or 'JSON: use --json'}"
        )


def choose_evaluator(game: Game, network: str | None, evaluator: str | None) -> Any:
    """The evaluator: without either, the shipped network for the game, if there is one."""
    if network is None and evaluator is None:
        network = shipped_network(game)
    return options.choose_evaluator(game, network, evaluator)[0]


def make_searcher(game: Game, chosen: Any, simulations: int, set_: list[str] | None, seed: int) -> Searcher:
    from ramify.engine import SearchConfig, Searcher
    from ramify.presentation.opponents import proves

    _, settings = options.read_options(game.name, None, set_)
    usual = {"simulations": simulations, "solver": proves(game)}
    return Searcher(game, chosen, SearchConfig(**{**usual, **settings}), seed=seed)


def shipped_network(game: Game) -> str | None:
    """The name of the shipped network for a game, if there is one and it can be run."""
    from importlib.util import find_spec

    from ramify.base.shipped import shipped_for

    found = shipped_for(game) if find_spec("torch") is not None else None
    return None if found is None else found.name


def progress_of(stack: ExitStack, quiet: bool, which: str = "") -> Any:
    """A progress bar over the moves, on a terminal."""
    if not watched(quiet):
        return None
    from rich.console import Console
    from rich.progress import Progress

    bar = stack.enter_context(Progress(console=Console(stderr=True), transient=True))
    task = bar.add_task(f"reviewing{which}", total=None)
    return lambda done, total: bar.update(task, completed=done, total=total)


def write_reviewed(out: Path, reviewed: Sequence[tuple[GameRecord, Sequence[ReviewedMove]]]) -> None:
    """Write the games that are reviewed so far."""
    from ramify.arena.review import annotated
    from ramify.games.files import dumps
    from ramify.selfplay.game_files import value_note

    game = reviewed[0][0].start.game
    texts = [
        dumps(out.suffix, annotated(record, moves, lambda value, made: value_note(game, value, made)))
        for record, moves in reviewed
    ]
    out.write_text("\n".join(texts), encoding="utf-8")


def names(state: State, actions: Sequence[int]) -> list[str]:
    """Moves from a position on: in chess as SAN where python-chess is installed."""
    position, found = state.copy(), []
    for action in actions:
        found.append(move_name(position, action))
        position.apply(action)
    return found


def describe(record: GameRecord, moves: Sequence[ReviewedMove]) -> dict[str, Any]:
    """The review as plain data."""
    from ramify.arena.review import accuracy

    states = record.states()
    return {
        "game": record.start.game.name,
        "players": list(record.players),
        "result": record.result,
        "mean_loss": [accuracy(moves, player) for player in (0, 1)],
        "moves": [
            {
                "turn": move.number,
                "player": move.player,
                "move": move_name(states[move.number], move.action),
                "value": move.value,
                "best": move_name(states[move.number], move.best),
                "best_value": move.best_value,
                "loss": move.loss,
                "judgement": move.judgement,
                "better": names(states[move.number], move.better),
            }
            for move in moves
        ],
    }


def print_review(
    record: GameRecord, moves: Sequence[ReviewedMove], *, everything: bool, number: int | None = None
) -> None:
    """Print a table of the weak moves, or all, and a summary for each player; before them the number of the game."""
    from rich.table import Column, Table
    from rich.text import Text

    from ramify.presentation.names import seat_name

    game = record.start.game
    if number is not None:
        title = " - ".join(record.players[player] or seat_name(game, player) for player in (0, 1))
        facts = ", ".join(filter(None, [title, record.date, record.result]))
        table_console().print(f"\ngame {number}: {facts}", style="bold", highlight=False, markup=False)
    console, data = table_console(), describe(record, moves)
    shown = [row for row in data["moves"] if everything or row["judgement"]]
    table = Table(
        Column("turn", justify="right"),
        "player",
        "move",
        Column("value", justify="right"),
        Column("best", justify="right"),
        "",
        Column("better line", no_wrap=True, overflow="ellipsis"),
        box=None,
        pad_edge=False,
    )
    for row in shown:
        line = Text(" ".join(row["better"][:SHOWN]))
        values = f"{row['value']:+.2f}", f"{row['best_value']:+.2f}"
        who = seat_name(game, row["player"]).removeprefix("player ")
        table.add_row(str(row["turn"] + 1), who, Text(row["move"]), *values, row["judgement"], line)
    if shown:
        console.print(table)
    for player in (0, 1):
        own = [move for move in moves if move.player == player]
        if own:
            counts = {
                kind: sum(move.judgement == kind for move in own) for kind in ("inaccuracy", "mistake", "blunder")
            }
            listed = ", ".join(f"{count} {plural(kind, count)}" for kind, count in counts.items())
            mean = sum(move.loss for move in own) / len(own)
            who = record.players[player] or seat_name(game, player)
            console.print(f"{who}: {len(own)} moves, mean loss {mean:.3f}; {listed}", highlight=False, markup=False)


def plural(word: str, count: int) -> str:
    return word if count == 1 else word.removesuffix("y") + "ies" if word.endswith("y") else word + "s"
