"""``ramify report``: a training run as one HTML page with ratings, curves, games and settings."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ramify.cli import html
from ramify.cli.common import fail, print_json
from ramify.cli.rate import Run, find_run
from ramify.cli.train import PROBLEMS
from ramify.games import Game, number_of_players
from ramify.games.percent import percentages
from ramify.presentation.names import duration, game_title

if TYPE_CHECKING:
    from ramify.training import TrainConfig

CURVES = {  # metric of an iteration: title and explanation of its chart
    "new_policy": (
        "Policy loss on new positions",
        "Cross-entropy between the search's policy and the network's. Lower is better.",
    ),
    "new_value": (
        "Value loss on new positions",
        "Error of the network's value relative to the outcome of the game. Lower is better, but it stays above zero in "
        "games that are hard to predict.",
    ),
    "new_reward": (
        "Reward loss on new positions",
        "Error of the rewards that a learned model predicts for the actions after a position. Lower is better.",
    ),
    "new_top1": (
        "Best action predicted",
        "How often the most likely action of the network alone is the most likely action of the search.",
    ),
    "new_explained_variance": (
        "Value explained",
        "Fraction of the variance of outcomes that the value explains: 1 is all of it, 0 is no better than always "
        "predicting the average.",
    ),
    "new_legal_mass_last": (
        "Legal actions known to the model",
        "How much of a learned model's policy is on legal actions after the last action of an unroll.",
    ),
    "game_length": ("Game length", "Average number of turns in self-play games."),
    "mean_return": ("Mean return", "Average return of self-play games, in the points of the game. Higher is better."),
}
JUDGED = "Losses are measured on the newest positions of each iteration, before the network has trained on them."
PERCENT = ("new_top1", "new_legal_mass_last")


def report(
    run: Run,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write. Default: report.html in the run's folder.")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
) -> None:
    """Write a report on a training run, finished or not, as one HTML page.

    The report has the ratings from 'ramify rate', learning curves, sample
    games, the search results of some positions, and the settings. The page is
    self-contained: it loads no other files.

    \b
    ramify rate hex-5
    ramify report hex-5
    """
    try:
        path = write_report(find_run(run), out)
    except PROBLEMS as error:
        fail(error)
    if json:
        return print_json({"report": str(path)})
    print(f"Wrote {path}.")
    return None


def write_report(folder: Path, out: Path | None = None) -> Path:
    """Write the report on the run in a folder; returns its file."""
    from ramify.arena.runs import read_rating, read_run
    from ramify.base.files import write_atomically
    from ramify.cli.samples import sample_section, thought_section
    from ramify.training import as_yaml, read_metrics

    config = read_run(folder)
    game = config.make_game()
    iterations, rating = list(read_metrics(folder / "metrics.jsonl", "iteration")), read_rating(folder)
    samples = sample_section(folder, game, rating)
    sections = [
        ("How strong it is", strength_section(folder, game, rating)),
        ("How it learned", learning_section(game, iterations)),
        ("Sample games", samples.html),
        ("What it thinks", thought_section(folder, config, game, samples.first)),
        ("About this run", html.facts(run_facts(folder, config, rating))),
        ("Settings", html.folded("Settings that differ from the defaults", html.verbatim(as_yaml(config, True)))),
    ]
    path = out or folder / "report.html"
    title = f"Learning {game_title(game)} from self-play"
    text = html.page(title, subtitle(config, iterations), [part for part in sections if part[1]])
    write_atomically(path, text.encode())
    return path


def subtitle(config: TrainConfig, iterations: Sequence[Mapping[str, float]]) -> str:
    """Games, positions and training steps so far, and whether the run is finished."""
    if not iterations:
        return "This run has not finished its first iteration yet."
    last, played = iterations[-1], int(sum(line["games"] for line in iterations))
    done, wanted = int(last["iteration"]), config.loop.iterations
    limit = config.loop.max_seconds
    over = done >= wanted or (limit is not None and last["seconds"] >= limit)
    far = f"{done:,} iterations" if over else f"{done:,} iterations so far, of {wanted:,} at most"
    return (
        f"{far}: {played:,} games of self-play, {int(last['positions']):,} positions "
        f"and {int(last['step']):,} training steps in {duration(last['seconds'])}."
    )


def strength_section(folder: Path, game: Game, rating: dict[str, Any] | None) -> str:
    """Ratings as a chart over training steps and as a table; nothing where one player has no matches to rate."""
    if rating is None and number_of_players(game) == 1:
        return ""
    if rating is None:
        return html.paragraph(
            f"This run has not been rated yet. To see the ratings of its checkpoints here, run `ramify rate {folder}` "
            f"and then `ramify report {folder}` again."
        )
    from ramify.arena.ratings import MEANING

    text = (
        "Each point is a checkpoint of the run, with its 95% interval as a bar. "
        "Dashed lines are reference players, which need no training. "
        f"Checkpoints search with {rating['simulations']:,} simulations per move. "
        f"The player “{rating['anchor']}” is fixed at 0 Elo."
    )
    parts = [html.figure(html.elo_chart(rating["players"]), "Elo by training step", text)]
    parts += [ratings_table(rating), html.paragraph(f"{MEANING}.", dim=True)]
    parts.append(html.folded("Scores of all pairings", scores_table(rating)))
    if rating["forfeits"]:
        parts.append(html.paragraph(f"{rating['forfeits']} games were forfeited by an error and are not counted."))
    return "".join(parts)


def ratings_table(rating: dict[str, Any]) -> str:
    """Players, best first, with intervals and percentages of wins, draws and losses that sum to 100."""
    from ramify.arena.ratings import elo_text

    rows = []
    for place, one in enumerate(rating["players"], 1):
        shares = percentages([one["wins"], one["draws"], one["losses"]])
        fixed = one["name"] == rating["anchor"]
        interval = "fixed" if fixed else f"{elo_text(one['low'])} to {elo_text(one['high'])}"
        numbers = [elo_text(one["elo"]), interval, f"{one['games']:,}", *(f"{share}%" for share in shares)]
        rows.append([f"{place}. {one['name']}", *numbers])
    return html.table(["Player", "Elo", "95% interval", "Games", "Won", "Drawn", "Lost"], rows)


def scores_table(rating: dict[str, Any]) -> str:
    """Scores of each player against each other, in percent; the two scores of a pairing sum to 100."""
    names = [one["name"] for one in rating["players"]]
    scores: dict[tuple[str, str], int] = {}
    for pair in rating["pairings"]:
        first, second = pair["players"]
        points = [pair[won] + pair["draws"] / 2 for won in ("wins", "losses")]
        scores[first, second], scores[second, first] = percentages(points)
    rows = [
        [f"{place}. {name}", *("–" if name == other else percent(scores.get((name, other))) for other in names)]
        for place, name in enumerate(names, 1)
    ]
    return html.table(["Player", *(f"vs {place}" for place in range(1, len(names) + 1))], rows)


def percent(number: int | None) -> str:
    return "" if number is None else f"{number}%"


def learning_section(game: Game, iterations: Sequence[Mapping[str, float]]) -> str:
    """A chart for each metric, and the results of the latest self-play games."""
    figures = []
    for name, (title, text) in CURVES.items():
        lines = [line for line in iterations if name in line]
        if len(lines) > 1:
            values, steps = [line[name] for line in lines], [line["step"] for line in lines]
            figures.append(html.figure(html.curve(values, steps, percent=name in PERCENT), f"{title}, by step", text))
    if not iterations:
        return html.paragraph("There are no learning curves before the end of the first iteration.")
    ended = latest_games(game, iterations)
    return (html.paragraph(JUDGED) + html.row(figures) if figures else "") + (html.paragraph(ended) if ended else "")


def latest_games(game: Game, iterations: Sequence[Mapping[str, float]]) -> str:
    """How the self-play games of the latest iteration ended; nothing where an earlier version did not write it."""
    last = iterations[-1]
    if number_of_players(game) == 1:
        mean = last.get("mean_return")
        return "" if mean is None else f"The mean return of the self-play games of the latest iteration is {mean:,.2f}."
    shares = percentages([last["first_wins"], last["draws"], max(0.0, 1 - last["first_wins"] - last["draws"])])
    drawn = f"{shares[1]}% were draws, and " if any(line["draws"] for line in iterations) else "and "
    return (
        f"In the self-play games of the latest iteration, the first player won {shares[0]}%, "
        f"{drawn}the second player won {shares[2]}%."
    )


def run_facts(folder: Path, config: TrainConfig, rating: dict[str, Any] | None) -> dict[str, str]:
    """Game, network, versions, dates and machine of a run."""
    from ramify.networks import config_of
    from ramify.training import checkpoints

    newest = checkpoints(folder / "checkpoints")[-1]
    try:
        made = json.loads((newest / "progress.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        made = {}
    network = ", ".join(f"{key} {value}" for key, value in config_of(config.network) if key in SHAPE)
    found = {
        "Game": f"{config.game} {' '.join(f'{key}={value}' for key, value in config.params.items())}".strip(),
        "Network": network if config.start is None else f"{network}, starting from {config.start}",
        "Latest checkpoint": f"{newest.name}, {day(datetime.fromtimestamp(newest.stat().st_mtime, UTC))}",
        "Trained with": ", ".join(f"{name} {made[name]}" for name in ("ramify", "python", "torch") if name in made),
        "Commit": str(made.get("commit", "")),
        "Rated": "" if rating is None else f"{day(datetime.fromisoformat(rating['made']))}, ramify {rating['ramify']}",
        "Report made": f"{day(datetime.now(UTC))}, on {machine()}",
    }
    return {name: value for name, value in found.items() if value and value != "unknown"}


SHAPE = ("kind", "blocks", "channels", "layers", "width")


def day(moment: datetime) -> str:
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def machine() -> str:
    """Processor, number of cores, GPU if there is one, and operating system."""
    import os
    import platform

    from ramify.networks.devices import gpu_name

    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        name = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), name)
    except OSError:
        pass
    cores = os.cpu_count() or 1
    parts = [name, f"{cores} core{'s' if cores > 1 else ''}", gpu_name(), platform.system()]
    return ", ".join(part for part in parts if part)
