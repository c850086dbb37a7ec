"""The worked example of docs/methods/graph-search.md: its numbers are those of the engine and of the transcription."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.reference import mcgs
from tools import graph_example

ROOT = Path(graph_example.__file__).parent.parent
PAGE = (ROOT / "docs" / "methods" / "graph-search.md").read_text(encoding="utf-8")


def rows_of_page(first_header: str) -> list[list[str]]:
    """The body of the table whose header row begins so."""
    lines = PAGE[PAGE.index(first_header) :].splitlines()[2:]
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def transcribed() -> graph_example.Example:
    game = graph_example.game()
    plain = mcgs.Search(game, c_puct=graph_example.C_PUCT, fpu_offset=graph_example.FPU_OFFSET)
    return graph_example.Example(plain.root, lambda: plain.search(game, 1))


@pytest.mark.parametrize("example", [graph_example.example, transcribed])
def test_tables_are_what_the_search_does(example: Any) -> None:
    done = example().run(graph_example.SIMULATIONS)
    assert done.scores == rows_of_page("| simulation | N |")
    assert done.ways == rows_of_page("| simulation | way |")


def test_chosen_scores_are_the_edges_taken() -> None:
    done = graph_example.example().run(graph_example.SIMULATIONS)
    names = ["UP", "STAY", "DOWN", "LEFT", "STAY"]
    for scores, way in zip(done.scores, done.ways[1:], strict=True):
        chosen = [name for name, cell in zip(names, scores[2:], strict=True) if cell.startswith("**")]
        assert way[1].startswith(f"A –{'/'.join(chosen)}")


@pytest.mark.parametrize("name", sorted(graph_example.pictures()))
def test_pictures_are_drawn_by_the_tool(name: str) -> None:
    stored = (ROOT / "docs" / "images" / name).read_text(encoding="utf-8")
    assert stored == graph_example.pictures()[name] + "\n"
    assert name in PAGE


def test_code_of_the_page_runs() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    root = names["root"]
    assert root.edge_visits.tolist() == [[3, 2, 1], [0, 0, 1]]
    assert (root.Q_p1, root.Q_p2) == (0.75, 0.125)
    assert names["policy"][1].tolist() == [3 / 7, 2 / 7, 2 / 7]
