"""The examples of docs/python.md run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.children import run_program

PAGE = (Path(__file__).resolve().parent.parent / "docs/python.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```python\n(.*?)^```", PAGE, flags=re.MULTILINE | re.DOTALL)


LAST = [
    "[0. 0.]",
    "[  0   0   0   0 199]",
    "True",
    "0",
    "stronger",
    "20",
    "4",
    "20",
    "49",
    "True",
    "True",
    "UP",
    "exd5",
    "2",
]


@pytest.mark.parametrize(("number", "last"), list(enumerate(LAST)))
def test_an_example_runs(number: int, last: str, tmp_path: Path) -> None:
    pytest.importorskip("torch" if number in (2, 6, 8) else "sqlalchemy")
    ended = run_program(EXAMPLES[number], folder=tmp_path)
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-1] == last


def test_every_example_is_tested() -> None:
    assert len(EXAMPLES) == len(LAST)
