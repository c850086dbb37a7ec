"""Games and thoughts of a training run, in pictures: sections of its report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.cli import html
from ramify.games.percent import percentages

if TYPE_CHECKING:
    from ramify.engine import SearchResult
    from ramify.games import Game, State
    from ramify.training import TrainConfig

PICTURES = 5  # of a game
THOUGHTS = 3  # positions that the network is asked about
SIMULATIONS = 200  # behind each of them
LISTED = 5  # actions of a position; the rest is one line
PLAYERS = {  # as pictures show them; of any other game there are a first and a second player
    "hex": ("Red", "Blue"),
    "connect_four": ("Red", "Yellow"),
    "tictactoe": ("X", "O"),
    "chess": ("White", "Black"),
    "pyrat": ("The rat", "The python"),
}


@dataclass(frozen=True)
class Sample:
    """A game that was played: its positions, the last one too, and how each but the first was reached."""

    title: str
    states: tuple[State, ...]
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """The section of a report, and the game it begins with, if there is one."""

    html: str
    first: Sample | None


def player_name(game: Game, player: int) -> str:
    return PLAYERS.get(game.name, ("The first player", "The second player"))[player]


def sample_section(folder: Path, game: Game, rating: dict[str, Any] | None) -> Samples:
    """Games of the rating or, where there is none, the newest game of self-play."""
    if rating is not None and rating["samples"]:
        samples = [rated_game(game, found) for found in rating["samples"]]
        text = "Games that the latest checkpoint played when it was rated. Each began with a few random moves."
        text = text if any(found["opening"] for found in rating["samples"]) else text.partition(". ")[0] + "."
    else:
        samples = newest_game(folder, game)
        text = "The newest game of self-play, in which moves are drawn at random now and then, to explore."
    if not samples:
        return Samples("", None)
    return Samples(html.paragraph(text) + "".join(strip(sample) for sample in samples), samples[0])


def rated_game(game: Game, found: dict[str, Any]) -> Sample:
    """A game of the rating, played again."""
    first, second = (f"{player_name(game, i)} ({name})" for i, name in enumerate(found["players"]))
    if found["winner"] is None:
        title = f"{first} and {lower(second)} draw"
    else:
        winner, loser = (first, second) if found["winner"] == 0 else (second, first)
        title = f"{winner} beats {lower(loser)}"
    return replayed(game, title, found["start"], found["actions"])


def lower(name: str) -> str:
    """A name in the middle of a sentence."""
    return f"the{name[3:]}" if name.startswith("The ") else name


def newest_game(folder: Path, game: Game) -> list[Sample]:
    """The last game of the newest shard that can be read."""
    from ramify.selfplay.records import DamagedShard, read_shard, shards

    for path in reversed(shards(folder / "games")):
        try:
            records = read_shard(path)[1]
        except (DamagedShard, OSError):
            continue
        if records:
            record = max(records, key=lambda one: one.number)
            actions = [move.actions for move in record.moves]
            return [replayed(game, f"Game {record.number + 1:,} of self-play", record.seed, actions)]
    return []


def replayed(game: Game, title: str, start: int, actions: Sequence[Sequence[int]]) -> Sample:
    """The positions of a game and the names of its moves."""
    state = game.initial_state(seed=start)
    states, moves = [state.copy()], []
    for turn in actions:
        moves.append(" / ".join(state.action_name(a, p) for a, p in zip(turn, state.acting, strict=True)))
        state.apply(*turn)
        states.append(state.copy())
    return Sample(title, tuple(states), tuple(moves))


def spread(count: int, most: int) -> list[int]:
    """At most so many of the numbers from 0 to count - 1, evenly, the first and the last among them."""
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def strip(sample: Sample) -> str:
    """Some positions of a game, the last one among them."""
    figures = []
    for number in spread(len(sample.states), PICTURES + 1)[1:] or [0]:
        last = "final position" if number == len(sample.states) - 1 else f"turn {number}"
        caption = f"{last}: {sample.moves[number - 1]}" if number else "start"
        figures.append(html.figure(picture(sample.states[number]), caption[:1].upper() + caption[1:]))
    return html.heading(sample.title) + html.row(figures, "strip")


def picture(state: State) -> str:
    """The position; its text on paper where it cannot be drawn."""
    from ramify.games.pictures import draw_text

    try:
        return state.svg()
    except Exception:  # of a game that somebody has written
        return draw_text(str(state))


def thought_section(folder: Path, config: TrainConfig, game: Game, sample: Sample | None) -> str:
    """Positions of the first sample game, and what the latest checkpoint finds there."""
    from ramify.arena.runs import checkpoint_player
    from ramify.engine import Searcher
    from ramify.evaluators import Network
    from ramify.networks import load
    from ramify.training import checkpoints, network_file
    from ramify.training.fitting import has_unit_returns

    states = [] if sample is None else [state for state in sample.states if not state.is_over]
    if not states:
        return ""
    network = network_file(checkpoints(folder / "checkpoints")[-1])
    player = checkpoint_player(config, game, network, SIMULATIONS)
    searcher = Searcher(game, Network(load(network), "cpu"), player.search_config(), seed=config.seed)  # type: ignore[attr-defined]
    chosen = [states[number] for number in spread(len(states), THOUGHTS)]
    results = searcher.run_many(chosen, [config.seed] * len(chosen))
    method = player.acting  # type: ignore[attr-defined]
    figures = [thought(state, result, method) for state, result in zip(chosen, results, strict=True)]
    scale = "-1 is a certain loss and +1 a certain win" if has_unit_returns(game) else "in the points of the game"
    text = (
        f"Positions of the first game above, each searched by the latest checkpoint with {SIMULATIONS} simulations. "
        "Percentages say how strongly the search recommends a move. "
        f"Values are what a player can still expect: {scale}."
    )
    return html.paragraph(text) + html.row(figures, "thoughts")


def thought(state: State, result: SearchResult, method: Any) -> str:
    """One position with what the search found."""
    names = [player_name(state.game, player) for player in state.acting]
    values = ", ".join(
        f"{name if i == 0 else lower(name)} expects {result.value[player]:+.2f}"
        for i, (name, player) in enumerate(zip(names, state.acting, strict=True))
    )
    caption = (
        f"{values}, both to move"
        if len(names) == 2
        else f"{names[0]} to move expects {result.value[state.acting[0]]:+.2f}"
    )
    lists = "".join(recommended(state, result, player, method, len(names) == 2) for player in state.acting)
    return html.figure(heated(state, result), f"{caption}.", below=lists)


def heated(state: State, result: SearchResult) -> str:
    """The picture of a position: of Hex with what the search found on its cells."""
    if state.game.name != "hex":
        return picture(state)
    from ramify.cli.analysis import picture as searched

    return searched(state, result)


def recommended(state: State, result: SearchResult, player: int, method: Any, both: bool) -> str:
    """The moves that the search recommends to a player; percentages add up to 100."""
    policy = result.policy(player, method)
    shares = dict(zip(range(len(policy)), percentages([float(share) for share in policy]), strict=True))
    order = sorted((action for action in shares if shares[action]), key=lambda action: -policy[action])
    rows = [(state.action_name(action, player), shares[action]) for action in order[:LISTED]]
    if rest := sum(shares[action] for action in order[LISTED:]):
        rows.append(("other moves", rest))
    return html.bars(player_name(state.game, player) if both else "Recommended moves", rows)
