"""Notebooks as pages: their words, their code, and the outputs that are stored in them.

python -m tools.site.notebooks            # run all of them and store their outputs
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "notebooks"


def pages() -> dict[str, str]:
    """{path: Markdown} of the notebooks."""
    return {f"notebooks/{path.stem}.md": page(path) for path in sorted(FOLDER.glob("*.ipynb"))}


def page(path: Path) -> str:
    """A notebook as Markdown, with a link to the file below its title."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    parts = [cell_text(cell) for cell in cells]
    link = f"[Download this notebook]({path.name}){{ download }}\n"
    return "\n".join([parts[0], link, *parts[1:]])


def cell_text(cell: dict[str, Any]) -> str:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return f"{source}\n"
    outputs = "".join(output_text(output) for output in cell["outputs"])
    return f"```python\n{source}\n```\n\n{outputs}"


def output_text(output: dict[str, Any]) -> str:
    """An output in the richest form that a page can show."""
    data = output.get("data", {})
    for kind in ("text/html", "image/svg+xml"):
        if kind in data:
            one_block = "".join(data[kind]).replace("\n\n", "\n")
            return f'<div class="output">\n{one_block}\n</div>\n\n'
    text = "".join(output.get("text", data.get("text/plain", "")))
    return f"```text\n{text.rstrip()}\n```\n\n" if text.strip() else ""


def run(cells: list[dict[str, Any]]) -> None:
    """Run the code of a notebook as Jupyter would, cell after cell with the same names, and store the outputs."""
    names: dict[str, Any] = {"__name__": "__main__"}
    for number, cell in enumerate(cell for cell in cells if cell["cell_type"] == "code"):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            value = run_cell("".join(cell["source"]), names)
        cell["outputs"], cell["execution_count"] = outputs(printed.getvalue(), value, number + 1), number + 1


def run_cell(source: str, names: dict[str, Any]) -> Any:
    """The value of the last expression, or None."""
    body = ast.parse(source).body
    last = body.pop() if body and isinstance(body[-1], ast.Expr) else None
    exec(compile(ast.Module(body, []), "<cell>", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


def outputs(printed: str, value: Any, number: int) -> list[dict[str, Any]]:
    """What was printed, and how the last value shows itself, in the form of a notebook file."""
    made: list[dict[str, Any]] = []
    if printed:
        made.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if value is not None:
        data = {"text/plain": repr(value).splitlines(keepends=True)}
        for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            if hasattr(value, method):
                data[kind] = getattr(value, method)().splitlines(keepends=True)
        made.append({"data": data, "execution_count": number, "metadata": {}, "output_type": "execute_result"})
    return made


def main() -> None:
    """Run the notebooks that are named, or all, each in a folder of its own, and write their outputs into them."""
    for path in [Path(name).resolve() for name in sys.argv[1:]] or sorted(FOLDER.glob("*.ipynb")):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
            run(notebook["cells"])
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        print(f"{path.name}: {path.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
