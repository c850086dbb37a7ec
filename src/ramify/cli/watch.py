"""``ramify watch``: two search players with different budgets play a game against each other, on the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli.common import columns, cut, cut_note, fail, parse_settings, print_position
from ramify.cli.curves import COLUMNS

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

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
    """What a player decided, what the action is called, and the reward the player still expects."""

    player: int
    action: int
    name: str
    value: float
    kept: int  # visits that the player's graph had before it searched


class Player:
    """Searches with random games as its only knowledge, and keeps its graph from turn to turn."""

    def __init__(self, game: Game, number: int, simulations: int, seed: int) -> None:
        from ramify.engine import SearchConfig, Searcher
        from ramify.evaluators import Rollout

        self.number = number
        self.simulations = simulations
        self.searcher = Searcher(game, Rollout(), SearchConfig(simulations=simulations, graph=True), seed=seed)
        self.searched = False

    def choose(self, state: State) -> Choice:
        """The action to play now."""
        from ramify.engine.result import action_by

        result = self.searcher.run(state)
        self.searched = True
        mine = action_by(self.number, result.best_action)
        kept = int(result.visits.sum()) + 1 - result.stats["simulations"]
        value = float(result.value[self.number])
        return Choice(self.number, mine, state.action_name(mine, self.number), value, kept)

    def follow(self, *actions: int) -> None:
        """This was played: what is known of the rest of the game stays."""
        if self.searched:
            self.searcher.advance(*actions)


Show = Callable[["State", list[Choice]], None]


def play(state: State, players: Sequence[Player], show: Show) -> int:
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
    game: Annotated[str, typer.Argument(help="Any game; see `ramify games`.")] = "hex",
    settings: Annotated[list[str] | None, typer.Argument(help="Its parameters, as key=value.")] = None,
    red: Annotated[int, typer.Option(min=1, help="Simulations behind every action of the first player.")] = 4_000,
    blue: Annotated[int, typer.Option(min=1, help="Simulations behind every action of the second player.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed shows the same game.")] = 0,
    pause: Annotated[float, typer.Option(min=0, help="Least seconds per turn on a terminal.")] = 0.3,
) -> None:
    """Watch two search players with different budgets play a game."""
    from rich.console import Console

    from ramify.games import make

    try:
        state = make(game, **parse_settings(settings or [])).initial_state(seed)
    except (ValueError, ImportError) as error:
        fail(error)
    console = Console(highlight=False)
    players = [Player(state.game, number, budget, 2 * seed + number) for number, budget in enumerate((red, blue))]
    follow = watch_live if console.is_terminal else watch_plain
    started = time.perf_counter()
    turns = follow(console, state, players, pause)
    ending = summary(str(state.game), state.returns.tolist(), sides(state.game))
    console.print(ending.append(f" after {turns} turns in {time.perf_counter() - started:.1f} s"), soft_wrap=True)


def watch_live(console: Console, state: State, players: Sequence[Player], pause: float) -> int:
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


def watch_plain(console: Console, state: State, players: Sequence[Player], _: float) -> int:
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


def introduction(player: Player, game: Game) -> Text:
    """Who this is, and how much it may think."""
    from rich.text import Text

    text = Text(NAMES[player.number], STYLES[player.number])
    who = f" is {sides(game)[player.number]}: {player.simulations:,} simulations per action"
    return text.append(who, "default")


def screen(state: State, players: Sequence[Player], choices: list[Choice], width: int) -> Group:
    """The position, the players beside it (below it where there is no room), and then the latest choice."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    board, people = colour(str(state)), Text()
    for player in players:
        people.append("\n").append_text(introduction(player, state.game)).append("\n")
        people.append(chances([choice.value for choice in choices if choice.player == player.number])).append("\n")
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
    return text.append(f" plays {choice.name} (expects {choice.value:+.2f}, {choice.kept:,} visits kept)", "default")


def summary(game: str, returns: Sequence[float], sides: Sequence[str]) -> Text:
    """How the game ended."""
    from rich.text import Text

    text = Text(f"{game}: ")
    if returns[0] == returns[1]:
        return text.append("a draw")
    winner = int(returns[1] > returns[0])
    return text.append(NAMES[winner], STYLES[winner]).append(f" ({sides[winner]}) wins")
