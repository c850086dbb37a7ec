"""The page that lists the decisions by their titles."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "decisions"


def pages() -> dict[str, str]:
    """{path: Markdown} of the list of decisions."""
    rows = [f"- [{title(path)}]({path.name})" for path in sorted(FOLDER.glob("*.md")) if path.name != "index.md"]
    text = (
        "# Decisions\n\nOne page per decision that was hard to make: what was decided, why, and what was not chosen. "
        "[Departures](../project/departures.md) lists where ramify differs from the original descriptions.\n"
    )
    return {"decisions/index.md": f"{text}\n" + "\n".join(rows) + "\n"}


def title(path: Path) -> str:
    return path.read_text(encoding="utf-8").partition("\n")[0].removeprefix("# ").strip()
