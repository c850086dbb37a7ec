"""``ramify watch``: two players play a game against each other on the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.arena import MISTAKES, read_players
from ramify.cli.common import columns, cut, cut_note, fail, print_position
from ramify.cli.curves import COLUMNS

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

    from ramify.arena import PlayerConfig, SearchPlayerConfig
    from ramify.games import Game, State

NAMES = ("red", "blue")
STYLES = ("bold red", "bold blue")  # of the players' stones
SIDES = {  # what a game itself calls its players; any other has a player 0 and a player 1
    **dict.fromkeys(("tictactoe", "connect_four", "hex"), ("x", "o")),
    "chess": ("white", "black"),
    "pyrat": ("the rat", "the python"),
}
HISTORY = 24  # values shown beside the position
BESIDE = 40  # columns that the players take there


@dataclass(frozen=True)
class Choice:
    """What a player decided, what the action is called, and the reward the player still expects (None: unknown)."""

    player: int
    action: int
    name: str
    value: float | None
    kept: int  # visits that the player's graph had before it searched


class Player:
    """A player that searches and keeps its graph from turn to turn."""

    def __init__(self, game: Game, number: int, config: SearchPlayerConfig, seed: int) -> None:
        from ramify.engine import Searcher

        self.number = number
        self.label = config.label
        search = config.search_config().replace(graph=True)
        self.searcher = Searcher(game, config.open_evaluator(game), search, seed=seed)
        self.searched = False

    def choose(self, state: State) -> Choice:
        """The action to play now."""
        result = self.searcher.run(state)
        self.searched = True
        action = result.action()
        mine = action[self.number] if isinstance(action, tuple) else action
        kept = int(result.visits.sum()) + 1 - result.stats["simulations"]
        value = float(result.value[self.number])
        return Choice(self.number, mine, state.action_name(mine, self.number), value, kept)

    def follow(self, *actions: int) -> None:
        """This was played: what is known of the rest of the game stays."""
        if self.searched:
            self.searcher.advance(*actions)

    def close(self) -> None:
        """There is nothing to end."""


class AnyPlayer:
    """A player of any other kind, such as alphabeta or a program that speaks UCI."""

    def __init__(self, game: Game, number: int, config: PlayerConfig, seed: int) -> None:
        self.number, self.label, self.seed, self.turns = number, config.label, seed, 0
        self.player: Any = config.open(game)

    def choose(self, state: State) -> Choice:
        """The action to play now."""
        from ramify.arena import Turn

        turn = Turn(state.copy(), self.number, self.seed + self.turns, self.turns)
        value = None
        if hasattr(self.player, "consider"):
            (found,) = self.player.consider([turn])
            action, value = found.action, found.value
        else:
            (action,) = self.player.choose([turn])
        return Choice(self.number, action, state.action_name(action, self.number), value, 0)

    def follow(self, *_: int) -> None:
        """This was played."""
        self.turns += 1

    def close(self) -> None:
        self.player.close()


def open_player(game: Game, number: int, config: PlayerConfig, seed: int) -> Player | AnyPlayer:
    """The player to watch."""
    from ramify.arena import SearchPlayerConfig

    return (Player if isinstance(config, SearchPlayerConfig) else AnyPlayer)(game, number, config, seed)  # type: ignore[arg-type]


Show = Callable[["State", list[Choice]], None]


def play(state: State, players: Sequence[Player | AnyPlayer], show: Show) -> int:
    """Play the game to its end, in place; `show` sees every position and the choices so far. Returns the turns."""
    turns, choices = 0, list[Choice]()
    while not state.is_over:
        latest = [players[number].choose(state) for number in state.acting]
        state.apply(*(choice.action for choice in latest))
        for player in players:
            player.follow(*(choice.action for choice in latest))
        turns += 1
        choices += latest
        show(state, choices)
    return turns


def watch(
    game: options.GameName = "hex",
    first: Annotated[
        str, typer.Argument(help="The first player, such as alphabeta:depth=3 or search:simulations=200.")
    ] = "search:simulations=4000",
    second: Annotated[str, typer.Argument(help="The second player.")] = "search:simulations=20000",
    param: options.Params = None,
    network: options.Network = None,
    set_: options.SearchSettings = None,
    seed: options.Seed = 0,
    pause: Annotated[float, typer.Option(min=0, help="Minimum time per turn on a terminal, in seconds.")] = 0.3,
) -> None:
    """Watch two players play a game against each other.

    Players that search keep their search graph from turn to turn. --network
    and --set are defaults for them. The same seed shows the same game.

    \b
    ramify watch hex -p size=7
    ramify watch hex search:simulations=50 alphabeta:depth=3 -p size=7 --network hex-7
    ramify watch connect_four search:simulations=500 search:simulations=5000 --pause 1
    """
    from rich.console import Console

    from ramify.games import make

    params, settings = options.read_options(game, param, set_)
    players: list[Player | AnyPlayer] = []
    try:
        state = make(game, **params).initial_state(seed)
        for number, config in enumerate(read_players([first, second], network, settings)):
            players.append(open_player(state.game, number, config, 2 * seed + number))
        console = Console(highlight=False)
        follow = watch_live if console.is_terminal else watch_plain
        started = time.perf_counter()
        turns = follow(console, state, players, pause)
    except MISTAKES as error:
        fail(error)
    finally:
        for player in players:
            player.close()
    ending = summary(str(state.game), state.returns.tolist(), sides(state.game))
    console.print(ending.append(f" after {turns} turns in {time.perf_counter() - started:.1f} s"), soft_wrap=True)


def watch_live(console: Console, state: State, players: Sequence[Player | AnyPlayer], pause: float) -> int:
    """The position in place, turn after turn, and beside it what the players expect."""
    from rich.live import Live

    with Live(screen(state, players, [], console.width), console=console, auto_refresh=False) as live:
        shown = time.perf_counter()

        def show(state: State, choices: list[Choice]) -> None:
            nonlocal shown
            time.sleep(max(0.0, shown + pause - time.perf_counter()))
            shown = time.perf_counter()
            live.update(screen(state, players, choices, console.width), refresh=True)

        return play(state, players, show)


def watch_plain(console: Console, state: State, players: Sequence[Player | AnyPlayer], _: float) -> int:
    """Who plays, one line per choice and the position at the end: for files and pipes."""
    shown = 0
    for player in players:
        console.print(introduction(player, state.game), soft_wrap=True)

    def show(_: State, choices: list[Choice]) -> None:
        nonlocal shown
        for choice in choices[shown:]:
            console.print(caption(choice), soft_wrap=True)
        shown = len(choices)

    turns = play(state, players, show)
    print_position(console, colour(str(state)))
    return turns


def sides(game: Game) -> tuple[str, str]:
    """What the players are called on the board of this game."""
    return SIDES.get(game.name, ("player 0", "player 1"))


def introduction(player: Player | AnyPlayer, game: Game) -> Text:
    """The player's colour, side and text."""
    from rich.text import Text

    text = Text(NAMES[player.number], STYLES[player.number])
    who = f" is {sides(game)[player.number]}: {player.label}"
    return text.append(who, "default")


