"""What a search found, as plain data and as a picture: for the command line and for the dashboard."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ramify.engine.result_text import continuation, line_names, proven_plies, ranking
from ramify.games.pictures import LISTED, Analysis, Choice, draw_analysis
from ramify.presentation.chess_lines import add_chess
from ramify.presentation.names import seat_name

if TYPE_CHECKING:
    from ramify.engine import SearchResult
    from ramify.games import State


def describe(state: State, result: SearchResult, top: int | None) -> dict[str, Any]:
    """The result of a search as plain data, with the ``top`` actions of each player (None: all)."""
    data: dict[str, Any] = {
        "game": state.game.name,
        "parameters": state.game.params,
        "state": str(state),
        "acting": list(result.acting),
        "value": [float(value) for value in result.value],
        "proven": None if result.proven is None else [float(returns) for returns in result.proven],
        "proven_plies": proven_plies(result),
        "principal_variation": line_names(state, result.principal_variation),
        "players": [describe_player(state, result, player, top) for player in result.acting],
        "stats": result.stats,
    }
    if len(result.acting) == 2:
        data["joint_visits"] = result.visits.tolist()
        data["joint_actions"] = [
            [state.action_name(int(action), player) for action in result.outcomes[player]] for player in (0, 1)
        ]
    return data


def describe_player(state: State, result: SearchResult, player: int, top: int | None) -> dict[str, Any]:
    """The actions of one player, best first."""
    visits = result.visits.sum(axis=1 - player)
    total = max(int(visits.sum()), 1)
    rows = []
    for i in ranking(result, player)[:top]:
        action = int(result.outcomes[player][i])
        rows.append(
            {
                "action": action,
                "name": state.action_name(action, player),
                "visits": int(visits[i]),
                "share": float(visits[i] / total),
                "value": float(result.q[player][i]) if visits[i] else None,
                "prior": float(result.priors[player][i]),
                "continuation": continuation(state, result, player, int(i)),
            }
        )
    if state.game.name == "chess":
        add_chess(state, result, rows)
    called = seat_name(state.game, player)
    return {
        "player": player,
        "called": called,
        "outcomes": len(visits),
        "value": float(result.value[player]),
        "actions": rows,
    }


def analysis_of(state: State, result: SearchResult, top: int | None = None) -> Analysis:
    """What a search found, as pictures take it. ``top``: the number of actions of each player that are drawn or listed,
    where not all are."""
    choices = {}
    for player in result.acting:
        rows = describe_player(state, result, player, None)["actions"]
        choices[player] = tuple(
            Choice(
                row["action"], row["name"], row["share"], row["value"], row.get("san", ""), tuple(row["continuation"])
            )
            for row in rows
        )
    values = {player: float(result.value[player]) for player in result.acting}
    return Analysis(int(result.stats["simulations"]), values, choices, top or LISTED)


def picture(state: State, result: SearchResult, top: int | None = None) -> str:
    """The position as SVG with what the search found: shares of visits, values, and a caption; ``top`` as above."""
    return draw_analysis(state, analysis_of(state, result, top))
