"""Pictures: sound SVG on a background of their own, nothing over anything else, and what a search found on them."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import Any
from xml.etree import ElementTree

import pytest

import ramify as rf
from ramify.games.pictures import Analysis, Choice, areas, draw_analysis, draw_seen, places
from ramify.games.pictures.analysis import warm
from ramify.presentation.described import analysis_of, describe_player, picture

SPACE = "{http://www.w3.org/2000/svg}"
Box = tuple[float, float, float, float]  # left, top, right, bottom
MUDDY = {
    "walls": [[[0, 0], [1, 0]]],
    "mud": [[[1, 1], [2, 1], 3], [[0, 1], [1, 1], 12], [[1, 0], [1, 1], 255], [[1, 1], [1, 2], 9], [[2, 0], [3, 0], 2]],
    "cheese": [[1, 2], [3, 0], [0, 1], [2, 1], [1, 0]],
    "max_turns": 20,
}
PYRAT = rf.make("pyrat", width=4, height=3)
POSITIONS = {
    "hex": rf.make("hex", size=7).state("c3 d4 b5"),
    "swap": rf.make("hex", size=5, swap=True).state("c3"),
    "tictactoe": rf.make("tictactoe").state("b2"),
    "connect_four": rf.make("connect_four").state("d d d c"),
    "chess": rf.make("chess").initial_state(),
    "promotion": rf.make("chess").state("8/P6k/8/8/8/8/8/K7 w - - 0 1"),
    "pyrat": PYRAT.state(**MUDDY, p1=[1, 1], p2=[2, 1]),
    "together": PYRAT.state(**MUDDY, p1=[1, 1], p2=[1, 1]),
    "waiting": PYRAT.state(**MUDDY, p1=[1, 1], p2=[2, 1], mud2=2),
    "tiny": rf.make("pyrat", preset="tiny").initial_state(1),
    "goofspiel": rf.make("goofspiel", cards=6).initial_state(),
    "matrix": rf.make("matrix").initial_state(),
}


def searched(name: str) -> tuple[Any, rf.SearchResult]:
    state = POSITIONS[name]
    return state, rf.search(state, rf.evaluators.Rollout(), simulations=400)


def words(svg: str) -> list[str]:
    return [(text.text or "").replace("\xa0", " ") for text in ElementTree.fromstring(svg).iter(f"{SPACE}text")]


def text_boxes(root: ElementTree.Element) -> dict[str, Box]:
    """Where texts lie, with letters as wide as those of common fonts; their order makes equal texts different."""
    boxes = {}
    for number, text in enumerate(root.iter(f"{SPACE}text")):
        size, content = float(text.attrib["font-size"]), text.text or ""
        width = 0.53 * size * len(content)
        left = float(text.attrib["x"]) - {"start": 0, "middle": width / 2, "end": width}[text.attrib["text-anchor"]]
        bottom = float(text.attrib["y"])
        boxes[f"{number}: {content}"] = (left, bottom - 0.75 * size, left + width, bottom)
    return boxes


def overlaps(a: Box, b: Box) -> bool:
    return a[0] < b[2] and b[0] < a[2] and a[1] < b[3] and b[1] < a[3]


@pytest.mark.parametrize("name", POSITIONS)
def test_texts_lie_inside_and_apart(name: str) -> None:
    root = ElementTree.fromstring(picture(*searched(name)))
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    boxes = text_boxes(root)
    outside = [word for word, box in boxes.items() if min(box) < 0 or box[2] > width or box[3] > height]
    assert outside == []
    assert [(a, b) for (a, one), (b, two) in combinations(boxes.items(), 2) if overlaps(one, two)] == []


@pytest.mark.parametrize("name", POSITIONS)
def test_the_whole_picture_has_an_opaque_background(name: str) -> None:
    """So that it reads the same on a light page and on a dark one."""
    root = ElementTree.fromstring(picture(*searched(name)))
    ground = root[0]
    assert ground.tag == f"{SPACE}rect"
    assert [ground.get(key) for key in ("x", "y", "width", "height")] == [
        "0",
        "0",
        root.get("width"),
        root.get("height"),
    ]
    assert re.fullmatch(r"#[0-9a-f]{6}", ground.attrib["fill"])
    assert "opacity" not in ground.attrib


@pytest.mark.parametrize("name", POSITIONS)
def test_the_caption_tells_simulations_and_values(name: str) -> None:
    state, result = searched(name)
    text = " ".join(words(picture(state, result)))
    assert "400 simulations" in text
    for player in result.acting:
        assert f"{result.value[player]:+z.2f}" in text.partition("400 simulations")[2]


@pytest.mark.parametrize("name", ["hex", "tictactoe", "connect_four"])
def test_cells_carry_share_and_value(name: str) -> None:
    state, result = searched(name)
    (player,) = result.acting
    written = words(picture(state, result))
    rows = describe_player(state, result, player, None)["actions"]
    shown = [row for row in rows if row["share"] >= 0.01]
    assert len(shown) > 1
    assert sorted(word for word in written if word.endswith("%")) == sorted(f"{row['share']:.0%}" for row in shown)
    for row in shown:
        assert f"{row['value']:+z.2f}" in written


def polygon_centre(shape: ElementTree.Element) -> tuple[float, float]:
    points = [tuple(map(float, point.split(","))) for point in shape.attrib["points"].split()]
    return sum(x for x, _ in points) / len(points), sum(y for _, y in points) / len(points)


def test_the_numbers_of_hex_stand_on_their_cells() -> None:
    state = rf.make("hex", size=3).state("a1")
    found = Analysis(10, {1: 0.5}, {1: (Choice(5, "c2", 0.75, 0.5), Choice(6, "a3", 0.25, -0.5))})
    root = ElementTree.fromstring(draw_analysis(state, found))
    cells = root.findall(f"{SPACE}polygon")
    fills = [cell.attrib["fill"] for cell in cells]
    assert fills == [warm({5: 0.75, 6: 0.25}.get(cell, 0.0)) for cell in range(9)] + ["none"]  # the rim of the best
    assert polygon_centre(cells[9]) == polygon_centre(cells[5])
    for number, share in ((5, "75%"), (6, "25%")):
        (text,) = [text for text in root.findall(f"{SPACE}text") if text.text == share]
        x, y = polygon_centre(cells[number])
        assert abs(float(text.attrib["x"]) - x) < 0.1
        assert abs(float(text.attrib["y"]) - y) < 6


def lightness(colour: str) -> float:
    red, green, blue = (int(colour[i : i + 2], 16) for i in (1, 3, 5))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_shares_can_be_told_apart_without_seeing_colours() -> None:
    shades = [lightness(warm(share)) for share in (0, 0.05, 0.2, 0.5, 1)]
    assert all(a - b > 10 for a, b in pairwise(shades))


def test_chess_has_arrows_for_the_best_moves() -> None:
    state = rf.make("chess").initial_state()
    actions = [state.action(name) for name in ("e2e4", "g1f3", "d2d4")]
    choices = zip(actions, ("e2e4", "g1f3", "d2d4"), (0.6, 0.3, 0.004), strict=True)
    found = Analysis(9, {0: 0.1}, {0: tuple(Choice(action, name, share, 0.1) for action, name, share in choices)})
    root = ElementTree.fromstring(draw_analysis(state, found))
    tips = [tuple(map(float, arrow.attrib["points"].split()[3].split(","))) for arrow in root.iter(f"{SPACE}polygon")]
    assert tips == [(22 + 60 * 5.5, 6 + 60 * 5.5), (22 + 60 * 4.5, 6 + 60 * 4.5)]  # f3, then e4 on top
    assert "white: 1. e2e4 (60%, +0.10) · 2. g1f3 (30%, +0.10)" in words(draw_analysis(state, found))


def test_chess_has_arrows_for_the_expected_replies() -> None:
    state = rf.make("chess").initial_state()
    lines = (("e2e4", "e7e5"), ("d2d4", "d7d5", "c2c4"), ("g1f3", "e7e5"))
    choices = tuple(Choice(state.action(line[0]), line[0], 0.3, 0.1, label=line[0][2:], line=line) for line in lines)
    for listed, replies in ((5, 2), (1, 1)):  # two of them share an arrow
        svg = draw_analysis(state, Analysis(9, {0: 0.1}, {0: choices}, listed))
        arrows = list(ElementTree.fromstring(svg).iter(f"{SPACE}polygon"))
        assert len(arrows) == replies + min(3, listed)
        assert len({arrow.attrib["fill"] for arrow in arrows[:replies]}) == 1 != len(arrows)
    assert "white: 1. e4 (30%, +0.10)" in words(svg)


def test_promotions_on_the_same_squares_share_an_arrow() -> None:
    state = POSITIONS["promotion"]
    names = ("a7a8q", "a7a8n", "a1b1")
    found = Analysis(9, {0: 0.1}, {0: tuple(Choice(state.action(name), name, 0.3, 0.1) for name in names)})
    svg = draw_analysis(state, found)
    assert len(list(ElementTree.fromstring(svg).iter(f"{SPACE}polygon"))) == 2
    assert "1,2" in words(svg)


def boxes_around(root: ElementTree.Element, start: str, reach: tuple[float, float], skip: int = 0) -> list[Box]:
    """Where the figures lie one of whose paths begins like that, less the last ones."""
    boxes = []
    for path in root.findall(f"{SPACE}path"):
        place = re.search(r"translate\((\S+) (\S+)\) scale\((\S+)\)", path.get("transform", ""))
        if place and path.attrib["d"].startswith(start):
            x, y, scale = map(float, place.groups())
            boxes.append((x - reach[0] * scale, y - reach[1] * scale, x + reach[0] * scale, y + reach[1] * scale))
    return boxes[: len(boxes) - skip]


@pytest.mark.parametrize("name", ["pyrat", "together", "waiting", "tiny"])
def test_mud_hides_no_rat_python_or_cheese(name: str) -> None:
    state = POSITIONS[name]
    root = ElementTree.fromstring(state.svg())
    figures = boxes_around(root, "M-12,1 L5,-9", (13, 11))  # cheese
    figures += boxes_around(root, "M17,5", (19, 13), skip=1) + boxes_around(root, "M-13,-8", (19, 14), skip=1)
    assert len(figures) == len(state.fields["cheese"]) + 2
    puddles = [rect for rect in root.findall(f"{SPACE}rect") if rect.get("fill") == "#8a5a2b"]
    assert len(puddles) == len(state.fields["mud"])
    for puddle in puddles:
        x, y = map(float, re.findall(r"translate\((\S+) (\S+)\)", puddle.attrib["transform"])[0])
        width, height = float(puddle.attrib["width"]) / 2, float(puddle.attrib["height"]) / 2
        if "rotate" in puddle.attrib["transform"]:
            width, height = height, width
        assert [box for box in figures if overlaps(box, (x - width, y - height, x + width, y + height))] == []


def test_pyrat_has_coordinates_around_the_maze() -> None:
    root = ElementTree.fromstring(POSITIONS["pyrat"].svg())
    (frame,) = [rect for rect in root.findall(f"{SPACE}rect") if rect.get("fill") == "none"]
    left, top = float(frame.attrib["x"]), float(frame.attrib["y"])
    bottom = top + float(frame.attrib["height"])
    numbers = [(text.text, float(text.attrib["x"]), float(text.attrib["y"])) for text in root.iter(f"{SPACE}text")]
    assert [word for word, x, _ in numbers if x < left] == ["0", "1", "2"]
    assert [word for word, x, y in numbers if x > left and bottom < y < bottom + 22] == ["0", "1", "2", "3"]


def test_pyrat_shows_where_both_want_to_go() -> None:
    state = POSITIONS["together"]
    first = (Choice(0, "UP", 0.7, 1.0), Choice(3, "LEFT", 0.3, 0.5))
    found = Analysis(10, {0: 1.0, 1: 2.0}, {0: first, 1: (Choice(1, "RIGHT", 0.9, 2.0), Choice(4, "STAY", 0.1, 0.0))})
    svg = draw_analysis(state, found)
    wedges = list(ElementTree.fromstring(svg).iter(f"{SPACE}polygon"))
    assert [wedge.attrib["fill"] for wedge in wedges] == ["#a8460b", "#a8460b", "#0b4f8a"]
    assert {"rat: UP (70%, +1.00)", "python: RIGHT (90%, +2.00)"} <= set(re.split(r" · ", " · ".join(words(svg))))


class Drawn(rf.PythonGame):
    """One choice, and a picture of the author's own."""

    num_actions, observation_shape = 2, (1,)
    drawing = '<?xml version="1.0"?><svg width="100%" viewBox="0 0 120 80"><title>mine</title></svg>'

    def start(self, rng):
        return 0

    def acting(self, position):
        return () if position else (0,)

    def legal_actions(self, position, player):
        return range(2)

    def apply(self, position, action):
        return 1, (action, -action)

    def observation(self, position, player):
        return (position,)

    def svg(self, position):
        return self.drawing


