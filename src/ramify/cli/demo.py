"""``ramify demo``: two search players play a game against each other, on the terminal."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

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
    """What a player decided, and how it sees its chances: -1 (lost) to 1 (won)."""

    action: int
    value: float


@dataclass(frozen=True)
class Turn:
    """One action of the game, as shown."""

    player: int
    name: str
    value: float


Player = Callable[["State"], Choice]


class Node:
    """What the search knows of one position: how often each action was tried, and what it brought."""

    def __init__(self, state: State) -> None:
        self.actions: list[int] = state.legal_actions().tolist()
        self.visits = [0] * len(self.actions)
        self.total = [0.0] * len(self.actions)

    def select(self) -> int:
        """The index of the action to try next, by UCB1: untried ones first."""
        spread = 0.5 * math.log(sum(self.visits) + 1)

        def promise(i: int) -> float:
            tried = self.visits[i]
            return self.total[i] / tried + math.sqrt(spread / tried) if tried else math.inf

        return max(range(len(self.actions)), key=promise)

    def best(self) -> Choice:
        """The action tried most."""
        i = max(range(len(self.actions)), key=self.visits.__getitem__)
        return Choice(self.actions[i], self.total[i] / self.visits[i])


def tree_search(playouts: int, seed: int) -> Player:
    """A player by the book: Monte-Carlo tree search with random playouts."""
    rng = random.Random(seed)

    def choose(root: State) -> Choice:
        nodes = {root.key: Node(root)}
        for _ in range(playouts):
            state, path = root.copy(), []
            while not state.is_over and (node := nodes.get(state.key)):
                i = node.select()
                path.append((node, i, state.acting[0]))
                state.apply(node.actions[i])
            if not state.is_over:
                nodes[state.key] = Node(state)
            while not state.is_over:
                state.apply(rng.choice(state.legal_actions()))
            returns = state.returns.tolist()
            for node, i, player in path:
                node.visits[i] += 1
                node.total[i] += returns[player]
        return nodes[root.key].best()

    return choose


def play(state: State, players: Sequence[Player], show: Callable[[State, list[Turn]], None]) -> list[Turn]:
    """Play the game to its end, in place; `show` sees every position."""
    turns: list[Turn] = []
    while not state.is_over:
        player = state.acting[0]
        choice = players[player](state)
        turns.append(Turn(player, state.action_name(choice.action), choice.value))
        state.apply(choice.action)
        show(state, turns)
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
    game: Annotated[str | None, typer.Argument(help="A game whose players act in turn; default: hex size=7.")] = None,
    settings: Annotated[list[str] | None, typer.Argument(help="Its parameters, as key=value.")] = None,
    playouts: Annotated[int, typer.Option(min=1, help="Random playouts behind every action.")] = 2000,
    seed: Annotated[int, typer.Option(help="The same seed shows the same game.")] = 0,
    pause: Annotated[float, typer.Option(min=0, help="Least seconds per action on a terminal.")] = 0.2,
) -> None:
    """Watch two search players play a game."""
    from rich.console import Console

    from ramify.games import make

    name, params = (game, parse_settings(settings or [])) if game else default_game()
    try:
        chosen = make(name, **params)
    except (ValueError, ImportError) as error:
        fail(str(error))
    if chosen.simultaneous:
        fail(f"in {name} both players act at once; the demo shows games played in turn")
    console = Console(highlight=False)
    state = chosen.initial_state(seed)
    players = [tree_search(playouts, 2 * seed + player) for player in (0, 1)]
    started = time.perf_counter()
    watch = watch_live if console.is_terminal else watch_plain
    turns = watch(console, state, players, pause)
    seconds = time.perf_counter() - started
    console.print(summary(str(chosen), state.returns.tolist(), turns, seconds, playouts), soft_wrap=True)


def default_game() -> tuple[str, dict[str, Any]]:
    from ramify.games import games

    return ("hex", {"size": 7}) if "hex" in games() else ("tictactoe", {})


def watch_live(console: Console, state: State, players: Sequence[Player], pause: float) -> list[Turn]:
    """The board in place, action after action."""
    from rich.live import Live

    with Live(colour(str(state)), console=console, auto_refresh=False) as live:
        shown = time.perf_counter()

        def show(state: State, turns: list[Turn]) -> None:
            nonlocal shown
            time.sleep(max(0.0, shown + pause - time.perf_counter()))
            shown = time.perf_counter()
            live.update(colour(str(state)).append_text(caption(len(turns), turns[-1])), refresh=True)

        return play(state, players, show)


def watch_plain(console: Console, state: State, players: Sequence[Player], _: float) -> list[Turn]:
    """One line per action and the board at the end: for files and pipes."""
    turns = play(state, players, lambda _, turns: console.print(caption(len(turns), turns[-1])))
    console.print(colour(str(state)))
    return turns


def caption(number: int, turn: Turn) -> Text:
    """What just happened."""
    from rich.text import Text

    text = Text(f"{number:3d}. ")
    text.append(NAMES[turn.player], STYLES[turn.player])
    return text.append(f" plays {turn.name} (expects {turn.value:+.2f})")


def summary(game: str, returns: Sequence[float], turns: Sequence[Turn], seconds: float, playouts: int) -> Text:
    """How the game ended and what it took."""
    from rich.text import Text

    text = Text(f"{game}: ")
    if returns[0] == returns[1]:
        text.append("a draw")
    else:
        winner = int(returns[1] > returns[0])
        text.append(NAMES[winner], STYLES[winner]).append(" wins")
    return text.append(f" after {len(turns)} actions in {seconds:.1f} s, {playouts} playouts behind each")
