"""The layers hold, and the checker sees when they do not."""

from __future__ import annotations

import pytest

from tools.layers import (
    CPP_LAYERS,
    PYTHON_LAYERS,
    ROOT,
    cpp_violations,
    python_violations,
    read_tree,
    violations,
)


def test_every_import_and_include_is_in_order() -> None:
    assert violations() == []


def test_the_check_reads_the_whole_project() -> None:
    python = read_tree(ROOT / "src", (".py",))
    assert {"ramify/__init__.py", "ramify/games/registry.py", "ramify/cli/app.py"} <= set(python)
    cpp = read_tree(ROOT / "cpp", (".hpp", ".cpp", ".in", ".cmake"))
    assert {"base/hash.hpp", "bind/game.cpp.in", "games/list.cmake"} <= set(cpp)


def one(path: str, text: str, *others: str) -> list[str]:
    return list(python_violations({path: text, **dict.fromkeys(others, "")}))


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("ramify/games/x.py", "from ramify.engine import Searcher", "ramify.games imports ramify.engine"),
        ("ramify/games/x.py", "def f():\n    import ramify.engine.graph", "x.py:2: ramify.games imports"),
        ("ramify/games/x.py", "from ramify import engine", "ramify.games imports ramify.engine"),
        ("ramify/games/x.py", "from .. import cli", "ramify.games imports ramify.cli"),
        ("ramify/games/x.py", "from ..store.runs import Run", "ramify.games imports ramify.store"),
        ("ramify/games/__init__.py", "from ..arena import match", "ramify.games imports ramify.arena"),
        ("ramify/games/x.py", "import ramify", "ramify.games imports ramify,"),
        ("ramify/games/x.py", "from ramify import make", "ramify.games imports ramify,"),
        ("ramify/engine/x.py", "import importlib\nimportlib.import_module('ramify.cli')", "x.py:2"),
        (
            "ramify/games/x.py",
            "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ramify.cli import main",
            "x.py:3",
        ),
        ("ramify/hex/x.py", "import ramify.chess", "ramify.hex imports ramify.chess"),
        ("ramify/dashboard/x.py", "import ramify.cli", "ramify.dashboard imports ramify.cli"),
        ("ramify/__init__.py", "from ramify.cli import main", "ramify imports ramify.cli"),
        ("ramify/extra/x.py", "", "ramify.extra.x belongs to no layer"),
        ("ramify/cli/x.py", "import ramify.extra", "ramify.extra belongs to no layer"),
        ("ramify/engine/x.py", "def f():\n    import torch.nn", "torch belongs to"),
        ("ramify/arena/x.py", "def f():\n    from sqlalchemy.orm import Session", "sqlalchemy belongs to"),
        ("ramify/cli/x.py", "import alembic.command", "alembic belongs to"),
        ("ramify/games/x.py", "import chess", "inside the function"),
        ("ramify/games/x.py", "class A:\n    import pyspiel", "inside the function"),
        (
            "ramify/games/x.py",
            "try:\n    import pyspiel\nexcept ImportError:\n    pass",
            "inside the function",
        ),
    ],
)
def test_a_python_violation_is_seen(path: str, text: str, complaint: str) -> None:
    found = one(path, text)
    assert len(found) == 1
    assert complaint in found[0]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "ramify/games/x.py",
            "from ramify import _core\nfrom ramify._core import State\nfrom . import registry",
        ),
        (
            "ramify/engine/x.py",
            "from ramify.games import make\nfrom ramify.engine.graph import Graph\nimport numpy",
        ),
        ("ramify/games/x.py", "def f():\n    import chess, pyspiel"),
        ("ramify/games/x.py", "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import chess"),
        ("ramify/networks/x.py", "import torch"),
        ("ramify/store/x.py", "import sqlalchemy"),
        ("ramify/training/x.py", "import torch"),
        ("ramify/__init__.py", "from ramify.protocols import uci\nfrom ramify.chess import system"),
        ("ramify/cli/x.py", "from ramify import __version__\nfrom ramify.protocols import uci"),
        ("ramify/chess/x.py", "def f():\n    import chess"),
    ],
)
def test_what_is_in_order_passes(path: str, text: str) -> None:
    assert one(path, text, "ramify/games/registry.py") == []


CPP = {
    "base/hash.hpp": "",
    "games/rules.hpp": '#include "base/hash.hpp"',
    "games/board.hpp": "",
    "games/hex.hpp": '#include "games/rules.hpp"',
    "games/chess/chess.hpp": '#include "games/rules.hpp"',
    "games/chess/fen.cpp": '#include "games/chess/chess.hpp"',
    "games/hex.cpp": '#include "games/hex.hpp"',
    "search/graph.hpp": '#include <vector>\n#include "games/rules.hpp"',
    "bind/module.cpp": '#include <nanobind/nanobind.h>\n#include "search/graph.hpp"',
    "bind/game.cpp.in": '#include "@RAMIFY_HEADER@"',
    "games/list.cmake": 'set(RAMIFY_GAMES\n  "games/hex.hpp Hex"\n  "games/chess/chess.hpp Chess"\n)',
}


def test_a_core_in_order_passes() -> None:
    assert list(cpp_violations(CPP)) == []


@pytest.mark.parametrize(
    ("path", "text", "complaint"),
    [
        ("base/rng.hpp", '#include "games/rules.hpp"', "cpp/base includes games/rules.hpp"),
        ("games/go.hpp", '#include "search/graph.hpp"', "cpp/games includes search/graph.hpp"),
        (
            "search/root.cpp",
            '\n#  include "bind/module.cpp"',
            "root.cpp:2: cpp/search includes bind/module.cpp",
        ),
        ("search/root.cpp", "#include <nanobind/ndarray.h>", "only cpp/bind knows Python"),
        ("games/go.hpp", "#include <Python.h>", "only cpp/bind knows Python"),
        ("games/go.hpp", '#include "rules.hpp"', "no file cpp/rules.hpp"),
        ("games/go.hpp", '#include "games/hex.hpp"', "one game's own"),
        ("games/go/go.cpp", '#include "games/chess/chess.hpp"', "one game's own"),
        ("search/root.cpp", '#include "games/hex.hpp"', "one game's own"),
        ("extra/x.hpp", "", "belongs to no layer"),
    ],
)
def test_a_cpp_violation_is_seen(path: str, text: str, complaint: str) -> None:
    found = list(cpp_violations({**CPP, path: text}))
    assert len(found) == 1
    assert complaint in found[0]


def test_the_map_names_every_layer() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    packages = [name.partition(".")[2] for names in PYTHON_LAYERS for name in names if name != "ramify"]
    wanted = [f"`cpp/{layer}/" for layer in CPP_LAYERS]
    wanted += [f"`{name}.py" if name.startswith("_") else f"`{name}/`" for name in packages]
    missing = [name for name in wanted if name not in text]
    assert missing == []
