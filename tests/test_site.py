"""The documentation site: the code on its pages runs, what is generated is complete, and names have docstrings."""

from __future__ import annotations

import importlib
import inspect
import json
import os
import pkgutil
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pydantic
import pytest

import ramify
from ramify import _core
from ramify.base.settings import Settings
from ramify.engine import SearchConfig
from ramify.networks import ResNetConfig
from ramify.protocols.uci_options import OPTIONS
from ramify.selfplay import PlayConfig
from ramify.training import LoopConfig, OptimizerConfig, TargetConfig, TrainConfig
from tests.children import ROOT
from tests.pages import RUN, Interpreter, blocks, run_page
from tools.site import api, commands, decisions, games, notebooks, settings

DOCS = ROOT / "docs"
# Each block of these pages is a program of its own: tests/test_docs.py and test_docs_adapters.py run them one by one.
APART = {"docs/python.md", "docs/adapters.md"}
PAGES = sorted(path for path in DOCS.rglob("*.md") if any(block.tested for block in blocks(path)))
LONG = {
    "docs/start/tutorial.md",
    "docs/howto/muzero.md",
    "docs/notebooks/train-and-rate.ipynb",
}  # run by the slow tests
SLOW = [path for path in PAGES if any({"slow", "quick"} & block.marks.keys() for block in blocks(path))]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def pages(paths: list[Path]) -> list[Any]:
    """These pages as parameters, the long ones only for the slow tests."""
    return [pytest.param(path, marks=pytest.mark.slow if name(path) in LONG else (), id=name(path)) for path in paths]


@pytest.mark.parametrize("path", pages([path for path in PAGES if name(path) not in APART]))
def test_the_code_of_a_page_runs(path: Path, tmp_path: Path) -> None:
    run_page(path, tmp_path, quick=True)


@pytest.mark.slow
@pytest.mark.parametrize("path", SLOW, ids=name)
def test_the_code_of_a_page_runs_as_it_is_printed(path: Path, tmp_path: Path) -> None:
    run_page(path, tmp_path, quick=False)


def test_what_is_not_run_says_why() -> None:
    known = {"output", "quick", "slow", "not run", "game"}
    for path in DOCS.rglob("*.md"):
        for block in blocks(path):
            assert block.language, f"{name(path)}:{block.line}: a block has to say its language, or text"
            assert set(block.marks) <= known, f"{name(path)}:{block.line}: {set(block.marks) - known}"
            assert block.marks.get("not run") != "", f"{name(path)}:{block.line}: say why it is not run"
            assert block.language in (*RUN, "text", "yaml", "toml", "json", "bibtex"), f"{name(path)}:{block.line}"


