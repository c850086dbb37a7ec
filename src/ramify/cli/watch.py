"""``ramify watch``: two players play a game against each other on the terminal."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import options
from ramify.cli.arena import MISTAKES, game_for, read_players
from ramify.cli.boards import Side, board_text, sides
from ramify.cli.common import COLUMNS, columns, cut, cut_note, fail, print_position
from ramify.games import number_of_players

if TYPE_CHECKING:
    from rich.console import Console, Group
    from rich.text import Text

    from ramify.arena import PlayerConfig, SearchPlayerConfig
    from ramify.games import Game, State

HISTORY = 24  # values shown beside the position
BESIDE = 40  # columns that the players take there
BELOW = 5  # lines that they take below it, with the latest choices
# Unequal, so that games differ in strength; in games that are not of the compiled core, a turn takes seconds too.
DEFAULT_PLAYERS = ("search:simulations=4000", "search:simulations=20000")
SLOW_PLAYERS = ("search:simulations=100", "search:simulations=500")


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
        self.label = config.name or config.label
        self.config, self.seed, self.turns = config, seed, 0
        search = config.search_config().replace(graph=True)
        self.searcher = Searcher(game, config.open_evaluator(game), search, seed=seed)
        self.searched = False

    def choose(self, state: State) -> Choice:
        """The action to play now."""
        from ramify.arena import Turn

        result = self.searcher.run(state)
        self.searched = True
        mine = self.config.action(Turn(state, self.number, self.seed + self.turns, self.turns), result)
        kept = int(result.visits.sum()) + 1 - result.stats["simulations"]
        value = float(result.value[self.number])
        return Choice(self.number, mine, state.action_name(mine, self.number), value, kept)

    def follow(self, *actions: int) -> None:
        """This was played: what is known of the rest of the game stays."""
        self.turns += 1
        if self.searched:
            self.searcher.advance(*actions)

    def close(self) -> None:
        """There is nothing to end."""


class AnyPlayer:
    """A player of any other kind, such as alphabeta, muzero or a program that speaks UCI."""

    def __init__(self, game: Game, number: int, config: PlayerConfig, seed: int) -> None:
        self.number, self.label = number, config.name or config.label
        self.seed, self.turns = seed, 0
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


def with_best_evaluator(game: Game, config: PlayerConfig) -> PlayerConfig:
    """A player that searches, with the best evaluator that the game has without a network, unless it names one."""
    from ramify.arena import SearchPlayerConfig
    from ramify.engine.native import ROLLOUTS
    from ramify.evaluators.simple import best_native, suited

    if type(config) is not SearchPlayerConfig or {"network", "evaluator"} & config.model_fields_set:
        return config
    best = best_native(game)
    name = next(name for name, kind in ROLLOUTS.items() if kind is type(best))
    return suited(config, best).replace(evaluator=name)


def open_player(game: Game, number: int, config: PlayerConfig, seed: int) -> Player | AnyPlayer:
    """The player to watch."""
    from ramify.arena import SearchPlayerConfig

    if type(config) is SearchPlayerConfig:  # not muzero, whose players search in another way
        return Player(game, number, config, seed)
    return AnyPlayer(game, number, config, seed)


Show = Callable[["State", "State", list[Choice]], None]


def play(state: State, players: Sequence[Player | AnyPlayer], show: Show) -> int:
    """Play the game to its end, in place, and return the number of turns.

    After every turn ``show`` is called with the position before it, the position after it, and all choices so far.
    """
    turns, choices = 0, list[Choice]()
    while not state.is_over:
        before = state.copy()
        latest = [players[number].choose(state) for number in state.acting]
        state.apply(*(choice.action for choice in latest))
        for player in players:
            player.follow(*(choice.action for choice in latest))
        turns += 1
        choices += latest
        show(before, state, choices)
    return turns


def watch(
    game: options.GameName = "hex",
    first: Annotated[str | None, typer.Argument(help=options.PLAYER, show_default=DEFAULT_PLAYERS[0])] = None,
    second: Annotated[
        str | None, typer.Argument(help="The other player, which moves second.", show_default=DEFAULT_PLAYERS[1])
    ] = None,
    param: options.Params = None,
    simulations: Annotated[
        int | None, typer.Option(min=1, help="Simulations per move of players that search and name no number.")
    ] = None,
    network: options.Network = None,
    set_: options.SearchSettings = None,
    seed: options.Seed = 0,
    delay: Annotated[
        float, typer.Option("--delay", "--pause", min=0, help="Minimum time per turn on a terminal, in seconds.")
    ] = 0.3,
) -> None:
    """Watch two players play a game against each other, or one player a game for one.

    Players that search keep their search graph from turn to turn. --network,
    --simulations and --set are defaults for them; without a network or an
    evaluator they use plans in PyRat (evaluator=planner) and random games in
    most others. The same seed shows the same game.

    \b
    ramify watch hex -p size=7 --simulations 1000
    ramify watch hex search:simulations=50 alphabeta:depth=3 -p size=7 --network hex-7
    ramify watch connect_four search:simulations=500 search:simulations=5000 --delay 1
    ramify watch pyrat greedy search:simulations=2000 -p preset=tiny --delay 0.1
    ramify watch gym:CartPole-v1 muzero:network=runs/muzero-cartpole
    """
    from rich.console import Console

    from ramify import _core
    from ramify.games import make

    params, settings = options.read_options(game, param, set_)
    if simulations is not None:
        settings["simulations"] = simulations
    players: list[Player | AnyPlayer] = []
    try:
        made = make(game, **params)
        usual = DEFAULT_PLAYERS if isinstance(made, _core.Game) else SLOW_PLAYERS
        if "simulations" in settings:  # given for all: the players that nobody has named follow it
            usual = ("search", "search")
        chosen = [player or default for player, default in zip((first, second), usual, strict=True)]
        if number_of_players(made) == 1:
            if second is not None:
                raise ValueError(f"{game} is a game of one player: name one player, not {second!r} as well")
            del chosen[1]
        configs = read_players(chosen, network, settings)
        state = game_for(game, params, configs).initial_state(seed)
        for number, config in enumerate(configs):
            config = with_best_evaluator(state.game, config)
            players.append(open_player(state.game, number, config, 2 * seed + number))
        console = Console(highlight=False)
        follow = watch_live if console.is_terminal else watch_plain
        started = time.perf_counter()
        turns = follow(console, state, players, delay)
    except MISTAKES as error:
        fail(error)
    finally:
        for player in players:
            player.close()
    ending = summary(state.game, state.returns.tolist())
    console.print(ending.append(f" after {turns} turns in {time.perf_counter() - started:.1f} s"), soft_wrap=True)


def watch_live(console: Console, state: State, players: Sequence[Player | AnyPlayer], delay: float) -> int:
    """Redraw the position after every turn, with the players' expectations beside or below it."""
    from rich.live import Live

    size = (console.width, console.height)
    with Live(screen(state, None, players, [], size), console=console, auto_refresh=False) as live:
        shown = time.perf_counter()

        def show(before: State, state: State, choices: list[Choice]) -> None:
            nonlocal shown
            time.sleep(max(0.0, shown + delay - time.perf_counter()))
            shown = time.perf_counter()
            live.update(screen(state, before, players, choices, size), refresh=True)

        return play(state, players, show)


