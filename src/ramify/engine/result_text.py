"""What a search found as text: for ``print(result)``, and the lines of play that ``ramify analyze`` shows too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from ramify._core import SAME_RETURNS, IllegalAction

if TYPE_CHECKING:
    from ramify.engine.result import ActionOrPair, SearchResult
    from ramify.games import State

WIDTH = 80  # columns of a terminal, and with ROWS also its 24 lines
ROWS = {1: 15, 2: 7}  # actions shown of each player, by the number of players who act
NAME = 14  # characters of an action's name
LINE = 6  # actions of a continuation


def short(result: SearchResult) -> str:
    """One line: what to play, the values, and what they cost."""
    proven = ", proven" if result.proven is not None else ""
    return f"<SearchResult: {'/'.join(_best_names(result))}, value {_values(result)}{proven}, {_cost(result)}>"


def screen(result: SearchResult) -> str:
    """Who acts, what to play, and a table of each acting player's best actions: at most 80 columns and 24 lines."""
    lines = headline(result)
    for player in result.acting:
        lines += _table(result, player)
    return "\n".join(line[:WIDTH].rstrip() for line in lines)


def headline(result: SearchResult) -> list[str]:
    """Who acts and what to play; the values and what they cost; what is proven."""
    game = "" if result._state is None else f"{result._state.game.name}, "
    both = len(result.acting) == 2
    who = "both players act" if both else f"player {result.acting[0]} acts"
    best = f"best action{'s' if both else ''} {' and '.join(_best_names(result))}"
    proven = [] if result.proven is None else [proven_text(result)]
    return [f"{game}{who}; {best}", f"value {_values(result)} after {_cost(result)}", *proven]


def proven_text(result: SearchResult, names: Sequence[str] = ("player 0", "player 1")) -> str:
    """What the solver has proven: who wins and how soon, or that nobody does, and the returns."""
    assert result.proven is not None
    first, second = (float(returns) for returns in result.proven)
    ends = "a draw" if abs(first - second) <= SAME_RETURNS else f"{names[int(first < second)]} wins"
    plies = proven_plies(result)
    soon = "" if plies is None else f" in at most {plies} {'ply' if plies == 1 else 'plies'}"
    return f"proven: {ends}{soon}, returns {first:+g} {second:+g}"


def proven_plies(result: SearchResult) -> int | None:
    """Plies in which a proven winner ends the game at the latest.

    None where nothing is proven, both players choose, or something other than all or nothing is at stake: then nobody
    need hurry.
    """
    proof = result.proof
    if proof is None or result.proven is None or len(result.acting) != 1:
        return None
    (player,) = result.acting
    worst, best = (float(stake) for stake in proof.stakes[:, player])
    if worst == best or float(proof.bounds[0, player]) not in (worst, best):
        return None
    plies = int(proof.plies.ravel()[result.outcomes[player].tolist().index(result.best_action)])
    return plies if plies > 0 else None


def ranking(result: SearchResult, player: int) -> list[int]:
    """Outcomes of a player, the best first: what result.best_action plays, then by visits."""
    visits = result.visits.sum(axis=1 - player)
    order = np.lexsort((-np.arange(len(visits)), result.priors[player], result.q[player], visits))[::-1]
    best = result.best_action
    action = best[player] if isinstance(best, tuple) else best
    return sorted(map(int, order), key=lambda i: int(result.outcomes[player][i]) != action)


def continuation(state: State, result: SearchResult, player: int, outcome: int) -> list[str]:
    """The most visited way on after one outcome of one player, as names; that outcome's own turn comes first."""
    if not result.visits.take(outcome, axis=player).any():
        return []
    both = [outcome, outcome]
    both[1 - player] = int(result.visits.take(outcome, axis=player).argmax())
    first = [int(result.outcomes[p][both[p]]) for p in result.acting]
    return line_names(state, result.variation(*first, length=LINE))


