"""``ramify inspect``: what the searches of recorded games look like, and how far a learned model can be trusted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import html, options
from ramify.cli.common import fail, print_json, sparkline, table_console
from ramify.cli.figures import Cell, decimal, percent, plain, whole
from ramify.cli.inspect_model import (
    GAMES,
    SHARES,
    import_for_run,
    inspect_network,
    learned_network,
    refuse_other,
    shown_depths,
)

if TYPE_CHECKING:
    from ramify.games import Game
    from ramify.selfplay.inspection import Inspection
    from ramify.selfplay.records import GameRecord, Header

REFERENCE = "the alpharat project found 65.5 % unique, 17.7 % several and 16.7 % constant in 2,000 PyRat games"
LEAST_TOP = 0.01  # of an axis: smaller numbers are shown as about 0
STAGES = ((0, 0), (1, 1), (2, 2), (3, 4), (5, 9), (10, 10**9))  # of the table of equilibria, first and last


@dataclass(frozen=True)
class Section:
    """A part of the report: a sentence or two, and a table."""

    title: str
    text: str
    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    curves: dict[str, list[float]] = field(default_factory=dict)

    def bounds(self, name: str) -> tuple[float, float]:
        """Where the axis of a curve begins and ends, so that what is shown as equal looks equal: shares go from 0 to 1,
        other numbers from 0 to their maximum."""
        top = 1.0 if name in SHARES else max(*self.curves[name], LEAST_TOP)
        return min(0.0, *self.curves[name]), top


def inspect(
    folder: Annotated[
        Path,
        typer.Argument(help="A folder of self-play games, the folder of a training run, or a learned network."),
    ],
    network: options.Network = None,
    games: Annotated[
        int,
        typer.Option(
            min=1, help=f"Maximum number of games, taken evenly from all; a learned model plays at most {GAMES}."
        ),
    ] = 500,
    simulations: Annotated[int, typer.Option(min=1, help="Simulations of searches in a learned model.")] = 50,
    discount: Annotated[
        float | None,
        typer.Option(min=0.01, max=1, help="Discount factor of searches. Default: as trained, or 1."),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write the report as an HTML page.")] = None,
    json: options.AsJson = False,
) -> None:
    """Inspect the searches of recorded games with simultaneous moves, or a learned model.

    Shows how much of the payoff matrices is filled, how peaked the visits are,
    how many equilibria the matrices have at each stage of the game, how
    policies and values develop over the run, and how games end; in PyRat also
    how directly the players collect cheese. With --network, also the error of
    the network's payoffs by the number of visits of the search.

    Of a learned network (MuZero) it shows what becomes of its predictions with
    every action inside the model: errors of rewards and values, the policy's
    mass on legal actions, and how often a search in the model has the same best
    action as a search by the rules. The model plays the games for that itself.

    With --json numbers are numbers, and shares are from 0 to 1.

    \b
    ramify selfplay pyrat games -p width=5 -p height=5 -p cheese=5 --games 200
    ramify inspect games
    ramify inspect runs/muzero-tictactoe
    """
    from ramify.arena.network_files import trained_search
    from ramify.games import make

    try:
        import_for_run(folder)
        if (learned := learned_network(folder)) is not None:
            if network is not None:
                raise ValueError(f"{folder} is a learned network itself: leave out --network, which is for games")
            played = min(games, GAMES)
            factor = trained_search(str(folder)).get("discount", 1.0) if discount is None else discount
            game, section = model_section(learned, played, simulations, factor, quiet=json)
            sections, count, title = [section], played, f"Learned model of {game.name}"
        else:
            refuse_other(folder)
            header, records = read_games(folder, games)
            game = make(header["game"], **header["params"])
            sections, count, title = (
                make_sections(game, header, records, network),
                len(records),
                f"Searches of {game.name}",
            )
        if out is not None:
            write_page(out, title, f"{count:,} games of {folder}", sections)
    except (ValueError, TypeError, ImportError, OSError) as error:
        fail(error)
    if json:
        return print_json(
            {s.title: [dict(zip(s.head, map(plain, row), strict=True)) for row in s.rows] for s in sections}
        )
    for section in sections:
        print_section(section)
    if out is not None:
        print(f"Wrote {out}.")
    return None


def read_games(folder: Path, most: int) -> tuple[Header, list[GameRecord]]:
    """The newest header and up to ``most`` games that were played with its game, evenly from all of the folder."""
    from ramify.selfplay.records import games_folder, read_folder

    header, records = None, list[Any]()
    for said, found in read_folder(games_folder(folder)):
        if header is not None and (said["game"], said["params"]) != (header["game"], header["params"]):
            records = []  # another board: only the newest is inspected
        header = said
        records += found
    if header is None or not records:
        raise ValueError(f"{folder} has no recorded games; 'ramify selfplay GAME {folder}' plays some")
    records.sort(key=lambda record: record.number)
    step = max(1.0, len(records) / most)
    return header, [records[int(k * step)] for k in range(min(most, len(records)))]


def make_sections(game: Game, header: Header, records: Sequence[GameRecord], network: str | None) -> list[Section]:
    """The sections of the report."""
    from ramify.selfplay.inspection import inspect_games

    found = inspect_games(game, records)
    if not game.simultaneous:
        raise ValueError(
            f"these are games of {game.name}, in which players act in turn: inspect shows searches of games where both "
            "act at once, such as pyrat, and learned models (muzero*); 'ramify report RUN' shows a training run of any "
            "game"
        )
    if not found.positions:
        raise ValueError(f"no search of these {len(records)} games of {game.name} has both players acting at once")
    sections = [matrix_section(found), equilibrium_section(found, game), development_section(found), end_section(found)]
    if game.name == "pyrat":
        sections.append(cheese_section(game, records))
    if network is not None:
        sections.append(network_section(game, header, records, network))
    return sections


def matrix_section(found: Inspection) -> Section:
    """How much of the payoff matrices is known, and how the visits are spread."""
    mean = found.mean
    pairs = sum(p.shape[0] * p.shape[1] for p in found.positions) / len(found.positions)
    rows = [
        ("pairs of outcomes per position", decimal(pairs, 1)),
        ("pairs with a visit", percent(mean("visited"))),
        ("pairs with at least 5 visits", percent(mean("reliable"))),
        ("visits at the most visited pair", percent(mean("largest"))),
        ("effective number of pairs", decimal(mean("effective"), 1)),
    ]
    text = (
        f"{len(found.positions):,} recorded searches of {len(found.games):,} games. The effective number of pairs is "
        "the exponential of the entropy of the visits: 1 if a single pair has all of them."
    )
    return Section("Payoff matrices", text, ("", "mean"), rows)


def equilibrium_section(found: Inspection, game: Game) -> Section:
    """How many equilibria the matrices have, by what is left of the game."""
    left = "cheese left" if game.name == "pyrat" else "moves to the end"
    rows = list[Sequence[Cell]]()
    for low, high in STAGES:
        stages = [p.stage for p in found.positions if low <= p.stage <= high]
        if stages:
            name = str(low) if low == high else f"{low} to {high}" if high < 10**9 else f"{low} or more"
            rows.append((name, whole(len(stages)), *map(percent, found.kinds(sorted(set(stages))).values())))
    rows.append(("all", whole(len(found.positions)), *map(percent, found.kinds().values())))
    several = found.several()
    text = (
        "Equilibria of the payoffs found, over outcomes with at least 5 visits. Constant: every pair pays the same, so "
        "the position teaches no policy. Unknown: too large to list all equilibria. Of the positions with several, "
        f"{percent(several['one player'])} leave a choice to one player and {percent(several['both players'])} to both "
        f"({percent(several['pure, of both'])} of these have only pure equilibria). For comparison, {REFERENCE}."
    )
    return Section("Equilibria", text, (left, "positions", "unique", "several", "constant", "unknown"), rows)


def development_section(found: Inspection) -> Section:
    """How policies and values change over the run."""
    head = ("games", "policy entropy", "prior entropy", "value explained by the evaluation", "by the search")
    rows, curves = list[Sequence[Cell]](), {"policy entropy": list[float](), "prior entropy": list[float]()}
    for part in found.parts():
        numbers = f"{part.games[0].number} to {part.games[-1].number}"
        explained = [part.explained("evaluation"), part.explained("search")]
        curves["policy entropy"].append(part.mean("entropy"))
        curves["prior entropy"].append(part.mean("prior_entropy"))
        entropies = [decimal(values[-1]) for values in curves.values()]
        rows.append((numbers, *entropies, *map(percent, explained)))
    text = (
        "Entropies in nats, mean of the players who have a choice; the policy is that of the visits. They should fall, "
        "but not to 0. Value explained: the fraction of the variance of the rewards to come."
    )
    return Section("Over the run", text, head, rows, curves)


def end_section(found: Inspection) -> Section:
    """How games end."""
    rows = [
        (
            f"{part.games[0].number} to {part.games[-1].number}",
            decimal(sum(game.moves for game in part.games) / len(part.games), 1),
            percent(part.draws()),
            decimal(part.margin(), 2),
        )
        for part in [*found.parts(), found]
    ]
    text = (
        "Draws: both players got the same. Margin: the mean distance between their returns, or what was won where "
        "one wins what the other loses. The last row is all games."
    )
    return Section("Results", text, ("games", "moves", "draws", "margin"), rows)


def cheese_section(game: Game, records: Sequence[GameRecord]) -> Section:
    """How directly the players collect cheese."""
    from ramify.pyrat import collected

    found = [one for record in records for one in collected(record.states(game)) if one.cells]
    pieces, turns = sum(len(one.cells) for one in found), sum(one.turns for one in found)
    shortest = sum(one.shortest for one in found)
    rows = [
        ("turns per cheese", decimal(turns / max(1, pieces), 2)),
        ("turns per cheese on the shortest tour", decimal(shortest / max(1, pieces), 2)),
        ("efficiency", percent(shortest / max(1, turns))),
    ]
    text = (
        "Turns that a player needs for the cheese it collects, against the shortest tour of the same cells from its "
        "start (exact up to 12 of them, otherwise the best tour found by 2-opt)."
    )
    return Section("Cheese", text, ("", "mean"), rows)


def network_section(game: Game, header: Header, records: Sequence[GameRecord], network: str) -> Section:
    """The error of a network's payoffs against those of the search, by visits."""
    import numpy as np

    from ramify.engine import NativeEvaluator
    from ramify.evaluators.payoffs import agreement_by_visits, predicted_payoffs
    from ramify.games import make
    from ramify.hex import evaluator_for
    from ramify.selfplay.inspection import payoffs_as

    known = make(game.name, **{**header["params"], **options.with_reward(game.name, {}, network)})
    states, searched = [], []
    for record in records:
        for state, move in zip(record.states(known), record.moves, strict=False):
            if move.found is not None and len(move.acting) == 2:
                states.append(state)
                searched.append(move.found)
    discount = float(header["search"].get("discount", 1.0))
    better = np.concatenate([payoffs_as(known, game, found.payoffs).ravel() for found in searched])
    evaluator = evaluator_for(known, network)[0]
    if isinstance(evaluator, NativeEvaluator):
        raise ValueError(f"{network} predicts no values")
    predicted = predicted_payoffs(evaluator, states, discount)
    visits = np.concatenate([np.stack([found.visits, found.visits]).ravel() for found in searched])
    groups = agreement_by_visits(np.concatenate([one.ravel() for one in predicted]), better, visits)
    rows = [
        (name, whole(one.pairs), decimal(one.error), decimal(one.correlation), decimal(one.explained))
        for name, one in groups.items()
        if one.pairs
    ]
    text = (
        f"Payoffs that {network} predicts by one step (reward plus value after it), against those that the search "
        "found. If errors fall with visits, weighting the loss by visits makes sense."
    )
    if known != game:
        text += f" Both are for reward={known.params['reward']}, which the network was trained for."
    return Section(
        "Prediction", text, ("visits of the pair", "payoffs", "mean error", "correlation", "explained"), rows
    )


