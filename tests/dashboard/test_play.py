"""Whole games in the browser."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dashboard.conftest import Tab


def status(tab: Tab) -> str:
    return tab.text(".status")


def ready(tab: Tab) -> bool:
    return "Your move" in status(tab) or any(word in status(tab) for word in ("You win", "You lose", "draw"))


def choose(tab: Tab, label: str, option: str) -> None:
    """Choose an entry of a list, and wait for the page to follow: fields may come, go and move."""
    entry = tab.page.locator(".q-menu .q-item", has_text=option).first
    for _ in range(5):  # a field that moved away was not clicked
        tab.page.get_by_label(label, exact=True).first.click()
        if tab.soon(entry.is_visible):
            break
    entry.click()
    tab.wait(lambda: tab.page.locator(".q-menu").count() == 0)
    tab.page.wait_for_timeout(250)


def new_game(tab: Tab, opponent: str, side: str | None = None) -> None:
    tab.wait(lambda: ready(tab))
    choose(tab, "Opponent", opponent)
    if side is not None:
        choose(tab, "You play", side)
    tab.page.get_by_role("button", name="Start").click()
    tab.page.wait_for_timeout(150)
    tab.wait(lambda: ready(tab))


def moves(tab: Tab) -> list[str]:
    return [str(text) for text in tab.page.locator(".moves a").all_inner_texts()]


def play_out(tab: Tab, pick: Any, limit: int = 80) -> int:
    """Play until the game is over; returns how many moves that took."""
    for number in range(limit):
        if "Your move" not in tab.wait(lambda: ready(tab) and status(tab)):
            return number
        before = len(moves(tab))
        for _ in range(5):  # a click that meets a board which is just being drawn again is lost
            pick()
            if tab.soon(lambda before=before: len(moves(tab)) > before):
                break
    raise AssertionError("the game did not end")


def click(tab: Tab, place: str, until: Any = None) -> None:
    """Click on a place of the board, again if the click met a board that was just being drawn."""
    for _ in range(5):
        tab.page.locator(f'polygon[data-place="{place}"]').click(force=True)
        if until is None or tab.soon(until):
            return
    raise AssertionError(f"a click on {place} does nothing: {status(tab)}")


def open_and_move(tab: Tab, game: str, place: str) -> None:
    """Open a game, play the first move and wait for the answer."""
    tab.open(f"/play?game={game}")
    tab.wait(lambda: ready(tab))
    click(tab, place, lambda: len(moves(tab)) >= 1)
    tab.wait(lambda: len(moves(tab)) == 2)


def test_hex_to_the_end_with_undo_and_a_hint(tab: Tab) -> None:
    open_and_move(tab, "hex size=5", "c3")
    tab.page.get_by_role("button", name="Undo").click()
    tab.wait(lambda: moves(tab) == [])
    tab.page.get_by_role("button", name="Hint").click()
    tab.wait(lambda: tab.page.locator(".card", has_text="expected line").count())
    assert "%" in tab.page.locator(".board").first.inner_text()  # shares of visits on the cells
    new_game(tab, "Random moves")
    played = play_out(tab, lambda: tab.page.locator("polygon.legal").first.click(force=True))
    assert 5 <= played <= 13


@pytest.mark.browser
def test_connect_four_to_the_end(tab: Tab) -> None:
    tab.open("/play?game=connect_four")
    new_game(tab, "Alpha-beta")
    play_out(tab, lambda: tab.page.locator("polygon.legal").first.click(force=True))


@pytest.mark.browser
def test_chess_to_mate_against_an_engine_over_uci(tab: Tab) -> None:
    tab.open("/play?game=chess")
    new_game(tab, "uci:")
    assert "fool" in tab.text(".seats")  # as the program calls itself
    click(tab, "f2", lambda: tab.page.locator(".areas circle").count() == 2)  # targets of the pawn
    click(tab, "f3", lambda: len(moves(tab)) >= 1)
    tab.wait(lambda: len(moves(tab)) == 2)
    field = tab.page.get_by_label("Move", exact=True)
    field.fill("g2g4")
    field.press("Enter")
    tab.wait(lambda: "You lose" in status(tab))
    assert moves(tab) == ["f3", "e5", "g4", "Qh4#"]


@pytest.mark.browser
def test_chess_as_black_is_seen_from_black(tab: Tab) -> None:
    tab.open("/play?game=chess")
    new_game(tab, "uci:", side="Black")
    tab.wait(lambda: moves(tab) == ["e4"])
    boxes = [tab.page.locator(f'polygon[data-place="{place}"]').bounding_box() for place in ("e4", "e5")]
    assert boxes[0]["y"] < boxes[1]["y"]  # White's half is on top


@pytest.mark.browser
def test_pyrat_with_the_arrow_keys_against_a_moving_opponent(tab: Tab) -> None:
    tab.page.set_viewport_size({"width": 1440, "height": 450})
    tab.open("/play?game=pyrat width=5 height=5 cheese=5 max_turns=30 wall_density=0.2 mud_density=0.0")
    new_game(tab, "Greedy")
    tab.page.get_by_role("button", name="Undo").click()  # the space bar is not this button's afterwards
    tab.page.evaluate("window.scrollTo(0, 0)")
    turn = [0]

    def press() -> None:
        turn[0] += 1
        tab.page.keyboard.press(("ArrowUp", " ", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown")[turn[0] % 6])

    play_out(tab, press)
    assert all("/" in both for both in moves(tab))
    assert "STAY" in "".join(moves(tab))
    assert tab.page.evaluate("window.scrollY") == 0


@pytest.mark.browser
def test_a_game_of_ones_own_has_a_text_and_buttons_and_runs_no_script(tab: Tab) -> None:
    tab.open("/play?game=pile")
    tab.wait(lambda: ready(tab))
    assert "<script>" in tab.page.locator(".board").inner_text()
    new_game(tab, "Random moves")
    play_out(tab, lambda: tab.page.locator("button.chip").first.click())
    assert moves(tab)[0] == "take<1>"


@pytest.mark.browser
def test_a_move_is_taken_back_while_the_opponent_thinks(tab: Tab) -> None:
    """And another one is played at once: the search that was stopped is not in the way of the next."""
    tab.open("/play?game=hex size=11&simulations=100000")
    tab.wait(lambda: ready(tab))
    click(tab, "f6", lambda: len(moves(tab)) == 1)
    for place in ("e5", "d4", "c3", "g7"):
        tab.wait(lambda: "thinking" in status(tab))
        tab.page.wait_for_timeout(300)
        tab.page.evaluate(
            """place => {
                [...document.querySelectorAll("button")].find(one => one.innerText.includes("Undo")).click();
                const cell = document.querySelector(`polygon[data-place="${place}"]`);
                cell.dispatchEvent(new MouseEvent("click", {bubbles: true}));
            }""",
            place,
        )
        tab.wait(lambda place=place: moves(tab) == [place])
    tab.page.wait_for_timeout(300)
    assert tab.page.locator(".q-notification").count() == 0
    tab.page.get_by_role("button", name="Undo").click()
    tab.wait(lambda: moves(tab) == [] and ready(tab))


@pytest.mark.browser
def test_sides_are_exchanged_and_a_resigned_game_is_over(tab: Tab) -> None:
    open_and_move(tab, "tictactoe", "b2")
    tab.page.get_by_role("button", name="Sides").click()
    tab.wait(lambda: len(moves(tab)) == 3 and ready(tab))
    tab.page.get_by_role("button", name="Resign").click()
    tab.wait(lambda: "resigned" in status(tab))
    tab.page.get_by_role("button", name="Sides").click()  # too late: whoever has resigned stays who it was
    tab.wait(lambda: tab.page.locator(".q-notification", has_text="over").count())
    assert "resigned" in status(tab)


@pytest.mark.browser
def test_an_undo_before_the_first_move_lets_the_opponent_go_on(tab: Tab) -> None:
    tab.open("/play?game=hex size=11&simulations=100000")
    tab.wait(lambda: ready(tab))
    choose(tab, "You play", "Blue")
    tab.page.get_by_role("button", name="Start").click()
    tab.wait(lambda: "thinking" in status(tab))
    tab.page.keyboard.press("u")
    tab.wait(lambda: tab.page.locator(".q-notification", has_text="not made a move").count())
    tab.wait(lambda: "thinking" in status(tab))


@pytest.mark.browser
def test_earlier_positions_are_looked_at_and_the_game_goes_on(tab: Tab) -> None:
    open_and_move(tab, "tictactoe", "b2")
    tab.page.keyboard.press("ArrowLeft")
    tab.wait(lambda: "Position 1 of 2" in status(tab))
    assert tab.page.locator("polygon.legal").count() == 0  # nobody moves in the past
    tab.page.locator(".moves a").last.click()
    tab.wait(lambda: "Your move" in status(tab))
    assert tab.page.locator("polygon.legal").count() > 0
