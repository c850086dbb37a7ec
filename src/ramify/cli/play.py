"""``ramify play``: sit down against a search player, or any other, in the terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.common import fail

if TYPE_CHECKING:
    from ramify.cli.opponents import Opponent
    from ramify.engine import Searcher
    from ramify.games import State

SIMULATIONS = 400  # without --simulations; an answer at once


def play(
    game: options.GameName = "hex",
    param: options.Params = None,
    side: Annotated[int, typer.Option(min=0, max=1, help="Your player: 0 moves first, 1 second.")] = 0,
    simulations: Annotated[
        int | None,
        typer.Option(min=1, help=f"Simulations per move. Default: {SIMULATIONS}, or unlimited with --seconds."),
    ] = None,
    seconds: Annotated[float | None, typer.Option(help="Time per move in seconds.")] = None,
    set_: options.SearchSettings = None,
    network: options.Network = None,
    against: Annotated[
        str | None,
        typer.Option(
            metavar="KIND:SETTINGS", help="The opponent, such as uci:command=stockfish,depth=5. Default: the search."
        ),
    ] = None,
    state: options.StateText = None,
    actions: options.Actions = "",
    seed: options.Seed = 0,
) -> None:
    """Play a game against the search, or another player.

    Without --network the search uses a shipped network if there is one for the
    game, otherwise (and with --network rollout) random playouts.

    Type a move by its name when it is your turn. Other words are commands:

    \b
    hint         what the search would play, and why
    heat         how often the search looked at each move, on the board in Hex
    moves        every legal move
    undo         take your last move back
    again        ask an opponent that has failed once more
    new          another game
    save FILE    write the game down
    help, quit   Ctrl-D and Ctrl-C end the game as well; during a hint or heat
                 Ctrl-C shows what was found so far

    \b
    ramify play hex -p size=7
    ramify play hex -p size=11 --side 1 --seconds 5
    ramify play hex -p size=5 --network runs/hex-5
    ramify play connect_four --simulations 5000
    ramify play pyrat -p preset=tiny
    ramify play chess --against uci:command=stockfish,depth=5
    ramify play hex -p size=11 --against "htp:command=mohex"
    """
    from ramify.cli.analyze import find_position
    from ramify.cli.session import PlaySession

    params, settings = options.read_options(game, param, set_)
    start = find_position(game, params, state, actions, seed)
    limits = {"simulations": simulations, "seconds": seconds}
    try:
        adviser, knowledge = make_adviser(start, network, limits, seed, settings)
        opponent = make_opponent(start, adviser, knowledge, against)
    except (ValueError, TypeError, ImportError, RuntimeError, OSError) as error:
        fail(error)

    def again(number: int) -> State:
        return start.copy() if state or actions else start.game.initial_state(seed + number)

    try:
        PlaySession(again, side, opponent, adviser).run()
    finally:
        opponent.close()


def make_adviser(
    state: State, network: str | None, limits: dict[str, Any], seed: int, settings: dict[str, Any]
) -> tuple[Searcher, str]:
    """The search that gives hints, and what it knows."""
    from ramify import _core
    from ramify.engine import SearchConfig, Searcher
    from ramify.hex import evaluator_for

    game = state.game
    simulations, seconds = limits["simulations"], limits["seconds"]
    evaluator, knowledge = evaluator_for(game, network)
    limited = seconds is not None or {"max_seconds", "max_evaluations"} & settings.keys()
    usual = {
        "simulations": simulations or (2**53 if limited else SIMULATIONS),
        "max_seconds": seconds,
        "graph": True,
        "canonical": game.name == "hex",
        "solver": isinstance(game, _core.Game) and not game.simultaneous,
        "max_nodes": 1_000_000,
    }
    return Searcher(game, evaluator, SearchConfig(**{**usual, **settings}), seed=seed), knowledge


def make_opponent(state: State, adviser: Searcher, knowledge: str, against: str | None) -> Opponent:
    """Who is played against: the search, or a player of the arena."""
    import ramify.protocols  # noqa: F401 - registers the kinds it has
    from ramify.arena import read_player
    from ramify.cli.opponents import ArenaOpponent, SearchOpponent

    if against is None:
        return SearchOpponent(adviser, knowledge)
    return ArenaOpponent(read_player(against), state.game)
