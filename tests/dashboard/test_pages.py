"""The other pages in the browser: analysis, games, runs, ratings. Every test fails where the console has an error."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest

from tests.dashboard.conftest import SCRIPT, Server, Tab, run_async, start_server, stop_server, write_games, write_run


def simulations(tab: Tab) -> int:
    found = re.search(r"([\d,]+) simulations", tab.page.locator(".side .card").first.inner_text())
    return int(found[1].replace(",", "")) if found else 0


def test_an_analysis_starts_goes_on_and_stops(tab: Tab) -> None:
    page = tab.open("/analyse?game=connect_four&moves=d d")
    page.get_by_role("button", name="Start").click()
    first = tab.wait(lambda: simulations(tab))
    tab.wait(lambda: simulations(tab) > first)
    assert "%" in tab.text(".board")
    page.keyboard.press(" ")  # stops it once, though the focus was on the button
    tab.wait(lambda: page.get_by_role("button", name="Start").count())
    page.wait_for_timeout(400)
    ended = simulations(tab)
    page.wait_for_timeout(700)
    assert simulations(tab) == ended
    page.get_by_role("tab", name="Tree").click()  # also of a search that has ended
    tab.wait(lambda: page.locator(".node").count())
    before = page.locator(".node").count()
    page.locator(".node").first.press("Enter")
    tab.wait(lambda: page.locator(".node").count() > before)
    page.get_by_role("tab", name="Network and search").click()
    tab.wait(lambda: page.locator(".pair svg").count() == 2)
    page.get_by_role("tab", name="Moves").click()
    page.locator("tr.pick").first.press("Enter")  # plays the best move
    tab.wait(lambda: page.locator(".moves a").count() == 3)


@pytest.mark.browser
def test_a_simultaneous_position_has_a_matrix_with_its_equilibrium(tab: Tab) -> None:
    page = tab.open("/analyse?game=matrix")
    page.get_by_role("button", name="Start").click()
    tab.wait(lambda: simulations(tab) > 1000)
    page.get_by_role("tab", name="Matrix").click()
    tab.wait(lambda: page.locator(".matrix td").count() > 9)
    shares = [
        int(text[:-1])
        for text in page.locator(".matrix tr td:nth-last-child(2)").all_inner_texts()
        if text.endswith("%")
    ]
    assert all(28 <= share <= 38 for share in shares[:3])  # rock, paper, scissors: a third each
    for number in range(2):
        page.locator("button.chip").nth(number).click()
        page.wait_for_timeout(200)
    tab.wait(lambda: page.locator(".moves a").count() == 1)
    tab.wait(lambda: page.locator(".matrix").count() == 0)  # it was that of the position before


@pytest.mark.browser
def test_a_wrong_position_is_explained(tab: Tab) -> None:
    page = tab.open("/analyse?game=chess")
    page.get_by_label("Position: FEN").fill("not a position")
    page.get_by_role("button", name="Set up").click()
    tab.wait(lambda: page.locator(".q-notification").count())
    page.get_by_label("Position: FEN").fill("7k/8/5K2/6Q1/8/8/8/8 w - - 0 1")
    page.get_by_role("button", name="Set up").click()
    page.get_by_role("button", name="Start").click()
    tab.wait(lambda: "mate 1" in tab.page.locator(".side").inner_text())


def test_a_stored_game_is_replayed_and_saved(tab: Tab) -> None:
    page = tab.open("/games")
    assert "60 games" in page.locator(".page").inner_text()
    assert "onerror=alert" in page.locator(".page").inner_text()  # a name, shown as text
    page.locator("table a").first.click()
    tab.wait(lambda: page.locator(".moves a").count() >= 5)
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    tab.wait(lambda: page.locator(".moves .now").count() and page.locator(".moves .now").inner_text() == "a2")
    page.get_by_role("button", name="Review").click()
    tab.wait(lambda: page.locator("svg polyline").count())
    tab.wait(lambda: not page.locator(".q-linear-progress").is_visible())
    page.get_by_role("button", name="Largest swing").click()
    tab.wait(lambda: page.get_by_text("What the search thought").count())
    with page.expect_download() as waiting:
        page.get_by_role("button", name="JSON").click()
    saved = json.loads(Path(waiting.value.path()).read_text())
    assert saved["game"] == "tictactoe"


@pytest.mark.browser
def test_runs_are_listed_and_compared(tab: Tab) -> None:
    page = tab.open("/runs")
    page.get_by_role("link", name="first", exact=True).wait_for()
    page.locator("input[value=first]").check()
    page.locator("input[value=second]").check()
    page.get_by_role("button", name="Compare").click()
    page.wait_for_url("**/run?name=*")
    tab.wait(lambda: page.locator("canvas, .nicegui-echart svg").count() >= 4)
    assert (
        "Settings that differ" in page.locator(".page").inner_text() or page.get_by_text("Settings that differ").count()
    )
    assert page.locator("td", has_text="seed").count()
    with page.expect_download() as waiting:
        page.get_by_role("link", name="download").first.click()
    assert Path(waiting.value.path()).read_bytes() == b"weights"


@pytest.mark.browser
def test_a_run_whose_folder_vanishes_is_missed_quietly_and_found_again(tab: Tab) -> None:
    place = write_run(tab.server.folder, "fleeting")
    page = tab.open("/run?name=fleeting")
    page.locator(".badge", has_text="ended").wait_for()
    place.rename(place.with_name(".away"))
    page.locator(".error", has_text="no run 'fleeting'").wait_for()
    assert page.locator(".q-notification").count() == 0
    place.with_name(".away").rename(place)
    page.locator(".badge", has_text="ended").wait_for()


@pytest.mark.browser
def test_ratings_lead_to_their_games(tab: Tab) -> None:
    page = tab.open("/ratings")
    tab.wait(lambda: page.get_by_text("Crosstable").count())
    assert page.locator("table").first.locator("tbody tr").count() == 3
    page.locator("table").nth(1).locator("a").first.click()
    tab.wait(lambda: "20 games" in page.locator(".page").inner_text())


@pytest.mark.browser
def test_a_run_is_started_watched_and_stopped(tab: Tab) -> None:
    page = tab.open("/runs")
    page.get_by_label("Settings").wait_for()
    tab.wait(lambda: page.get_by_label("Preset").first.input_value() == "hex-5")
    page.get_by_label("Preset").first.fill("tictactoe")
    page.locator(".q-menu .q-item", has_text=re.compile("^tictactoe$")).click()
    page.get_by_label("Name").fill("live")
    page.get_by_label("Settings").fill("loop.iterations=200 loop.games=16 start=/etc/passwd")
    page.get_by_role("button", name="Start training").click()
    tab.wait(lambda: page.locator(".q-notification", has_text="start=/etc/passwd").count())  # no paths from a client
    page.get_by_label("Settings").fill("loop.iterations=200 loop.games=16")
    page.get_by_role("button", name="Start training").click()
    tab.wait(lambda: (tab.server.folder / "runs" / "live" / "metrics.jsonl").exists(), 60)
    page = tab.open("/run?name=live")
    tab.wait(lambda: re.search(r"iteration [1-9]", page.locator(".page").inner_text()), 60)
    before = int(re.search(r"([\d,]+) steps", page.locator(".page").inner_text())[1].replace(",", ""))  # type: ignore[index]
    tab.wait(
        lambda: int(re.search(r"([\d,]+) steps", page.locator(".page").inner_text())[1].replace(",", "")) > before, 60
    )  # type: ignore[index]
    page.get_by_role("button", name="Stop").click()
    tab.wait(lambda: page.locator(".badge", has_text="ended").count(), 60)


@pytest.mark.browser
def test_no_page_runs_the_script_in_a_name(tab: Tab) -> None:
    """Names of players, runs and settings have a script in them; an alert or a loaded image would be an error here."""
    for path, shows in (
        ("/games", True),
        ("/run?name=second", True),
        ("/ratings", True),
        ("/runs", True),
        ("/game?source=store&id=2", False),
        (f"/play?game={SCRIPT}", False),
        (f"/analyse?position={SCRIPT}", False),
        (f"/run?name={SCRIPT}", False),
    ):
        page = tab.open(path)
        page.locator(".page").wait_for()
        page.wait_for_timeout(150)
        assert page.locator("img[src=x]").count() == 0
        assert not shows or tab.soon(lambda page=page: "onerror=alert" in page.locator(".page").inner_text()), path


@pytest.mark.browser
@pytest.mark.parametrize("width", [1440, 390])
def test_every_page_fits_its_width(tab: Tab, width: int) -> None:
    tab.page.set_viewport_size({"width": width, "height": 844})
    for path in (
        "/play",
        "/play?game=chess",
        "/analyse",
        "/games",
        "/runs",
        "/run?name=first",
        "/ratings",
        "/game?id=3",
    ):
        page = tab.open(path)
        page.wait_for_timeout(250)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, path


@pytest.mark.slow
def test_pages_are_cheap_with_100_runs_and_10000_games(browser: Any, tmp_path: Path) -> None:
    """Processor time of the server for a page that was opened before: the machine may be busy with other things."""
    for number in range(100):
        write_run(tmp_path, f"run-{number}", iterations=30)
    write_games(tmp_path / "ramify.db", 10_000)
    server = start_server(tmp_path)
    context = browser.new_context()
    try:
        found = Tab(context, server)
        found.enter()
        for path in ("/games", "/games?before=3000", "/game?id=5000", "/runs", "/run?name=run-7", "/ratings"):
            used = []
            for _ in range(3):
                begun = server.processor_seconds()
                found.open(path).locator(".page .card").first.wait_for()
                used.append(server.processor_seconds() - begun)
            assert min(used) < 0.5, (path, used)
        assert found.errors == []
    finally:
        context.close()
        stop_server(server)


@pytest.mark.browser
@pytest.mark.parametrize("path", ["/analyse?game=hex size=11", "/play?game=hex size=11&simulations=100000"])
def test_a_closed_tab_frees_its_search(browser: Any, server: Server, path: str) -> None:
    """The server works while the tab is open, and rests a few seconds after it is closed."""
    context = browser.new_context()
    found = Tab(context, server)
    found.enter()
    page = found.open(path)
    if path.startswith("/analyse"):
        page.get_by_label("Simulations").click()
        page.locator(".q-menu .q-item", has_text="1,000,000").click()
        page.get_by_role("button", name="Start").click()
        found.wait(lambda: "simulations" in found.text(".side .card"))
    else:
        found.wait(lambda: "Your move" in found.text(".status"))
        page.locator('polygon[data-place="f6"]').click(force=True)
        found.wait(lambda: "thinking" in found.text(".status"))
    begun = server.processor_seconds()
    assert found.soon(lambda: server.processor_seconds() > begun + 0.5, 20)
    context.close()
    resting = False
    for _ in range(20):
        before = server.processor_seconds()
        time.sleep(1.0)
        resting = server.processor_seconds() - before < 0.1
        if resting:
            break
    assert resting


@pytest.mark.slow
def test_several_clients_play_at_once(server: Server) -> None:
    """A small part of what ``python -m tools.web_load`` measures."""
    pytest.importorskip("aiohttp")
    from argparse import Namespace

    from tools.web_load import measure

    options = Namespace(clients=4, seconds=6.0, simulations=20, size=5)
    found = run_async(measure(server.link, server.process.pid, options))
    assert found["errors"] == []
    assert found["moves"] >= 4
