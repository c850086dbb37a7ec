"""Sections of a report on a training run: sample games, and search results of some positions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramify.cli import html
from ramify.games.percent import percentages
from ramify.presentation.names import player_name

if TYPE_CHECKING:
    from ramify.engine import SearchResult
    from ramify.games import Game, State
    from ramify.training import TrainConfig

PICTURES = 5  # per game
THOUGHTS = 3  # searched positions
SIMULATIONS = 200  # per searched position
LISTED = 5  # actions per position; the others are summed up


@dataclass(frozen=True)
class Sample:
    """A game: its positions from the first to the last, and the moves between them."""

    title: str
    states: tuple[State, ...]
    moves: tuple[str, ...]


@dataclass(frozen=True)
class Samples:
    """The section of a report, and its first game, if there is one."""

    html: str
    first: Sample | None


def sample_section(folder: Path, game: Game, rating: dict[str, Any] | None) -> Samples:
    """Games of the rating or, without a rating, the newest self-play game."""
    if rating is not None and rating["samples"]:
        samples = [rated_game(game, found) for found in rating["samples"]]
        text = "Games that the latest checkpoint played when it was rated. Each began with a few random moves."
        text = text if any(found["opening"] for found in rating["samples"]) else text.partition(". ")[0] + "."
    else:
        samples = newest_game(folder, game)
        text = "The newest self-play game. Some of its moves were sampled at random for exploration."
    if not samples:
        return Samples("", None)
    return Samples(html.paragraph(text) + "".join(strip(sample) for sample in samples), samples[0])


def rated_game(game: Game, found: dict[str, Any]) -> Sample:
    """A game of the rating."""
    first, second = (f"{player_name(game, i)} ({name})" for i, name in enumerate(found["players"]))
    if found["winner"] is None:
        title = f"{first} and {lower(second)} draw"
    else:
        winner, loser = (first, second) if found["winner"] == 0 else (second, first)
        title = f"{winner} beats {lower(loser)}"
    return replayed(game.initial_state(seed=found["start"]), title, found["actions"])


def lower(name: str) -> str:
    """A name as written in the middle of a sentence."""
    return f"the{name[3:]}" if name.startswith("The ") else name


def newest_game(folder: Path, game: Game) -> list[Sample]:
    """The last game of the newest readable shard."""
    from ramify.games import make
    from ramify.selfplay.records import DamagedShard, read_shard, shards
    from ramify.selfplay.run import other_parameters

    for path in reversed(shards(folder / "games")):
        try:
            header, records = read_shard(path)
        except (DamagedShard, OSError):
            continue
        if records:
            record = max(records, key=lambda one: one.number)
            actions = [move.actions for move in record.moves]
            if other_parameters(header["params"], game):  # of a stage of the curriculum, or a variant
                game = make(game.name, **header["params"])
            return [replayed(record.initial_state(game), f"Game {record.number + 1:,} of self-play", actions)]
    return []


def replayed(state: State, title: str, actions: Sequence[Sequence[int]]) -> Sample:
    """The positions of a game from this one on, and the names of its moves."""
    states, moves = [state.copy()], []
    for turn in actions:
        moves.append(" / ".join(state.action_name(a, p) for a, p in zip(turn, state.acting, strict=True)))
        state.apply(*turn)
        states.append(state.copy())
    return Sample(title, tuple(states), tuple(moves))


def spread(count: int, most: int) -> list[int]:
    """At most ``most`` evenly spaced numbers from 0 to count - 1, including the first and the last."""
    if count <= most:
        return list(range(count))
    return sorted({round(i * (count - 1) / (most - 1)) for i in range(most)})


def strip(sample: Sample) -> str:
    """Some positions of a game, including the last one."""
    figures = []
    for number in spread(len(sample.states), PICTURES + 1)[1:] or [0]:
        last = "final position" if number == len(sample.states) - 1 else f"turn {number}"
        caption = f"{last}: {sample.moves[number - 1]}" if number else "start"
        figures.append(html.figure(picture(sample.states[number]), caption[:1].upper() + caption[1:]))
    return html.heading(sample.title) + html.row(figures, "strip")


def picture(state: State) -> str:
    """The position as a picture, or its text if it cannot be drawn."""
    from ramify.games.pictures import draw_text

    try:
        return state.svg()
    except Exception:  # any error in the drawing code of a user's game
        return draw_text(str(state))


def thought_section(folder: Path, config: TrainConfig, game: Game, sample: Sample | None) -> str:
    """Positions of the first sample game with the search results of the latest checkpoint."""
    from ramify.arena.runs import checkpoint_player
    from ramify.engine import Searcher
    from ramify.evaluators import Network
    from ramify.networks import load
    from ramify.networks.layouts import unit_returns
    from ramify.training import checkpoints, network_file

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
    scale = "from -1 (a certain loss) to +1 (a certain win)" if unit_returns(game) else "in the points of the game"
    text = (
        f"Positions of the first game above, each searched by the latest checkpoint with {SIMULATIONS} simulations. "
        "Percentages are the policy of the search. "
        f"Values are the expected outcome from that position on, {scale}."
    )
    return html.paragraph(text) + html.row(figures, "thoughts")


def thought(state: State, result: SearchResult, method: Any) -> str:
    """One position with its search result."""
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
    """The picture of a position; in Hex with the search result on its cells."""
    if state.game.name != "hex":
        return picture(state)
    from ramify.presentation.described import picture as searched

    return searched(state, result)


def recommended(state: State, result: SearchResult, player: int, method: Any, both: bool) -> str:
    """The search's policy of a player, most likely moves first; percentages sum to 100."""
    policy = result.policy(player, method)
    shares = dict(zip(range(len(policy)), percentages([float(share) for share in policy]), strict=True))
    order = sorted((action for action in shares if shares[action]), key=lambda action: -policy[action])
    rows = [(state.action_name(action, player), shares[action]) for action in order[:LISTED]]
    if rest := sum(shares[action] for action in order[LISTED:]):
        rows.append(("other moves", rest))
    return html.bars(player_name(state.game, player) if both else "Recommended moves", rows)