def line_names(state: State, line: Sequence[ActionOrPair]) -> list[str]:
    """Actions by name, played one after another; those of one turn are joined by '/'.

    A learned model may go on where the rules cannot: the names end there.
    """
    names = list[str]()
    for turn in line:
        actions, after = turn if isinstance(turn, tuple) else (turn,), state.copy()
        try:
            after.apply(*actions)
        except IllegalAction:
            break
        names.append("/".join(state.action_name(a, p) for a, p in zip(actions, state.acting, strict=True)))
        state = after
    return names


@dataclass(frozen=True)
class Row:
    """What a table says of an action."""

    name: str
    visits: str
    share: str
    value: str
    prior: str
    line: list[str]  # the names of what follows


def title(result: SearchResult, player: int) -> str:
    """The heading of the actions of a player."""
    return f"player {player}" if len(result.acting) == 2 else "action"


def rows(result: SearchResult, player: int) -> tuple[list[Row], int]:
    """The best actions of a player, and how many more there are."""
    visits = result.visits.sum(axis=1 - player)
    order = ranking(result, player)
    shown = order[: ROWS[len(result.acting)]]
    found = [
        Row(
            _name(result, int(result.outcomes[player][i]), player),
            f"{visits[i]:,}",
            f"{visits[i] / max(int(visits.sum()), 1):.1%}",
            _value(result, player, i),
            f"{result.priors[player][i]:.3f}",
            _way_on(result, player, i, best=i == order[0]),
        )
        for i in shown
    ]
    return found, len(order) - len(shown)


def _table(result: SearchResult, player: int) -> Iterator[str]:
    found, hidden = rows(result, player)
    head = title(result, player)
    width = max(map(len, [head, *(row.name for row in found)]))
    yield f"{head:<{width}}   visits   share    value  prior  continuation"
    for row in found:
        start = f"{row.name:<{width}}{row.visits:>9}{row.share:>8}{row.value:>9}{row.prior:>7}  "
        yield start + fitting(row.line, WIDTH - len(start))
    if hidden:
        yield f"and {hidden} more"


def _value(result: SearchResult, player: int, outcome: int) -> str:
    """What an outcome is worth to its player: proven, or found; nothing where nobody has looked."""
    value = result.q[player][outcome] if result.visits.take(outcome, axis=player).any() else None
    if result.proof is not None and len(result.acting) == 1 and result.proof.plies.ravel()[outcome] >= 0:
        value = result.proof.edges[0, player].ravel()[outcome]
    return "" if value is None else f"{value:+.3f}"


def _way_on(result: SearchResult, player: int, outcome: int, *, best: bool) -> list[str]:
    """What follows an outcome; of the best one only the principal variation once the graph is gone."""
    state = result._state
    if state is None:
        return []
    with suppress(ValueError, RuntimeError):  # a searcher that has moved on has no graph to look at
        names = continuation(state, result, player, outcome)
        return names if len(result.acting) == 2 else names[1:]
    with suppress(ValueError, RuntimeError):
        if best and len(result.acting) == 1:
            return line_names(state, result.principal_variation[:LINE])[1:]
    return []


def fitting(names: Sequence[str], width: int) -> str:
    """As many of these names as there is room for."""
    text = ""
    for name in names:
        longer = f"{text} {_clipped(name)}".strip()
        if len(longer) > width:
            break
        text = longer
    return text


def _clipped(name: str) -> str:
    name = " ".join(name.split())
    return name if len(name) <= NAME else name[: NAME - 3] + "..."


def _name(result: SearchResult, action: int, player: int) -> str:
    return str(action) if result._state is None else _clipped(result._state.action_name(action, player))


def _best_names(result: SearchResult) -> list[str]:
    best = result.best_action
    actions = best if isinstance(best, tuple) else (best,)
    return [_name(result, action, player) for action, player in zip(actions, result.acting, strict=True)]


def _values(result: SearchResult) -> str:
    return f"{result.value[0]:+.3f} {result.value[1]:+.3f}"


def _cost(result: SearchResult) -> str:
    stats = result.stats
    early = ", stopped early" if stats.get("interrupted") or stats.get("stopped") else ""
    seconds = f" in {stats['seconds']:.2f} s" if "seconds" in stats else ""
    count = int(stats.get("simulations", result.visits.sum() + 1))
    return f"{count:,} simulation{'' if count == 1 else 's'}{seconds}{early}"
