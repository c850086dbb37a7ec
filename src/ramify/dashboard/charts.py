"""Charts: lines over training steps or time, one for each run, and ratings with their intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

# Okabe and Ito's colours, which people with any colour vision tell apart; the first two also by their lightness.
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#d55e00", "#56b4e9", "#8c8c8c", "#b8a800")
DASHES = ("solid", "dashed", "dotted")
INK = "#8d8475"  # of axes, readable on light and dark


@dataclass(frozen=True)
class Curve:
    """A metric as it is shown."""

    title: str
    kind: str  # of lines: iteration or step
    metric: str
    help: str = ""
    percent: bool = False


CURVES = (
    Curve("Policy loss on new positions", "iteration", "new_policy", "Lower is better."),
    Curve("Value loss on new positions", "iteration", "new_value", "Lower is better."),
    Curve("Training loss", "step", "total", "Of every step, before new positions are judged."),
    Curve("Entropy of the policy", "iteration", "new_entropy", "Of the network on new positions."),
    Curve("Explained variance", "iteration", "new_explained_variance", "Of the outcomes: 1 is all of it."),
    Curve("Best action predicted", "iteration", "new_top1", "By the network alone.", percent=True),
    Curve("Positions per second", "iteration", "positions_per_s", "Of self-play."),
    Curve("Evaluations per second", "iteration", "evaluations_per_s", "Of the network in self-play."),
    Curve("Evaluator busy", "iteration", "evaluator_busy", "Share of the time of self-play.", percent=True),
    Curve("Game length", "iteration", "game_length", "Turns of a self-play game."),
    Curve("Mean return", "iteration", "mean_return", "Of self-play games for one player."),
    Curve("Learning rate", "step", "learning_rate"),
)


def axes(x_title: str, percent: bool = False) -> dict[str, Any]:
    """What all charts share."""
    value = {
        "type": "value",
        "scale": True,
        "axisLabel": {"color": INK},
        "splitLine": {"lineStyle": {"color": "#8883"}},
    }
    if percent:
        value = {**value, "min": 0, "max": 1}
    return {
        "animation": False,
        "grid": {"left": 54, "right": 14, "top": 18, "bottom": 40},
        "tooltip": {"trigger": "axis", "confine": True},
        "xAxis": {
            "type": "value",
            "name": x_title,
            "nameLocation": "middle",
            "nameGap": 24,
            "nameTextStyle": {"color": INK},
            "axisLabel": {"color": INK},
            "splitLine": {"show": False},
        },
        "yAxis": value,
    }


def lines_chart(
    series: Mapping[str, Sequence[tuple[float, float]]], x_title: str, percent: bool = False
) -> dict[str, Any]:
    """A chart with one line per run."""
    drawn = [
        {
            "type": "line",
            "name": name,
            "data": [list(point) for point in points],
            "showSymbol": len(points) < 2,
            "lineStyle": {"width": 2, "type": DASHES[number // len(COLOURS) % len(DASHES)]},
            "color": COLOURS[number % len(COLOURS)],
        }
        for number, (name, points) in enumerate(series.items())
    ]
    return {**axes(x_title, percent), "series": drawn}


def rating_chart(runs: Mapping[str, Mapping[str, Any] | None], x_title: str = "training steps") -> dict[str, Any]:
    """Elo over training steps or time with 95 % intervals; players that need no training as dashed lines. Runs without
    a rating are left out, and the others have the colours of their places."""
    drawn: list[dict[str, Any]] = []
    for number, (name, rating) in enumerate(runs.items()):
        colour = colour_of(number)
        if rating is None:
            continue
        rated = sorted(
            (one for one in rating["players"] if one["step"] is not None), key=lambda one: float(one["step"])
        )
        points = [[one["step"], round(one["elo"])] for one in rated]
        drawn.append({"type": "line", "name": name, "data": points, "color": colour, "lineStyle": {"width": 2}})
        for which, opacity in (("low", 0.0), ("high", 0.18)):
            base = [[one["step"], one["low"]] for one in rated]
            band = base if which == "low" else [[one["step"], one["high"] - one["low"]] for one in rated]
            drawn.append(
                {
                    "type": "line",
                    "name": f"{name} {which}",
                    "data": band,
                    "stack": f"band {number}",
                    "stackStrategy": "all",  # also where the lower end is negative
                    "symbol": "none",
                    "lineStyle": {"opacity": 0},
                    "areaStyle": {"opacity": opacity, "color": colour},
                    "tooltip": {"show": False},
                    "silent": True,
                }
            )
        last = max((one["step"] for one in rated), default=1)
        for other in (one for one in rating["players"] if one["step"] is None):
            ends = [[0, round(other["elo"])], [last, round(other["elo"])]]
            label = {
                "show": True,
                "formatter": "{a}",
                "color": INK,
                "fontSize": 11,
                "align": "right",
                "offset": [-8, -9],
            }
            line = {"type": "dashed", "width": 1, "color": INK}
            drawn.append(
                {
                    "type": "line",
                    "name": other["name"],
                    "data": ends,
                    "symbol": "none",
                    "lineStyle": line,
                    "endLabel": label,
                }
            )
    rated = [name for name, rating in runs.items() if rating is not None]
    legend = {"show": len(rated) > 1, "data": rated, "top": 0, "textStyle": {"color": INK}}
    chart = {**axes(x_title), "tooltip": {"trigger": "item", "confine": True}, "legend": legend, "series": drawn}
    chart["grid"] = {**chart["grid"], "top": 34 if len(rated) > 1 else 18}
    return chart


def colour_of(number: int) -> str:
    return COLOURS[number % len(COLOURS)]