def watch_plain(console: Console, state: State, players: Sequence[Player | AnyPlayer], _: float) -> int:
    """For files and pipes: who plays, one line per choice, and the position at the end; mazes after every turn."""
    shown, last = 0, None
    mazes = state.game.name == "pyrat"  # of which moves alone tell little
    for player in players:
        console.print(introduction(player, state.game), soft_wrap=True)

    def show(before: State, now: State, choices: list[Choice]) -> None:
        nonlocal shown, last
        for choice in choices[shown:]:
            console.print(caption(choice, sides(state.game)), soft_wrap=True)
        shown, last = len(choices), before
        if mazes:
            print_position(console, board_text(now, before))

    if mazes:
        print_position(console, board_text(state))
    turns = play(state, players, show)
    if not mazes:
        print_position(console, board_text(state, last))
    return turns


def introduction(player: Player | AnyPlayer, game: Game) -> Text:
    """The player's side, how it shows on the board, and the player's text."""
    from rich.text import Text

    side = sides(game)[player.number]
    return Text(str(side), side.style).append(f": {player.label}", "default")


def screen(
    state: State,
    before: State | None,
    players: Sequence[Player | AnyPlayer],
    choices: list[Choice],
    size: tuple[int, int],
) -> Group:
    """The position, the players beside it (below it where the terminal is too narrow), and the choices of the turn."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    board = board_text(state, before, (size[0], size[1] - BELOW))
    board.rstrip()
    turn = choices[-len(before.acting) :] if before is not None else []
    latest = Text("\n").join(caption(choice, sides(state.game)) for choice in turn)
    rows = [
        (
            introduction(player, state.game),
            chances([c.value for c in choices if c.player == player.number and c.value is not None]),
        )
        for player in players
    ]
    if columns(board) + 4 + BESIDE > size[0]:
        below = [cut(who.append(f"  {values}")) for who, values in rows]
        note = cut_note(board, size[0])
        return Group(cut(board), *([note] if note.plain else []), *below, latest)
    people = Text()
    for who, values in rows:
        people.append("\n").append_text(who).append(f"\n{values}\n")
    grid = Table.grid(padding=(0, 4))
    grid.add_row(cut(board), people)
    return Group(grid, latest)


def chances(values: Sequence[float]) -> str:
    """The latest values as a small bar chart, scaled to the largest value seen and at least to -1 to 1."""
    if not values:
        return ""
    most, top = max(1.0, *map(abs, values)), len(COLUMNS) - 1
    columns = [COLUMNS[round((value / most + 1) / 2 * top)] for value in values[-HISTORY:]]
    return f"expects {values[-1]:+.2f} {''.join(columns)}"


def caption(choice: Choice, both: Sequence[Side]) -> Text:
    """One choice in a sentence."""
    from rich.text import Text

    notes = [] if choice.value is None else [f"expects {choice.value:+.2f}"]
    if choice.kept:
        notes.append(f"{choice.kept:,} visit{'s' * (choice.kept != 1)} reused from its previous search")
    side = both[choice.player]
    text = Text(side.name, side.style).append(f" plays {choice.name}", "default")
    return text.append(f" ({', '.join(notes)})" if notes else "", "default")


def summary(game: Game, returns: Sequence[float]) -> Text:
    """How the game ended."""
    from rich.text import Text

    text, both = Text(f"{game}: "), sides(game)
    if number_of_players(game) == 1:
        return text.append(f"a return of {returns[0]:g}")
    if returns[0] == returns[1]:
        return text.append("a draw")
    winner = both[int(returns[1] > returns[0])]
    return text.append(str(winner), winner.style).append(" wins", "default")
