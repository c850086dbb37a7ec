"""``ramify play``: play against a search player, or any other, in the terminal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli import options
from ramify.cli.common import fail
from ramify.presentation import SIMULATIONS

if TYPE_CHECKING:
    from ramify.engine import Searcher
    from ramify.games import State
    from ramify.games.files import GameRecord
    from ramify.presentation.opponents import Opponent

Side = Annotated[int | None, typer.Option(min=0, max=1, help="Your player: 0 moves first, 1 second.", show_default="0")]
Simulations = Annotated[
    int | None,
    typer.Option(min=1, help=f"Simulations per move. Default: {SIMULATIONS}, or unlimited with --seconds."),
]
Seconds = Annotated[float | None, typer.Option(help="Time per move in seconds.")]
Against = Annotated[
    str | None,
    typer.Option(
        metavar="KIND:SETTINGS", help="The opponent, such as uci:command=stockfish,depth=5. Default: the search."
    ),
]
Load = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Continue a saved game: .json, .pgn (chess) or .sgf (Hex).")
]


def play(
    game: options.OptionalGameName = None,
    param: options.Params = None,
    side: Side = None,
    simulations: Simulations = None,
    seconds: Seconds = None,
    set_: options.SearchSettings = None,
    network: options.Network = None,
    against: Against = None,
    state: options.StateText = None,
    actions: options.Actions = "",
    load: Load = None,
    seed: options.Seed = 0,
) -> None:
    """Play a game against the search, or against another player.

    You move first; with --side 1 the opponent does. Where both players move at
    once, --side says whom you play: in PyRat 0 is the rat and 1 the python.

    Without --network the search uses plans in PyRat (--network planner), in
    other games a shipped network if there is one, otherwise material in chess
    (--network material) and random playouts elsewhere (--network rollout).

    Type a move by its name when it is your turn. PyRat is played with the arrow
    keys in a terminal. These are the commands:

    \b
    hint         show what the search would play, and the moves it looked at most
    heat         show how often the search looked at each move
    moves        list the legal moves
    undo         take back your last move
    resign       give up; the opponent wins
    again        ask the opponent again, after an error
    new          start a new game
    save FILE    save the game (.json, .pgn for chess, .sgf for Hex), or a
                 picture of the position (.svg)
    help, quit   Ctrl-D and Ctrl-C also end the game; during hint or heat
                 Ctrl-C shows what was found so far

    \b
    ramify play hex -p size=7
    ramify play hex -p size=11 --side 1 --seconds 5
    ramify play hex -p size=5 --network runs/hex-5
    ramify play connect_four --simulations 5000
    ramify play pyrat -p preset=tiny
    ramify play --load game.pgn
    ramify play chess --against uci:command=stockfish,depth=5
    ramify play hex -p size=11 --against "htp:command=mohex"
    """
    from ramify.cli.analyze import find_position
    from ramify.games import number_of_players
    from ramify.presentation.opponents import make_adviser, make_opponent

    params, settings = options.read_options(game or "hex", param, set_)
    if load is None:
        params = options.with_reward(game or "hex", params, network, options.network_of(against))
    if load is not None and (params or state or actions):
        fail("--load brings the game and the position: leave out parameters, --state and --actions")
    record = None if load is None else load_game(load, game)
    start = find_position(game or "hex", params, state, actions, seed) if record is None else record.start
    if number_of_players(start.game) == 1 and (against is not None or side == 1):
        fail(f"{start.game.name} is a game of one player, whom you play: leave out --against and --side")
    try:
        adviser, knowledge = make_adviser(start, network, (simulations, seconds), seed, settings)
        opponent = make_opponent(start, adviser, knowledge, against)
    except (ValueError, TypeError, ImportError, RuntimeError, OSError) as error:
        fail(error)

    def start_of(number: int) -> State:
        """The first position of a game: as given, else a new one (some games begin at random)."""
        return start.copy() if state or actions else start.game.initial_state(seed + number)

    run_session(start_of, side, opponent, adviser, record)


def run_session(
    start: Callable[[int], State],
    side: int | None,
    opponent: Opponent,
    adviser: Searcher,
    record: GameRecord | None,
) -> None:
    """Play until the person leaves, and end the opponent. Without ``side`` the person is who they were in the record,
    else the first player."""
    from ramify.cli.session import PlaySession

    if side is None:
        side = (record.person if record is not None else None) or 0
    try:
        PlaySession(start, side, opponent, adviser, record).run()
    finally:
        opponent.close()


def load_game(file: Path, game: str | None) -> GameRecord:
    """The game in a file; ends the command where there is none, or another one than was asked for."""
    from ramify.games.files import read_game

    try:
        record = read_game(file.expanduser())
    except OSError as error:
        fail(f"cannot read {file}: {error.strerror}")
    except (ValueError, ImportError) as error:
        fail(error)
    if game not in (None, record.start.game.name):
        fail(f"{file} is a game of {record.start.game.name}, not of {game}")
    if record.note:
        print(record.note)
    if record.result != "*" and not record.states()[-1].is_over:
        how = "by resignation" if record.resigned is not None else "here"
        print(f"The game in the file ended {how} with {record.result}; you can play on.")
    return record
