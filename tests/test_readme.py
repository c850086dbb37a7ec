"""What the README says is true: its code runs, its commands work, its links lead somewhere."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ramify as rf
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


def test_the_example_shows_games_in_turn_at_once_and_learned() -> None:
    pytest.importorskip("torch")
    (program,) = blocks("python")
    assert len(program.splitlines()) <= 30
    ended = run_program(program, folder=ROOT)
    assert (ended.code, ended.err) == (0, "")
    shown = ended.out.splitlines()
    proven, mixed, visits, strength = shown[-4:]
    assert proven == "[0. 0.]"
    assert mixed == "[0.25 0.5  0.25] [0.25 0.5  0.25]"
    assert len(visits.strip("[]").split()) == 7
    assert re.search(r"vs\. random: \d+ wins", strength)


ENDING = [line for line in commands("ramify") if line[0] != "web"]  # tests/dashboard starts that one, and stops it


@pytest.mark.parametrize("arguments", ENDING, ids=" ".join)
def test_the_commands_work(arguments: list[str], tmp_path: Path) -> None:
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
    assert len(pictures) == 2
    for name in pictures:
        content = (ROOT / name).read_bytes()
        assert len(content) < 150_000
        if name.endswith(".jpg"):
            assert content.startswith(b"\xff\xd8\xff")
        else:
            assert ElementTree.fromstring(content).tag == "{http://www.w3.org/2000/svg}svg"
