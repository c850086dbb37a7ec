"""What a search found, as HTML: the table of moves, the matrix of a simultaneous position, the tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from html import escape
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from ramify.dashboard.layout import table
from ramify.engine import SearchResult
from ramify.engine.result import Report, name_of
from ramify.games import State
from ramify.games.percent import percentages
from ramify.games.pictures import Analysis
from ramify.presentation.described import describe_player
from ramify.presentation.names import player_name

Heat = Literal["visits", "prior", "value", "off"]
Joint = tuple[int, int]
SHOWN_MOVES, SHOWN_HINTS, SHOWN_EDGES, MOST_MATRIX = 12, 3, 8, 12
DEEPEST = 12  # levels of the tree that can be opened
LOW, MIDDLE, HIGH = (0xE0, 0x8A, 0x2E), (0xF5, 0xF0, 0xE6), (0x4A, 0x8F, 0xC7)  # of a payoff: safe for the colour-blind


def heated(found: Analysis, result: SearchResult, heat: Heat) -> Analysis | None:
    """What is drawn on the board: shares of visits, priors of the network, or chances to win."""
    if heat == "off":
        return None
    if heat == "visits":
        return found
    choices = {}
    for player, listed in found.choices.items():
        share = prior_of(result, player) if heat == "prior" else {}
        changed = [
            replace(one, share=share.get(one.action, 0.0) if heat == "prior" else chance(one.value)) for one in listed
        ]
        choices[player] = tuple(sorted(changed, key=lambda one: -one.share))
    return replace(found, choices=choices)


def prior_of(result: SearchResult, player: int) -> dict[int, float]:
    """What the network suggests, by action."""
    pairs = zip(result.outcomes[player], result.priors[player], strict=True)
    return {int(action): float(prior) for action, prior in pairs}


def chance(value: float | None) -> float:
    """The chance to win that a value between -1 and 1 stands for, as far as there are no draws."""
    return 0.0 if value is None else min(1.0, max(0.0, (value + 1) / 2))


def moves_table(state: State, result: SearchResult, player: int) -> str:
    """The best moves with visits, value, chances, prior and line."""
    rows, marks = [], []
    described = describe_player(state, result, player, SHOWN_MOVES)
    scaled = bool(np.nanmax(np.abs(result.value)) <= 1.0) and not state.game.simultaneous
    shown = [row for row in described["actions"] if row["visits"]] or described["actions"]
    for row in shown:
        line = row.get("san_line", row["continuation"])
        words = escape(" ".join(line[1:] if len(result.acting) == 1 else line))
        value = "" if row["value"] is None else f"{row['value']:+.3f}"
        rows.append(
            [
                f"<b>{escape(row.get('san', row['name']))}</b>",
                f"{row['visits']:,}",
                f"{row['share']:.1%}",
                f"mate {row['mate']}" if "mate" in row else value,
                chances_html(row.get("win_draw_loss"), row["value"]) if scaled else "",
                f"{row['prior']:.1%}",
                f'<div class="pv" title="{words}">{words}</div>',
            ]
        )
        marks.append(f'class="pick" tabindex="0" role="button" data-action="{player}:{row["action"]}"')
    head = ["move", "visits", "share", "value", "w / d / l" if scaled else "", "prior", "line"]
    grid = table(head, rows, left=(0, 6), marks=marks)
    who = f"<h2>{escape(player_name(state.game, player))}</h2>" if len(result.acting) == 2 else ""
    hidden = described["outcomes"] - len(rows)
    return who + grid + (f'<div class="dim">and {hidden} more</div>' if hidden > 0 else "")


def hint_html(state: State, result: SearchResult, side: int) -> str:
    """The best moves of a search, as a small table in a card."""
    player = side if side in result.acting else result.acting[0]
    rows = describe_player(state, result, player, SHOWN_HINTS)["actions"]
    lines = "".join(
        f"<tr><td><b>{escape(row.get('san', row['name']))}</b></td><td>{row['share']:.0%}</td>"
        f"<td>{'' if row['value'] is None else format(row['value'], '+.2f')}</td>"
        f"<td class='pv'>{escape(' '.join(row.get('san_line', row['continuation'])[1:]))}</td></tr>"
        for row in rows
    )
    head = "<tr><th>move</th><th>visits</th><th>value</th><th class='l'>expected line</th></tr>"
    shown = f'<div class="scroll"><table class="grid">{head}{lines}</table></div>'
    return f'<section class="card"><h2>Hint</h2>{shown}</section>'


def chances_html(given: Sequence[float] | None, value: float | None) -> str:
    """Win, draw and loss as a bar with its numbers as a title."""
    if value is None and given is None:
        return ""
    shares = list(given) if given is not None else [chance(value), 0.0, 1 - chance(value)]
    wins, draws, losses = percentages([round(1e6 * share) for share in shares])
    parts = "".join(
        f'<i class="{kind}" style="width:{n}%"></i>' for kind, n in zip("wdx", (wins, draws, losses), strict=True)
    )
    said = f"{wins} % win, {draws} % draw, {losses} % loss"
    return f'<span class="wdl" title="{said}" role="img" aria-label="{said}">{parts}</span>'


def matrix_html(state: State, result: SearchResult) -> str:
    """Payoffs by pairs of actions with the strategies of both players: rows player 0, columns player 1."""
    outcomes = [[int(action) for action in result.outcomes[player]] for player in (0, 1)]
    if max(map(len, outcomes)) > MOST_MATRIX:
        return f'<p class="dim">The matrix has {len(outcomes[0])} × {len(outcomes[1])} pairs: too many to show.</p>'
    names = [[escape(state.action_name(action, player)) for action in outcomes[player]] for player in (0, 1)]
    nash = [result.policy(player, "nash")[outcomes[player]] for player in (0, 1)]
    visits = [_shares(result.visits.sum(axis=1 - player)) for player in (0, 1)]
    payoffs = result.payoffs[0]
    seen = payoffs[np.isfinite(payoffs)]
    low, high = (float(seen.min()), float(seen.max())) if seen.size else (0.0, 0.0)
    head = "<th></th>" + "".join(f"<th>{name}</th>" for name in names[1]) + "<th>equilibrium</th><th>visits</th>"
    body = ""
    for i, name in enumerate(names[0]):
        cells = "".join(_cell(float(payoffs[i, j]), int(result.visits[i, j]), low, high) for j in range(len(names[1])))
        shares = f'<td class="h">{nash[0][i]:.0%}</td><td class="h">{visits[0][i]:.0%}</td>'
        body += f'<tr><td class="h"><b>{name}</b></td>{cells}{shares}</tr>'
    for title, listed in (("equilibrium", nash[1]), ("visits", visits[1])):
        inner = "".join(f'<td class="h">{share:.0%}</td>' for share in listed)
        body += f'<tr><td class="h dim">{title}</td>{inner}<td class="h"></td><td class="h"></td></tr>'
    worth = "".join(f" {escape(player_name(state.game, p))} {float(result.value[p]):+.2f}." for p in (0, 1))
    said = (
        f"Rows: {escape(player_name(state.game, 0))}. Columns: {escape(player_name(state.game, 1))}. Numbers: what the "
        f"first still expects. Values:{worth}"
    )
    grid = f'<table class="grid matrix"><tr>{head}</tr>{body}</table>'
    return f'<div class="scroll">{grid}</div><p class="dim">{said}</p>'


def _shares(counts: NDArray[np.int64]) -> NDArray[np.float64]:
    return np.asarray(counts / max(int(counts.sum()), 1), np.float64)


def _cell(payoff: float, visits: int, low: float, high: float) -> str:
    if not np.isfinite(payoff):
        return '<td class="h dim">–</td>'
    part = 0.5 if high == low else (payoff - low) / (high - low)
    ends, share = ((LOW, MIDDLE), 2 * part) if part < 0.5 else ((MIDDLE, HIGH), 2 * part - 1)
    colour = "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(*ends, strict=True))
    return f'<td style="background:#{colour}" title="{visits:,} visits">{payoff:+.2f}</td>'


def tree_html(state: State, result: SearchResult, opened: set[tuple[Joint, ...]]) -> str:
    """The most visited edges of the root and of every opened node; each can be clicked (data-path)."""
    lines: list[str] = []
    _grow(lines, result, state.copy(), (), opened)
    return f'<div class="tree scroll">{"".join(lines)}</div>'


def _grow(lines: list[str], result: SearchResult, state: State, path: tuple[Joint, ...], opened: set[Any]) -> None:
    report: Report = result.node(list(path))
    if not report["ready"]:
        return
    visits = report["edge_visits"]
    total = max(int(visits.sum()), 1)
    for flat in np.argsort(-visits.ravel(), kind="stable")[:SHOWN_EDGES]:
        i, j = divmod(int(flat), visits.shape[1])
        if visits[i, j] == 0:
            break
        joint = (int(report["outcomes"][0][i]), int(report["outcomes"][1][j]))
        here = (*path, joint)
        mover = 0 if report["acting"] & 1 else 1
        value = float(report["payoffs"][mover, i, j])
        prior = float(report["priors"][mover][i if mover == 0 else j])
        text = path_text(here)
        sign = "▾" if here in opened else "▸"
        lines.append(
            f'<div class="node" role="button" tabindex="0" data-path="{text}" '
            f'style="padding-left:{0.3 + 1.1 * len(path):.1f}rem">'
            f"<span>{sign}</span><b>{escape(name_of(state, joint))}</b>"
            f'<span class="c">{visits[i, j]:,}</span>'
            f'<span class="w"><span class="share" style="width:{50 * visits[i, j] / total:.0f}px"></span></span>'
            f'<span class="v">{value:+.3f}</span><span class="dim">{prior:.1%}</span></div>'
        )
        if here in opened and len(here) < DEEPEST:
            child = state.copy()
            child.apply(*(action for action in joint if action >= 0))
            if not child.is_over:
                _grow(lines, result, child, here, opened)


def path_text(path: Sequence[Joint]) -> str:
    """A path in the tree as it is written into the page: 12,-1;3,-1."""
    return ";".join(f"{first},{second}" for first, second in path)


def read_path(text: str) -> tuple[Joint, ...] | None:
    """The path that a page names; None if that is none."""
    try:
        pairs = [tuple(int(number) for number in part.split(",")) for part in text[:400].split(";")]
    except ValueError:
        return None
    if not 0 < len(pairs) <= DEEPEST or any(len(pair) != 2 for pair in pairs):
        return None
    return tuple((pair[0], pair[1]) for pair in pairs)


def bar_html(value: float) -> str:
    """The value of the first player between -1 and 1, as a bar beside the board."""
    share = chance(value)
    inner = f'<i style="height:{100 * share:.0f}%"></i>'
    return f'<div class="bar" title="{value:+.2f}" role="img" aria-label="value {value:+.2f}">{inner}</div>'