def screen(state: State, players: Sequence[Player | AnyPlayer], choices: list[Choice], width: int) -> Group:
    """The position, the players beside it (below it where there is no room), and then the latest choice."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    board, people = colour(str(state)), Text()
    for player in players:
        people.append("\n").append_text(introduction(player, state.game)).append("\n")
        values = [choice.value for choice in choices if choice.player == player.number and choice.value is not None]
        people.append(chances(values)).append("\n")
    last = caption(choices[-1]) if choices else Text()
    if columns(board) + 4 + BESIDE > width:
        return Group(cut(board), cut_note(board, width), people, last)
    grid = Table.grid(padding=(0, 4))
    grid.add_row(cut(board), people)
    return Group(grid, last)


def chances(values: Sequence[float]) -> str:
    """The latest values as a row of small columns, from the worst to the best they could be (at least -1 to 1)."""
    if not values:
        return ""
    most, top = max(1.0, *map(abs, values)), len(COLUMNS) - 1
    columns = [COLUMNS[round((value / most + 1) / 2 * top)] for value in values[-HISTORY:]]
    return f"expects {values[-1]:+.2f} {''.join(columns)}"


def colour(text: str) -> Text:
    """A printed position with the stones and edges of x in one colour and those of o in another."""
    from rich.text import Text

    painted = Text()
    for line in text.splitlines():
        letters_of_columns = line.split()[:2] == ["a", "b"]
        for number, word in enumerate(line.split(" ")):
            style = {"x": STYLES[0], "o": STYLES[1]}.get(word.lower(), "")
            painted.append(" " if number else "").append(word, "dim" if letters_of_columns else style)
        painted.append("\n")
    return painted


def caption(choice: Choice) -> Text:
    """What just happened."""
    from rich.text import Text

    text = Text(NAMES[choice.player], STYLES[choice.player])
    expected = "" if choice.value is None else f" (expects {choice.value:+.2f}, {choice.kept:,} visits kept)"
    return text.append(f" plays {choice.name}{expected}", "default")


def summary(game: str, returns: Sequence[float], sides: Sequence[str]) -> Text:
    """How the game ended."""
    from rich.text import Text

    text = Text(f"{game}: ")
    if returns[0] == returns[1]:
        return text.append("a draw")
    winner = int(returns[1] > returns[0])
    return text.append(NAMES[winner], STYLES[winner]).append(f" ({sides[winner]}) wins")
