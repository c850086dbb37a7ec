"""``ramify demo``: two search players with different budgets play a game against each other, on the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli.common import fail, parse_settings

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

    from ramify.games import Game, State

DEFAULT: tuple[str, dict[str, Any]] = ("hex", {"size": 11})
NAMES = ("red", "blue")
STYLES = ("bold red", "bold blue")  # of the players' stones
BLOCKS = "▁▂▃▄▅▆▇█"
HISTORY = 24  # values shown beside the position


@dataclass(frozen=True)
class Turn:
    """One action of the game, as shown."""

    player: int
    name: str
    action: int
    value: float  # what the player expects to win: -1 (lost) to 1 (won)
    kept: int  # visits its graph already had


class Player:
    """Searches with random games as its only knowledge, and keeps its graph from turn to turn."""

    def __init__(self, game: Game, simulations: int, seed: int) -> None:
        from ramify.evaluators import Rollout
        from ramify.search import SearchConfig, Searcher

        self.simulations = simulations
        self.searcher = Searcher(game, Rollout(1), SearchConfig(simulations=simulations, graph=True), seed=seed)
        self.searched = False

    def choose(self, state: State) -> Turn:
        """The action to play now."""
        result = self.searcher.run(state)
        self.searched = True
        action, player = int(result.action()), state.acting[0]
        kept = int(result.visits.sum()) + 1 - result.stats["simulations"]
        return Turn(player, state.action_name(action), action, float(result.value[player]), kept)

    def follow(self, action: int) -> None:
        """Somebody played this: what was found out about the rest of the game stays."""
        if self.searched:
            self.searcher.advance(action)


def play(state: State, players: Sequence[Player], show: Callable[[State, list[Turn]], None]) -> list[Turn]:
    """Play the game to its end, in place; `show` sees every position."""
    turns: list[Turn] = []
    while not state.is_over:
        turns.append(players[state.acting[0]].choose(state))
        state.apply(turns[-1].action)
        for player in players:
            player.follow(turns[-1].action)
        show(state, turns)
    return turns


def demo(
    game: Annotated[str | None, typer.Argument(help="A game whose players act in turn; default: hex size=11.")] = None,
    settings: Annotated[list[str] | None, typer.Argument(help="Its parameters, as key=value.")] = None,
    red: Annotated[int, typer.Option(min=1, help="Simulations behind every action of the first player.")] = 4000,
    blue: Annotated[int, typer.Option(min=1, help="Simulations behind every action of the second player.")] = 20000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed shows the same game.")] = 0,
    pause: Annotated[float, typer.Option(min=0, help="Least seconds per action on a terminal.")] = 0.3,
) -> None:
    """Watch two search players with different budgets play a game."""
    from rich.console import Console

    from ramify.games import make

    name, params = (game, parse_settings(settings or [])) if game else DEFAULT
    try:
        chosen = make(name, **params)
    except (ValueError, ImportError) as error:
        fail(error)
    if chosen.simultaneous:
        fail(f"in {name} both players act at once; the demo shows games played in turn")
    console = Console(highlight=False)
    state = chosen.initial_state(seed)
    players = [Player(chosen, budget, 2 * seed + number) for number, budget in enumerate((red, blue))]
    watch = watch_live if console.is_terminal else watch_plain
    started = time.perf_counter()
    turns = watch(console, state, players, pause)
    console.print(summary(str(chosen), state.returns.tolist(), turns, time.perf_counter() - started), soft_wrap=True)


def watch_live(console: Console, state: State, players: Sequence[Player], pause: float) -> list[Turn]:
    """The position in place, action after action, and beside it what the players think."""
    from rich.live import Live

    with Live(screen(state, players, []), console=console, auto_refresh=False) as live:
        shown = time.perf_counter()

        def show(state: State, turns: list[Turn]) -> None:
            nonlocal shown
            time.sleep(max(0.0, shown + pause - time.perf_counter()))
            shown = time.perf_counter()
            live.update(screen(state, players, turns), refresh=True)

        return play(state, players, show)


def watch_plain(console: Console, state: State, players: Sequence[Player], _: float) -> list[Turn]:
    """One line per action and the position at the end: for files and pipes."""
    turns = play(state, players, lambda _, turns: console.print(caption(len(turns), turns[-1])))
    console.print(colour(str(state)))
    return turns


def screen(state: State, players: Sequence[Player], turns: list[Turn]) -> Group:
    """The position, beside it the players, and below it what just happened."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    side = Text("\n")
    for number, player in enumerate(players):
        side.append(NAMES[number], STYLES[number]).append(f": {player.simulations:,} simulations per action\n")
        side.append(chances([turn.value for turn in turns if turn.player == number])).append("\n\n")
    grid = Table.grid(padding=(0, 4))
    grid.add_row(colour(str(state)), side)
    return Group(grid, caption(len(turns), turns[-1]) if turns else "")


def chances(values: Sequence[float]) -> str:
    """The latest values as a line of small columns, from -1 (lost) to 1 (won)."""
    if not values:
        return ""
    top = len(BLOCKS) - 1
    columns = [BLOCKS[min(top, max(0, round((value + 1) / 2 * top)))] for value in values[-HISTORY:]]
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


def caption(number: int, turn: Turn) -> Text:
    """What just happened."""
    from rich.text import Text

    text = Text(f"{number:3d}. ")
    text.append(NAMES[turn.player], STYLES[turn.player])
    return text.append(f" plays {turn.name} (expects {turn.value:+.2f}, {turn.kept:,} visits kept)")


def summary(game: str, returns: Sequence[float], turns: Sequence[Turn], seconds: float) -> Text:
    """How the game ended and what it took."""
    from rich.text import Text

    text = Text(f"{game}: ")
    if returns[0] == returns[1]:
        text.append("a draw")
    else:
        winner = int(returns[1] > returns[0])
        text.append(NAMES[winner], STYLES[winner]).append(" wins")
    return text.append(f" after {len(turns)} actions in {seconds:.1f} s")
