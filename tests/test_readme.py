"""What the README says is true: its code runs, its commands exist, its table agrees with the games."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ramify as rf
from ramify import _core
from ramify.cli import html
from ramify.presentation.described import picture
from tests.children import run_command, run_program
from tools import readme_pictures

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", README, flags=re.MULTILINE | re.DOTALL)


def commands(program: str) -> list[list[str]]:
    """What the shell blocks tell a reader to type, without the program; a block is of one program."""
    lines = [shlex.split(line, comments=True) for block in blocks("sh") for line in block.splitlines()]
    assert {line[0] for line in lines} == {"make", "pip", "ramify"}
    return [line[1:] for line in lines if line[0] == program]


def shown_by(number: int) -> list[str]:
    """What the example of that number prints."""
    ended = run_program(blocks("python")[number], folder=ROOT)
    assert (ended.code, ended.err) == (0, "")
    return ended.out.splitlines()


def test_every_python_example_is_tested_below() -> None:
    assert len(blocks("python")) == 4


def test_the_first_example_plays_a_game() -> None:
    shown = shown_by(0)
    assert shown[-1] in ("[ 1. -1.]", "[-1.  1.]")  # somebody wins every game of Hex
    assert shown[-2] in ("x has won", "o has won")


def test_the_example_of_kinds_of_search() -> None:
    pytest.importorskip("torch")
    shown = shown_by(1)
    assert shown[-1] == "[0. 0.]"
    mixed, solved = (text.strip(" []").split() for text in shown[-2].split("] [", 1))
    assert all(abs(float(a) - float(b)) < 0.05 for a, b in zip(mixed, solved, strict=True))


def test_the_example_of_a_position_finds_mate() -> None:
    assert shown_by(2)[-1] == "checkmate: white wins"


def test_the_example_of_a_game_is_in_order_and_is_played_well() -> None:
    *report, action = shown_by(3)
    assert any("take2" in line for line in report)
    assert report[0].startswith("pile(): no problems found in 50 games")
    assert action == "1"  # ten on the pile, and eight are a loss for the next player


ENDING = [line for line in commands("ramify") if line[0] != "web"]  # tests/dashboard starts that one, and stops it


@pytest.mark.parametrize("arguments", ENDING, ids=" ".join)
def test_the_commands_work(arguments: list[str], tmp_path: Path) -> None:
    (tmp_path / "pile.py").write_text(blocks("python")[3], encoding="utf-8")  # the game of the reader's own
    ended = run_command(*arguments, folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out


def test_the_commands_are_targets() -> None:
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert commands("make") == [["demo"], ["test"]]
    assert {"demo", "test"} <= set(targets)


def test_the_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)#]+)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_no_page_has_the_marks_of_a_merge() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert len(pages) > 30
    assert [page.name for page in pages if re.search("^(<{7}|={7}|>{7})", page.read_text("utf-8"), re.MULTILINE)] == []


def test_the_picture_of_a_report_has_its_parts() -> None:
    """Also where a report changes its form: the picture is made of the page."""
    state = rf.make("hex", size=3).initial_state()
    result = rf.search(state, rf.evaluators.Rollout(), simulations=50)
    sections = [
        ("How strong it is", html.table(["Player", "Elo"], [["trained", "+700"], ["random", "+0"]])),
        ("How it learned", html.row([html.figure(html.curve([2.0, 1.0], [10, 20]), "Policy loss, by step", "Lower.")])),
        ("What it thinks", html.row([html.figure(picture(state, result), "Red to move.")])),
    ]
    root = ElementTree.fromstring(readme_pictures.report(html.page("Hex", "2 games", sections)))
    shown = {(text.text or "").replace("\xa0", " ") for text in root.iter("{http://www.w3.org/2000/svg}text")}
    assert {"Hex", "2 games", "Policy loss, by step", "trained", "+700", "Red to move."} <= shown
    assert any(words.startswith("50 simulations") for words in shown)


def table(section: str) -> dict[str, str]:
    """{name: what the section's table says of it}"""
    part = README.partition(f"## {section}\n")[2].partition("\n## ")[0]
    return dict(re.findall(r"^\| `([^`]+)` \|([^|]*)\|", part, flags=re.MULTILINE))


def test_every_extra_is_explained_and_those_installed_exist() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert sorted(table("Install")) == sorted(project["optional-dependencies"])
    asked = [re.fullmatch(r"\.(?:\[([a-z,]+)\])?", words[-1]) for words in commands("pip")]
    assert all(asked)
    assert {name for match in asked if match and match[1] for name in match[1].split(",")} <= set(table("Install"))


def test_the_pictures_are_small_and_sound() -> None:
    pictures = re.findall(r"!\[[^\]]+\]\(([^)]+)\)", README)
    assert len(pictures) == 4
    for name in pictures:
        content = (ROOT / name).read_bytes()
        assert len(content) < 150_000
        if name.endswith(".jpg"):
            assert content.startswith(b"\xff\xd8\xff")
        else:
            assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("name", _core.game_names())
def test_the_table_agrees_with_the_game(name: str) -> None:
    cell = table("Games")[name].replace('"', "'")
    stated = re.findall(r"`([^`]+)`", cell)
    defaults = [(key, value) for key, value, _ in _core.game_params(name)]
    wanted = [key if isinstance(value, list) else f"{key}={value!r}" for key, value in defaults]
    assert sorted(stated) == sorted(wanted)