@pytest.mark.slow
def test_the_game_in_cpp_compiles_and_ends(tmp_path: Path) -> None:
    """The header of the page, in a program that plays random games with it under the concept that all games meet."""
    (header,) = [block for block in blocks(DOCS / "howto/cpp-game.md") if block.language == "cpp"]
    (tmp_path / "pile.hpp").write_text(header.code, encoding="utf-8")
    (tmp_path / "main.cpp").write_text(PLAYS_PILE, encoding="utf-8")
    sources = [ROOT / "cpp" / name for name in ("base/params.cpp", "base/value.cpp", "games/board.cpp")]
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++") or "clang++"
    build = [compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'cpp'}", f"-I{tmp_path}"]
    command = [*build, str(tmp_path / "main.cpp"), *map(str, sources), "-o", str(tmp_path / "plays")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert subprocess.run([tmp_path / "plays"], capture_output=True, text=True).stdout == "10 ways\n"


PLAYS_PILE = """
#include <cstdio>
#include "pile.hpp"
#include "games/walk.hpp"
static_assert(ramify::Rules<ramify::Pile>);
int main() {
  ramify::Params params("game 'pile_native'", {});
  const ramify::Pile rules(params);
  if (ramify::random_turns(rules, 1, 100) < 400) return 1;
  const ramify::Pile::State state = rules.parse({{"left", 5}, {"player", 0}});
  std::printf("%d ways\\n", static_cast<int>(ramify::perft(rules, state, 3)));
}
"""


@pytest.mark.parametrize("package", api.PACKAGES)
def test_public_names_have_docstrings(package: str) -> None:
    module = api.module_of(package)
    named = [name for name in api.public_names(package) if not api.is_constant(package, name)]
    assert [name for name in named if not getattr(module, name).__doc__] == []
    members = [f"{name}.{member}" for name in named for member in undocumented(getattr(module, name))]
    assert members == []


def undocumented(named: object) -> list[str]:
    """Public methods and properties of a class without a docstring; those that override one have that of the base."""
    if not inspect.isclass(named) or not named.__module__.startswith("ramify."):
        return []
    own = [(name, member) for name, member in vars(named).items() if not name.startswith(("_", "do_"))]
    called = [name for name, member in own if inspect.isroutine(member) or isinstance(member, property)]
    return [name for name in called if not inspect.getdoc(getattr(named, name))]


SHOWN = {
    "search": [SearchConfig],
    "selfplay": [PlayConfig],
    "training": [TrainConfig, LoopConfig, OptimizerConfig, TargetConfig],
    "network": [ResNetConfig],
}


@pytest.mark.parametrize("page", SHOWN)
def test_every_setting_has_a_row_with_a_meaning(page: str) -> None:
    text = settings.pages()[f"reference/{page}-settings.md"]
    rows = dict(re.findall(r"^\| `(\w+)` \|.*\| (.+) \|$", text, flags=re.MULTILINE))
    for model in SHOWN[page]:
        assert {name for name in model.model_fields if name != "kind"} <= rows.keys()
        assert all(field.description for name, field in model.model_fields.items() if name != "kind")


def test_every_class_of_settings_is_on_a_page() -> None:
    """Also those that a new module brings: settings without a table are found by importing everything."""
    for module in pkgutil.walk_packages(ramify.__path__, "ramify."):
        if "__main__" not in module.name and "migrations" not in module.name:
            importlib.import_module(module.name)
    rows = set(re.findall(r"^\| `([\w ]+)` \|", "\n".join(settings.pages().values()), flags=re.MULTILINE))
    rows |= {OPTIONS[name] for name in rows & OPTIONS.keys()}
    assert rows >= set(OPTIONS.values())
    for model in subclasses(Settings):
        if model.__module__.startswith("ramify."):
            assert model.model_fields.keys() - {"kind", "name"} <= rows, model
            assert all(field.description for name, field in model.model_fields.items() if name != "kind"), model


def subclasses(base: type) -> list[type[Any]]:
    return [found for direct in base.__subclasses__() for found in (direct, *subclasses(direct))]


def test_every_public_package_is_in_the_reference() -> None:
    named = {f"ramify.{module.name}" for module in pkgutil.iter_modules(ramify.__path__) if module.ispkg}
    internal = {"ramify.base", "ramify.cli", "ramify.cluster", "ramify.dashboard", "ramify.presentation"}
    assert named - internal == api.PACKAGES.keys() - {"ramify", "ramify.equilibria"}


@pytest.mark.slow
def test_a_link_to_nowhere_stops_the_build(tmp_path: Path) -> None:
    """The command of `make docs`, with links to a page and to a heading that are not there."""
    recipe = re.search(r"-m (mkdocs build [^#\n]+)", (ROOT / "Makefile").read_text(encoding="utf-8"))
    assert recipe
    shutil.copytree(DOCS, tmp_path / "docs")
    text = (ROOT / "mkdocs.yml").read_text(encoding="utf-8").replace("tools/site/", f"{ROOT}/tools/site/")
    (tmp_path / "mkdocs.yml").write_text(text.replace("paths: [src]", f"paths: [{ROOT}/src]"), encoding="utf-8")
    with (tmp_path / "docs/games/hex.md").open("a", encoding="utf-8") as page:
        page.write("\n[gone](nowhere.md), [a heading](chess.md#nothing)\n")
    command = [sys.executable, "-m", *recipe[1].split(), "-f", str(tmp_path / "mkdocs.yml")]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=600)
    assert done.returncode == 1, done.stderr
    assert "nowhere.md" in done.stderr
    assert "#nothing" in done.stderr
    assert done.stderr.count("WARNING") == 2


