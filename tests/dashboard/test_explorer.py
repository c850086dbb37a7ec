"""The tree to click through, as a browser shows it: what ``result.explore()`` is in a notebook."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ramify as rf


@pytest.mark.browser
def test_a_tree_is_walked_by_clicks_and_by_keys(browser: Any, tmp_path: Path) -> None:
    result = rf.search(rf.make("tictactoe").initial_state(), simulations=300)
    file = tmp_path / "tree.html"
    file.write_text(f"<meta charset='utf-8'>{result.explore()._repr_html_()}", encoding="utf-8")
    page, errors = browser.new_page(), []
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(file.as_uri())
    nodes = result.explore().nodes
    best = nodes[0]["edges"][0]
    shown = [cell.inner_text() for cell in page.locator("tr").nth(1).locator("td").all()]
    assert shown == [best["name"], str(best["visits"]), f"{100 * best['share']:.1f} %", *best["value"], best["prior"]]
    assert "and 5 more" in page.inner_text("body")

    page.locator("tr").nth(1).locator("td").nth(2).click()  # anywhere on the row
    assert page.locator("p").first.inner_text() == f"root › {best['name']}"
    reply = nodes[best["to"]]["edges"][0]["name"]
    page.locator("td a").first.focus()
    page.keyboard.press("Enter")
    assert page.locator("p").first.inner_text() == f"root › {best['name']} › {reply}"
    page.get_by_text("root").click()
    assert page.locator("p").first.inner_text() == "root"
    assert not errors
    page.close()
