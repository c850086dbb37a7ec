"""What notebooks show of results, graphs and solutions."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

import ramify as rf
from ramify.engine import result_html


def searched(name: str = "tictactoe", **settings: Any) -> rf.SearchResult:
    return rf.search(rf.make(name).initial_state(), simulations=200, **settings)


def test_a_tree_has_the_most_visited_edges_and_where_they_lead() -> None:
    result = searched()
    nodes = result.explore(depth=2, width=3).nodes
    assert len(nodes) == 1 + 3 + 9
    root = nodes[0]
    assert root["visits"] == 200
    assert [edge["visits"] for edge in root["edges"]] == sorted(result.visit_counts.tolist(), reverse=True)[:3]
    best = root["edges"][0]
    assert nodes[best["to"]]["visits"] == best["visits"]  # a tree: a child is visited from its parent alone
    assert nodes[best["to"]]["picture"] == rf.make("tictactoe").state(best["name"]).svg()
    assert all("to" not in edge for node in nodes[4:] for edge in node["edges"])


def test_pairs_are_named_and_pictures_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(result_html, "MOST_NODES", 5)
    nodes = searched("goofspiel").explore(depth=3, width=9).nodes
    assert len(nodes) == 5
    assert re.fullmatch(r"\d / \d", nodes[0]["edges"][0]["name"])
    assert [("to" in edge) for edge in nodes[0]["edges"]] == [True] * 4 + [False] * 5


def test_the_script_survives_names_that_look_like_its_end() -> None:
    explorer = result_html.Explorer(
        [{"picture": "<svg></svg>", "value": [0, 0], "visits": 1, "edges": [{"name": "</script><b>", "visits": 1}]}]
    )
    assert explorer._repr_html_().count("</script>") == 1


def test_a_result_shows_what_it_prints() -> None:
    result = rf.search(rf.make("hex", size=5).initial_state(), simulations=200)
    shown = result._repr_html_()
    assert "<svg" in shown
    printed = str(result).splitlines()
    assert f"{printed[0]}<br>{printed[1]}" in shown
    best = printed[3].split()
    assert f'<td style="text-align: left">{best[0]}</td><td style="text-align: right">{best[1]}</td>' in shown
    assert shown.count("<tr>") == 1 + 15
    assert "<p>and 10 more</p>" in shown


def test_a_tree_says_what_it_leaves_out() -> None:
    root = searched().explore(depth=1, width=3).nodes[0]
    assert root["more"] == 9 - 3
    assert root["edges"][0]["prior"] == "0.111"
    assert all(re.fullmatch(r"[+-]\d\.\d{3}", value) for value in root["edges"][0]["value"])
    both = searched("goofspiel").explore(depth=1, width=1).nodes[0]
    assert re.fullmatch(r"\d\.\d{3} \d\.\d{3}", both["edges"][0]["prior"])


def test_a_copied_result_has_no_tree_to_show() -> None:
    import pickle

    with pytest.raises(ValueError, match="no search graph"):
        pickle.loads(pickle.dumps(searched())).explore()


def test_graphs_and_solutions_show_themselves() -> None:
    graph = rf.equilibria.GameGraph(rf.make("goofspiel", cards=3).initial_state())
    assert "<svg" in graph._repr_html_()
    shown = rf.equilibria.solve_game(graph)._repr_html_()
    assert shown.count("<tr>") == 1 + 3
    assert "<td>" in shown


@pytest.mark.skipif(shutil.which("node") is None, reason="needs Node.js")
def test_the_script_is_javascript(tmp_path: Path) -> None:
    code = (Path(result_html.__file__).parent / "explorer.js").read_text(encoding="utf-8")
    program = tmp_path / "check.js"
    program.write_text(f"const f = ({code});\nconsole.log(JSON.stringify(typeof f));", encoding="utf-8")
    assert json.loads(subprocess.check_output(["node", str(program)])) == "function"