def test_a_row_tells_default_range_and_choices() -> None:
    class Example(Settings):
        """An example."""

        size: int = pydantic.Field(3, ge=1, lt=10, description="How large | it is.")
        kind: Literal["a", "b"] | None = pydantic.Field(None, description="Which one.")
        most: int = pydantic.Field(7, ge=1, le=2**62, description="How many.")
        least: float = pydantic.Field(0.5, ge=1e-6, le=1e9, description="How little.")
        seed: int = pydantic.Field(0, ge=-1, le=2**31 - 1, description="Which.")

    assert settings.settings_table(Example).splitlines()[2:] == [
        "| `size` | `3` | whole number, ≥ 1 and < 10 | How large \\| it is. |",
        "| `kind` | `None` | `'a'`, `'b'`, `None` | Which one. |",
        "| `most` | `7` | whole number, ≥ 1 and ≤ 2⁶² | How many. |",
        "| `least` | `0.5` | number, ≥ 10⁻⁶ and ≤ 10⁹ | How little. |",
        "| `seed` | `0` | whole number, ≥ -1 and ≤ 2³¹ - 1 | Which. |",
    ]


def test_every_command_and_option_is_listed() -> None:
    from ramify.cli.app import GROUPS

    text = commands.pages()["reference/commands.md"]
    for function in (function for group in GROUPS.values() for function in group):
        assert f"### ramify {function.__name__.replace('_', '-')}\n" in text
    assert "`--simulations`" in text


def test_every_native_game_has_a_page() -> None:
    for game in _core.game_names():
        page = (DOCS / "games" / f"{game}.md").read_text(encoding="utf-8")
        assert f"<!-- game: {game} -->" in page
        assert all(f"**{part}.**" in page for part in ("Rules", "Actions", "Observation"))
        assert games.picture(game).startswith("<svg")
        facts = games.facts(game)
        assert all(f"`{name}`" in facts for name, _, _ in _core.game_params(game))


def test_every_decision_is_listed() -> None:
    text = decisions.pages()["decisions/index.md"]
    assert all(f"]({path.name})" in text for path in (DOCS / "decisions").glob("0*.md"))


NOTEBOOKS = sorted((DOCS / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", pages(NOTEBOOKS))
def test_a_notebook_runs_and_is_small(path: Path, tmp_path: Path) -> None:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert cells[0]["source"][0].startswith("# ")
    assert all(cell["execution_count"] for cell in code), "run python -m tools.site.notebooks"
    assert path.stat().st_size < 150_000
    with Interpreter(tmp_path) as interpreter:
        _, error = interpreter.run(f"from tools.site.notebooks import run\ncells = {cells!r}\nrun(cells)")
        assert not error
        shown, _ = interpreter.run("print([len(c['outputs']) for c in cells if c['cell_type'] == 'code'])")
    assert json.loads(shown) == [len(cell["outputs"]) for cell in code]


def test_notebooks_become_pages() -> None:
    pages = notebooks.pages()
    assert list(pages) == [f"notebooks/{path.stem}.md" for path in NOTEBOOKS]
    first = pages["notebooks/first-search.md"]
    assert '<div class="output">\n<svg' in first
    assert "```text\n" in first
    assert "[Download this notebook](first-search.ipynb)" in first


def test_settings_in_yaml_and_queries_in_json_are_valid() -> None:
    yaml = pytest.importorskip("yaml")
    found = [(name(path), block) for path in DOCS.rglob("*.md") for block in blocks(path)]
    settings_blocks = [(page, yaml.safe_load(block.code)) for page, block in found if block.language == "yaml"]
    assert len(settings_blocks) > 3
    for page, given in settings_blocks:
        if page == "docs/sweeps.md":
            from ramify.sweeps import ImproveConfig, SweepConfig

            assert (ImproveConfig(**given) if "rounds" in given else SweepConfig(**given)).trials
        else:
            assert TrainConfig(**{"game": "pyrat", **given}).make_games()
    for block in (block for _, block in found if block.language == "json"):
        assert all(isinstance(json.loads(line), dict) for line in block.code.splitlines())
