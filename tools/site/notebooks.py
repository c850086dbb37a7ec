"""Notebooks as pages: their words, their code, and the outputs that are stored in them."""

from __future__ import annotations

import json
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
