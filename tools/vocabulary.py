"""One word per concept: no name in the code is a word that the table in CONTRIBUTING.md replaces by another.

The words in backquotes in the table's last column are looked for, as whole names: in Python where a name is
given (variables, parameters, functions, classes, attributes), in C++ anywhere outside comments and texts. A
word with parentheses is banned for functions only.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# Methods that another library calls by these names.
FOREIGN = {
    "src/ramify/adapters/gymnasium_envs.py": {"step()"},
    "src/ramify/adapters/pettingzoo_envs.py": {"step()"},
}


def banned_words(contributing: str) -> dict[str, str]:
    """{banned word: the word to use} from the vocabulary table."""
    table = contributing.partition("| word | meaning | not |")[2].partition("\n\n")[0]
    words = {}
    for row in table.splitlines():
        cells = [cell.strip() for cell in row.strip("|").split("|")]
        if len(cells) == 3:
            words.update(dict.fromkeys(re.findall(r"`(\w+(?:\(\))?)`", cells[2]), cells[0]))
    return words


def python_names(text: str) -> Iterator[tuple[int, str]]:
    """(line, name) of every place where a name is given."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.lineno, node.name
            if not isinstance(node, ast.ClassDef):
                yield node.lineno, f"{node.name}()"
        elif isinstance(node, ast.arg):
            yield node.lineno, node.arg
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.id
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.lineno, node.attr


def cpp_names(text: str) -> Iterator[tuple[int, str]]:
    """(line, word) of every word outside comments and texts, and "word()" where it is called or declared."""
    text = re.sub(r"/\*.*?\*/", lambda comment: "\n" * comment[0].count("\n"), text, flags=re.DOTALL)
    for number, line in enumerate(text.splitlines(), 1):
        code = re.sub(r'"(\\.|[^"\\])*"', '""', line).partition("//")[0]
        for word, call in re.findall(r"\b([A-Za-z_]\w*)(\(?)", "" if code.lstrip().startswith("#") else code):
            yield number, word
            if call:
                yield number, f"{word}()"


def violations(root: Path = ROOT) -> list[str]:
    """Every use of a banned word in src/ and cpp/."""
    banned = banned_words((root / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    if not banned:
        return ["CONTRIBUTING.md:1: the vocabulary table is gone"]
    found = []
    files = [*(root / "src").rglob("*.py"), *(root / "cpp").rglob("*.[hc]pp")]
    for path in sorted(files):
        place = path.relative_to(root).as_posix()
        names = python_names if path.suffix == ".py" else cpp_names
        for line, name in names(path.read_text(encoding="utf-8")):
            if name in banned and name not in FOREIGN.get(place, ()):
                found.append(f"{place}:{line}: say {banned[name]}, not {name}")
    return found


def main() -> int:
    found = violations()
    for line in found:
        print(line)
    print(f"vocabulary: {len(found)} words to replace" if found else "vocabulary: one word per concept")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
