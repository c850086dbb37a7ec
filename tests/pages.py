"""Code on the pages of the documentation, as a reader would run it: block after block, in one folder per page.

Blocks of ``python`` are run, those of ``sh`` are typed into a terminal, and one with ``title="FILE"`` is saved under
that name. Comments before a block say the rest:

``<!-- output -->``             the block is what the block before it prints, to the letter
``<!-- quick: WORDS -->``       the quick tests add these words to the last command, the slow ones do not
``<!-- slow -->``               only the slow tests run it
``<!-- not run: REASON -->``    no test runs it
"""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import sys
import traceback
import types
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from tests.children import ROOT, forking_context, run_command

FENCE = re.compile(
    r"(?P<comments>(?:^[ ]*<!--[^\n]*-->\n+)*)"
    r"^(?P<indent>[ ]*)```(?P<language>[a-z+]*)(?:[ ]+title=\"(?P<title>[^\"]+)\")?[^\n]*\n"
    r"(?P<code>.*?)^(?P=indent)```$",
    flags=re.MULTILINE | re.DOTALL,
)
RUN = ("python", "sh", "cpp")
PATIENCE = 600


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    language: str
    code: str
    title: str | None
    line: int
    marks: dict[str, str] = field(default_factory=dict)  # {name: what follows the colon}

    @property
    def tested(self) -> bool:
        return self.language in RUN and self.title is None and "not run" not in self.marks

    def commands(self, quick: bool) -> list[list[str]]:
        """The lines of a terminal, each as words; a backslash at the end of a line continues it."""
        lines = [shlex.split(line, comments=True) for line in self.code.replace("\\\n", " ").splitlines()]
        typed = [line for line in lines if line]
        if quick and typed:
            typed[-1] += shlex.split(self.marks.get("quick", ""))
        return typed


def blocks(path: Path) -> list[Block]:
    """The blocks of a page, in order."""
    text, found = path.read_text(encoding="utf-8"), []
    for match in FENCE.finditer(text):
        marks = {}
        for comment in re.findall(r"<!--\s*(.*?)\s*-->", match["comments"]):
            name, _, words = comment.partition(":")
            marks[name.strip()] = words.strip()
        code = re.sub(f"^{match['indent']}", "", match["code"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("language")) + 1
        found.append(Block(match["language"], code, match["title"], line, marks))
    return found


def run_page(path: Path, folder: Path, quick: bool) -> None:
    """Run the blocks of a page in a folder; an AssertionError names the line of a block that fails."""
    with Interpreter(folder) as interpreter:
        printed = ""
        for block in blocks(path):
            place = f"{path.relative_to(ROOT)}:{block.line}"
            if block.title is not None and block.title not in ("Usage", "Examples"):
                (folder / block.title).write_text(block.code, encoding="utf-8")
            elif "output" in block.marks:
                assert printed.rstrip() == block.code.rstrip(), f"{place}: this is not what the block above prints"
            elif block.tested and not (quick and "slow" in block.marks):
                printed = run_block(block, interpreter, folder, quick, place)


def run_block(block: Block, interpreter: Interpreter, folder: Path, quick: bool, place: str) -> str:
    """What a block prints."""
    if block.language == "python":
        printed, error = interpreter.run(block.code)
        assert not error, f"{place}: {error}"
        return printed
    if block.language == "cpp":
        return ""  # tests/test_site.py compiles these
    printed = ""
    for words in block.commands(quick):
        if words[0] == "python":
            printed, error = interpreter.run((folder / words[1]).read_text(encoding="utf-8"))
            assert not error, f"{place}: {error}"
        elif words[0] == "ramify" and words[1:2] != ["web"]:  # tests/dashboard starts that one, and stops it
            # As printed, a command may train for minutes, on a machine that does other things too.
            ended = run_command(*words[1:], folder=folder, timeout=PATIENCE if quick else 6 * PATIENCE)
            assert (ended.code, ended.err) == (0, ""), f"{place}: {shlex.join(words)}\n{ended.err}"
            printed = ended.out
        else:
            check_command(words, place)
    return printed


def check_command(words: list[str], place: str) -> None:
    """What changes the reader's machine is not run: it is known to be right in another way."""
    if words[0] == "make":
        targets = re.findall(r"^([a-z0-9-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
        assert set(words[1:2]) <= set(targets), f"{place}: no target {words[1]}"
    else:
        assert words[0] in ("pip", "ramify", "cd"), f"{place}: {words[0]} is not run: say why, <!-- not run: REASON -->"


class Interpreter:
    """A Python process in which the blocks of a page run one after another, with the same names."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.process: Any = None

    def __enter__(self) -> Interpreter:
        return self

    def run(self, code: str) -> tuple[str, str]:
        """What the code prints, and the traceback if it fails."""
        if self.process is None:
            context = forking_context()
            self.pipe, theirs = context.Pipe()
            self.process = context.Process(target=_serve, args=(theirs, str(self.folder.resolve())))
            self.process.start()
        self.pipe.send(code)
        if not self.pipe.poll(PATIENCE):
            return "", f"no end within {PATIENCE} seconds"
        try:
            printed, error = self.pipe.recv()
        except EOFError:
            return "", "the process has died"
        return printed, error

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.join()


def _serve(pipe: Connection, folder: str) -> None:
    """In the process: run what comes, until the other end is gone."""
    import os
    import warnings

    os.chdir(folder)
    sys.path.insert(0, "")
    warnings.simplefilter("error")
    main = sys.modules["__main__"] = types.ModuleType("__main__")
    while True:
        try:
            code = pipe.recv()
        except EOFError:
            return
        printed, error = io.StringIO(), ""
        with contextlib.redirect_stdout(printed):
            try:
                exec(compile(code, "<block>", "exec"), main.__dict__)
            except BaseException:
                error = traceback.format_exc()
        pipe.send((printed.getvalue(), error))
