"""One word per concept, and the check that sees a second one."""

from __future__ import annotations

from pathlib import Path

from tools.vocabulary import ROOT, banned_words, cpp_names, python_names, violations


def test_the_code_keeps_to_the_vocabulary() -> None:
    assert violations() == []


def test_the_table_names_the_words() -> None:
    banned = banned_words((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    assert banned["env"] == "game, state"
    assert banned["hash"] == "key"
    assert banned["step()"] == "apply"
    assert "move" not in banned  # chess, Hex and PyRat have moves


def test_python_names_are_those_that_are_given() -> None:
    names = {name for _, name in python_names("def f(a, *, b):\n    self.c = env.d\n    e: int = 1\nclass G: ...")}
    assert names == {"f", "f()", "a", "b", "c", "e", "G"}


def test_cpp_names_leave_out_comments_texts_and_includes() -> None:
    code = '#include "base/hash.hpp"\nint a = 1;  // the env\n/* a\n step */ call("env", \'x\', b);'
    assert [name for _, name in cpp_names(code) if name in ("env", "hash", "step")] == []
    assert (4, "call()") in list(cpp_names(code))


def test_a_banned_word_is_seen(tmp_path: Path) -> None:
    (tmp_path / "CONTRIBUTING.md").write_text((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    (tmp_path / "src").mkdir()
    (tmp_path / "src/x.py").write_text("def step(env): ...\n")
    (tmp_path / "cpp").mkdir()
    (tmp_path / "cpp/x.hpp").write_text("int step = 1;\nint hash(int x);\n")
    assert violations(tmp_path) == [
        "cpp/x.hpp:2: say key, not hash",
        "src/x.py:1: say apply, not step()",
        "src/x.py:1: say game, state, not env",
    ]
