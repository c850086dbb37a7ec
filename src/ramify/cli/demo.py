"""``ramify demo``: two search players play a game against each other, on the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from ramify.cli.common import fail, parse_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from ramify.games import State

STYLES = ("bold red", "bold blue")  # of the players' stones
NAMES = ("red", "blue")


@dataclass(frozen=True)
class Choice:
    """What a player decided, what the action is called, and the reward the player still expects."""

    player: int
    action: int
    name: str
    value: float


Player = Callable[["State", int], Choice]
Show = Callable[["State", int, Sequence[Choice]], None]


def search_player(simulations: int, seed: int) -> Player:
    """A player that searches every position afresh, with random play as its evaluator."""
    from ramify.evaluators import Rollout
    from ramify.search import search

    def choose(state: State, player: int) -> Choice:
        result = search(state, Rollout(), simulations=simulations, seed=seed)
        action = result.action()
        mine = action[player] if isinstance(action, tuple) else action
        return Choice(player, mine, state.action_name(mine, player), float(result.value[player]))

    return choose


def play(state: State, players: Sequence[Player], show: Show) -> int:
    """Play the game to its end, in place; `show` sees every position. Returns the number of turns."""
    turns = 0
    while not state.is_over:
        choices = [players[player](state, player) for player in state.acting]
        state.apply(*(choice.action for choice in choices))
        turns += 1
        show(state, turns, choices)
    return turns


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


def demo(
    game: Annotated[str, typer.Argument(help="Any game; see `ramify games`.")] = "hex",
    settings: Annotated[list[str] | None, typer.Argument(help="Its parameters, as key=value; hex: size=9.")] = None,
    simulations: Annotated[int, typer.Option(min=1, help="Simulations behind every action.")] = 20_000,
    seed: Annotated[int, typer.Option(min=0, help="The same seed shows the same game.")] = 0,
    pause: Annotated[float, typer.Option(min=0, help="Least seconds per turn on a terminal.")] = 0.2,
) -> None:
    """Watch two search players play a game."""
    from rich.console import Console

    from ramify.games import make

    params = parse_settings(settings or ["size=9"] if game == "hex" else settings or [])
    try:
        state = make(game, **params).initial_state(seed)
    except (ValueError, ImportError) as error:
        fail(str(error))
    console = Console(highlight=False)
    players = [search_player(simulations, 2 * seed + player) for player in (0, 1)]
    started = time.perf_counter()
    watch = watch_live if console.is_terminal else watch_plain
    turns = watch(console, state, players, pause)
    seconds = time.perf_counter() - started
    ending = summary(str(state.game), state.returns.tolist())
    ending.append(f" after {turns} turns in {seconds:.1f} s, {simulations:,} simulations behind every action")
    console.print(ending, soft_wrap=True)


def watch_live(console: Console, state: State, players: Sequence[Player], pause: float) -> int:
    """The board in place, turn after turn."""
    from rich.live import Live

    with Live(colour(str(state)), console=console, auto_refresh=False) as live:
        shown = time.perf_counter()

        def show(state: State, turn: int, choices: Sequence[Choice]) -> None:
            nonlocal shown
            time.sleep(max(0.0, shown + pause - time.perf_counter()))
            shown = time.perf_counter()
            live.update(colour(str(state)).append_text(caption(turn, choices)), refresh=True)

        return play(state, players, show)


def watch_plain(console: Console, state: State, players: Sequence[Player], _: float) -> int:
    """One line per turn and the board at the end: for files and pipes."""
    turns = play(state, players, lambda _, turn, choices: console.print(caption(turn, choices)))
    console.print(colour(str(state)))
    return turns


def caption(turn: int, choices: Sequence[Choice]) -> Text:
    """What just happened."""
    from rich.text import Text

    text = Text(f"{turn:3d}.")
    for number, choice in enumerate(choices):
        text.append(", " if number else " ").append(NAMES[choice.player], STYLES[choice.player])
        text.append(f" plays {choice.name} (expects {choice.value:+.2f})")
    return text


def summary(game: str, returns: Sequence[float]) -> Text:
    """How the game ended."""
    from rich.text import Text

    text = Text(f"{game}: ")
    if returns[0] == returns[1]:
        return text.append("a draw")
    winner = int(returns[1] > returns[0])
    return text.append(NAMES[winner], STYLES[winner]).append(" wins")
