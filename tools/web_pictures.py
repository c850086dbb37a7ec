"""Pictures of the web interface for the documentation: every page, wide and light, narrow and dark.

python -m tools.web_pictures --runs runs --store ramify.db
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images" / "web"
WIDTHS = ((1440, 900, "light"), (390, 844, "dark"))


def shoot(page: Any, base: str, name: str, path: str) -> None:
    """Open a page, do what makes it worth looking at, and take its picture."""
    page.goto(base + path)
    page.locator(".page .card").first.wait_for()
    page.wait_for_timeout(1500)
    if name == "play":
        for place in ("d4", "c5", "e3"):
            if page.locator(f'polygon.legal[data-place="{place}"]').count():
                page.locator(f'polygon[data-place="{place}"]').click(force=True)
                page.wait_for_timeout(2500)
        page.get_by_role("button", name="Hint").click()
        page.wait_for_timeout(3500)
    elif name in ("analyse", "matrix"):
        page.get_by_role("button", name="Start").click()
        page.wait_for_timeout(8000)
        if name == "matrix":
            page.get_by_role("tab", name="Matrix").click()
            page.wait_for_timeout(1500)
        page.evaluate("window.scrollTo(0, 0)")
    elif name == "game":
        page.get_by_role("button", name="Review").click()
        page.wait_for_timeout(9000)
        page.get_by_role("button", name="Largest swing").click()
        page.wait_for_timeout(700)
    width = page.viewport_size["width"]
    page.screenshot(path=str(IMAGES / f"{name}-{width}.jpg"), type="jpeg", quality=58)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--runs", default="runs")
    parser.add_argument("--store", default="ramify.db")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    command = [sys.executable, "-m", "ramify", "web", "--port", "0", "--json", "--no-open"]
    command += ["--runs", options.runs, "--store", options.store]
    names = sorted(path.parent.name for path in Path(options.runs).glob("*/ramify-run.json"))
    pages = {
        "play": "/play?game=hex size=7",
        "analyse": "/analyse?game=chess&moves=e2e4 e7e5 g1f3 b8c6 f1b5",
        "matrix": "/analyse?game=pyrat preset=tiny",
        "games": "/games",
        "game": "/game?source=store&id=5",
        "runs": "/runs",
        "run": "/run?" + "&".join(f"name={name}" for name in names[:2]),
        "ratings": "/ratings",
    }
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    IMAGES.mkdir(parents=True, exist_ok=True)
    try:
        assert server.stdout is not None
        text = ""
        while "}" not in text:
            text += server.stdout.readline() or sys.exit("the server did not start")
        link = json.loads(text)["link"]
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for width, height, theme in WIDTHS:
                context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme)
                page = context.new_page()
                page.goto(link)
                for name, path in pages.items():
                    if options.only in ("", name):
                        shoot(page, link.partition("/?")[0], name, path)
                context.close()
            browser.close()
    finally:
        server.terminate()
        server.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