class Broken(Drawn):
    drawing = "<svg><b></svg>"

    def text(self, position):
        return "as text"


def test_an_authors_picture_gets_the_list_below() -> None:
    state = Drawn().initial_state()
    root = ElementTree.fromstring(picture(state, rf.search(state, simulations=20)))
    assert [title.text for title in root.iter(f"{SPACE}title")] == ["mine"]
    assert any("player 0: 1 (" in (text.text or "").replace("\xa0", " ") for text in root.iter(f"{SPACE}text"))
    assert all(float(text.attrib["y"]) > 80 for text in root.iter(f"{SPACE}text"))
    assert float(root.attrib["width"]) >= 120


def test_a_picture_that_is_no_xml_is_replaced_by_text() -> None:
    state = Broken().initial_state()
    assert "as text" in words(picture(state, rf.search(state, simulations=20)))


def test_every_action_of_a_board_game_has_its_place_in_the_picture() -> None:
    """Walks with clicks alone: the places of each legal action are areas, and two actions share them only where they
    have the same effect on the board (promotions, walls)."""
    for name, params in (("hex", {"size": 4}), ("tictactoe", {}), ("connect_four", {}), ("chess", {})):
        state = rf.make(name, **params).initial_state()
        for _ in range(6):
            outlines = areas(state, viewer=1)
            player = state.acting[0]
            legal = [int(action) for action in state.legal_actions(player)]
            found = {action: places(state, player, action) for action in legal}
            assert all(place in outlines for several in found.values() for place in several)
            assert len(set(found.values())) == len(legal)
            state.apply(legal[len(legal) // 2])


def test_areas_lie_where_the_picture_has_the_cell() -> None:
    """A chess square of the side to look from is at the bottom; a PyRat step up leads to the cell above."""
    chess = rf.make("chess").initial_state()
    for viewer, bottom, top in ((0, "a1", "a8"), (1, "h8", "h1")):
        found = areas(chess, viewer)
        assert found[bottom][0][1] > found[top][0][1]
        assert found[bottom][0][0] == min(corner[0] for outline in found.values() for corner in outline)
    maze = rf.make("pyrat", preset="tiny").initial_state(3)
    cells = areas(maze)
    own, above = places(maze, 0, maze.action("STAY", 0))[0], places(maze, 0, maze.action("UP", 0))[0]
    assert cells[above][0][1] < cells[own][0][1]
    assert areas(rf.make("goofspiel").initial_state()) == {}


def test_a_seen_board_keeps_its_size_with_an_analysis() -> None:
    state = rf.make("chess").initial_state()
    result = rf.search(state, simulations=30)
    sizes = []
    for analysis in (None, analysis_of(state, result)):
        root = ElementTree.fromstring(draw_seen(state, analysis, viewer=1))
        sizes.append((root.get("width"), root.get("height")))
    assert sizes[0] == sizes[1]