def print_section(section: Section) -> None:
    """Print a section as a table below its title."""
    from rich.table import Table

    console = table_console()
    console.print(f"\n[bold]{section.title}[/]")
    console.print(section.text)
    table = Table(box=None, pad_edge=False)
    for number, name in enumerate(section.head):
        table.add_column(name, justify="left" if number == 0 else "right")
    for row in section.rows:
        table.add_row(*map(str, row))
    console.print(table)
    for name, values in section.curves.items():
        if len(values) > 1:
            console.print(
                f"{name}  {sparkline(values, bounds=section.bounds(name))}  {values[0]:.3f} to {values[-1]:.3f}"
            )


def model_section(network: Path, games: int, simulations: int, discount: float, *, quiet: bool) -> tuple[Game, Section]:
    """The game of a learned network, and how far the network can be trusted."""
    game, found = inspect_network(network, games, simulations, discount, quiet=quiet)
    text = (
        f"{games} games that {network} has played with itself. From their positions the model is followed along the "
        "actions really taken; errors are mean distances, of rewards to the real ones, of values to what the model "
        "says when it sees the real position. Same best action: of a search that starts inside the model, and of one "
        f"by the rules with the same network, {simulations} simulations each."
    )
    if all(one.agreement is None for one in found):
        text += f" It is left out for {game.name}: a simulator cannot be searched by its rules in a short time."
    head, rows, curves = shown_depths(found)
    return game, Section("Learned model", text, head, rows, curves)


def write_page(out: Path, title: str, about: str, sections: Sequence[Section]) -> None:
    """Write the sections as one HTML page."""
    from ramify.base.files import write_atomically

    parts = []
    for section in sections:
        charts = [
            html.figure(
                html.curve(values, list(range(1, len(values) + 1)), bounds=section.bounds(name)),
                f"{name[:1].upper()}{name[1:]}",
            )
            for name, values in section.curves.items()
            if len(values) > 1
        ]
        body = html.paragraph(section.text) + html.table(section.head, [list(map(str, row)) for row in section.rows])
        parts.append((section.title, body + (html.row(charts) if charts else "")))
    write_atomically(out, html.page(title, about, parts).encode())
