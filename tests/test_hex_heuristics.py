"""The plain alpha-beta players that tools/hex_heuristics.py measures others by."""

from __future__ import annotations

import pytest

import ramify as rf
from ramify.arena import Turn, match, read_player
from tools.hex_heuristics import Board


def turned(rows: list[str]) -> list[str]:
    """The board with the players exchanged: mirrored at its short diagonal."""
    return ["".join({"x": "o", "o": "x"}.get(row[c], ".") for row in rows) for c in range(len(rows))]


def test_distances_and_resistances() -> None:
    empty = Board(["...", "...", "..."])
    assert empty.distance(0) == empty.distance(1) == 3
    assert empty.value(0, "resistance") == pytest.approx(0, abs=1e-9)
    rows = ["x..", ".xo", "o.."]
    board, other = Board(rows), Board(turned(rows))
    assert (board.distance(0), board.distance(1)) == (2, 1)
    for heuristic in ("distance", "resistance"):
        assert board.value(0, heuristic) == pytest.approx(other.value(1, heuristic), abs=1e-9)
    # One cell above two: 1 into it, 2 on to the one below, then 1 to the edge beside 2 + 1 by way of its neighbour.
    assert Board([".o", ".."]).resistance(0) == pytest.approx(1 + 2 + 1 / (1 / 1 + 1 / 3), rel=1e-6)


@pytest.mark.parametrize("heuristic", ["distance", "resistance"])
def test_it_wins_where_it_can_and_stops_a_win(heuristic: str) -> None:
    game = rf.make("hex", size=3)
    player = read_player(f"plain:heuristic={heuristic},depth=2").open(game)
    win = game.state(board=["x..", "x.o", ".o."], to_move="x")  # type: ignore[attr-defined]
    assert [win.action_name(action) for action in player.choose([Turn(win, 0, 0)])] == ["a3"]
    threat = game.state(board=["x..", "x.o", "..."], to_move="o")  # type: ignore[attr-defined]
    assert [threat.action_name(action) for action in player.choose([Turn(threat, 1, 0)])] == ["a3"]
    games = match(game, f"plain:heuristic={heuristic},depth=2", "random", 12)
    strong = read_player(f"plain:heuristic={heuristic},depth=2").identity
    assert sum(played.points[played.fixture.players.index(strong)] for played in games) >= 9
