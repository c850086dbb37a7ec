"""PyRat for the eye: the drawing for a terminal and the picture."""

import re
import xml.etree.ElementTree as ET

import pytest

import ramify as rf

GAME = rf.make("pyrat", width=4, height=3)
STATE = GAME.state(
    walls=[[[0, 0], [1, 0]], [[2, 1], [2, 2]], [[3, 0], [3, 1]]],
    mud=[[[1, 1], [2, 1], 3], [[0, 1], [0, 2], 2], [[2, 0], [3, 0], 12], [[1, 0], [1, 1], 255]],
    cheese=[[1, 2], [3, 0], [0, 0]],
    p1=[0, 0],
    p2=[2, 2],
    mud2=2,
    score1=1.5,
    score2=0.5,
    turn=8,
    max_turns=20,
)
DRAWING = """\
   +---+---+---+---+
 2 |     *    P    |
   + 2 +   +---+   +
 1 |       3       |
   +   +255+   +---+
 0 |R* |       ~ * |
   +---+---+---+---+
     0   1   2   3
R rat 1.5, P python 0.5 (mud 2), 3 of 5 cheese left, turn 8 of 20"""


def shapes(svg, tag):
    return ET.fromstring(svg).findall(f"{{http://www.w3.org/2000/svg}}{tag}")


def words(svg):
    return ["".join(text.itertext()).replace("\xa0", " ") for text in shapes(svg, "text")]


def test_drawing_for_a_terminal():
    assert str(STATE) == DRAWING


@pytest.mark.parametrize(
    ("scores", "result"),
    [
        ((2, 0), "the rat wins"),
        ((0, 2), "the python wins"),
        ((1, 1), "a draw"),
        ((0.5, 1.5), "the python wins"),
    ],
)
def test_the_end_is_told(scores, result):
    state = GAME.state(cheese=[], score1=scores[0], score2=scores[1], turn=3)
    assert str(state).endswith(f"turn 3 of 300; {result}")
    assert result.split()[1] in words(state.svg())[-1]


@pytest.mark.parametrize("ended", [False, True])
def test_the_line_below_fits_a_terminal(ended):
    """Also with scores of two digits, and both players in mud or the game at its end."""
    board = rf.make("pyrat", width=21, height=15)
    cheese = [] if ended else [[x, 3] for x in range(18)]
    mud = {} if ended else {"mud1": 2, "mud2": 3, "mud": [[[0, 0], [0, 1], 3], [[20, 14], [20, 13], 3]]}
    state = board.state(cheese=cheese, score1=10.5, score2=12.5, turn=299 + ended, p1=[0, 0], p2=[20, 14], **mud)
    assert len(str(state).splitlines()[-1]) <= 80


def test_picture_shows_everything():
    svg = STATE.svg()
    assert len(shapes(svg, "line")) == 3  # walls
    bold = [text for text in shapes(svg, "text") if text.get("font-weight") == "bold"]
    assert sorted(text.text for text in bold if text.text.isdigit()) == ["12", "2", "2", "255", "3"]  # mud, timer
    assert "1.5" in words(svg)
    assert "0.5" in words(svg)
    assert "turn 8 of 20" in words(svg)
    wedges = [path for path in shapes(svg, "path") if path.get("d", "").startswith("M-12,1 L5,-9")]
    assert len(wedges) == 3


def places(svg, start):
    """Where the figures lie one of whose paths begins like that, the last two below the maze."""
    paths = [path for path in shapes(svg, "path") if path.get("d", "").startswith(start)]
    moved = [re.search(r"translate\((\S+) (\S+)\)", path.get("transform", "")) for path in paths]
    return [(float(match[1]), float(match[2])) for match in moved]


def test_picture_has_y_upward():
    svg = GAME.state(cheese=[[0, 0], [3, 2]], p1=[0, 0], p2=[3, 2]).svg()
    low, high = places(svg, "M-12,1 L5,-9")
    assert low[0] < high[0]
    assert low[1] > high[1]
    assert places(svg, "M17,5")[0] == low  # the rat
    assert places(svg, "M-13,-8")[0] == high  # the python


def test_players_who_share_a_cell_are_both_seen():
    svg = GAME.state(cheese=[], p1=[1, 1], p2=[1, 1]).svg()
    assert places(svg, "M17,5")[0] != places(svg, "M-13,-8")[0]


def test_pictures_of_whole_games_are_sound():
    for preset in ("tiny", "huge"):
        state = rf.make("pyrat", preset=preset).initial_state(1)
        for _ in range(5):
            state.apply(0, 3)
            ET.fromstring(state.svg())
