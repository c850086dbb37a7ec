"""The server's side of a page, without a browser: searches share the time, and a closed tab frees its own."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nicegui")

from ramify.dashboard.analyser import Analyser, Line
from ramify.dashboard.clock import GameClock, clock_text
from ramify.dashboard.config import Budget, WebConfig
from ramify.dashboard.desk import BusyError, Desk
from ramify.dashboard.runs import RunFolder, differences, thinned
from ramify.dashboard.site import Site
from ramify.dashboard.trainer import Trainer
from tests.dashboard.conftest import run_async, write_run


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(WebConfig(runs=tmp_path / "runs", store=tmp_path / "ramify.db", workers=1, budget=Budget(analyses=2)))


def test_analyses_take_turns_and_moves_do_not_wait_for_them() -> None:
    """With one thread of each kind: two long works of many slices end together, and a move is done before them."""
    desk, order = Desk(1, 2), list[str]()

    async def long(name: str) -> None:
        for _ in range(6):
            await desk.slice(lambda: time.sleep(0.02))
            order.append(name)

    async def move() -> None:
        await desk.move(lambda: time.sleep(0.001))
        order.append("move")

    async def both() -> None:
        await asyncio.gather(long("a"), long("b"), move())

    run_async(both())
    assert order.index("move") < 6
    assert sorted(order[-3:-1]) in (["a", "b"], ["a", "a"], ["b", "b"])
    assert {*order[:5]} >= {"a", "b"}  # neither waits for the other's end
    desk.close()


def test_quick_moves_do_not_wait_for_long_ones() -> None:
    """One thread for quick moves; two long moves end only after the quick one was answered."""
    desk, answered = Desk(1, 2), threading.Event()

    async def all_at_once() -> list[bool]:
        long = [asyncio.ensure_future(desk.move(lambda: answered.wait(30), long=True)) for _ in range(2)]
        await asyncio.sleep(0.01)  # they have begun
        await desk.move(answered.set)
        return await asyncio.gather(*long)

    assert run_async(all_at_once()) == [True, True]
    desk.close()


def test_no_more_analyses_run_than_the_budget_allows() -> None:
    desk = Desk(1, 2)
    desk.enter()
    desk.enter()
    with pytest.raises(BusyError, match="2 analyses"):
        desk.enter()
    desk.leave()
    desk.enter()
    desk.close()


def test_an_analysis_grows_and_ends_when_it_is_stopped(site: Site) -> None:
    game = site.catalog.make_game("hex size=5")
    analyser = Analyser(site, game.initial_state(), [Line("rollout"), Line("rollout")], {}, 10**6)
    counts = []
    for _ in range(4):
        analyser.work()
        counts.append([line.simulations for line in analyser.lines])
    assert 0 < counts[1][0] < counts[3][0]  # a second slice goes on with the same graph
    assert counts[3][1] > 0  # the other network has its turn
    for line in analyser.lines:
        line.describe(analyser.state)
        assert "data-action" in line.table
    analyser.stop()
    assert analyser.done
    before = [line.simulations for line in analyser.lines]
    analyser.work()
    assert [line.simulations for line in analyser.lines] == before


def test_budgets_bound_what_a_client_asks_for(site: Site) -> None:
    budget = site.config.budget
    assert site.catalog.limited((10**9, 10**6)) == (budget.simulations, budget.seconds)
    assert site.catalog.limited((None, None)) == (None, budget.seconds)
    searcher, _ = site.catalog.searcher(site.catalog.make_game("tictactoe"), "rollout", (5, None), 0)
    assert searcher.config.max_nodes == budget.nodes


@pytest.mark.parametrize(
    "key",
    [
        "file:0",
        "file:-1",
        "run:../../etc",
        "run:/etc",
        "shipped:../x",
        "uci:command=ls",
        "run:a/0/../..",
        "/etc/passwd",
    ],
)
def test_networks_and_opponents_are_entries_and_never_paths_or_commands(site: Site, key: str) -> None:
    with pytest.raises(ValueError, match=r"no|unknown"):
        site.catalog.network(key)
    game = site.catalog.make_game("tictactoe")
    for opponent in (f"search {key}", f"player {key}", f"given {key}", key):
        with pytest.raises(ValueError, match=r"no|unknown"):
            site.catalog.open_opponent(game, opponent, (1, None), 0)


@pytest.mark.parametrize("name", ["..", "../other", "/etc", "a/b", ".hidden", "", "a" * 101, "x\n", "link"])
def test_no_name_of_a_run_leads_out_of_the_folder(tmp_path: Path, name: str) -> None:
    write_run(tmp_path, "inside")
    write_run(tmp_path / "other", "outside")
    (tmp_path / "runs" / "link").symlink_to(tmp_path / "other" / "runs" / "outside")
    runs = RunFolder(tmp_path / "runs")
    assert runs.names() == ["inside"]
    with pytest.raises(ValueError, match="no run"):
        runs.path(name)
    for number in ("../../../x", "-1", "1e3", "7"):
        with pytest.raises(ValueError, match="no checkpoint"):
            runs.network("inside", number)
    assert runs.network("inside", "0").read_bytes() == b"weights"


def test_curves_are_read_as_they_grow_and_again_when_a_run_resumes(tmp_path: Path) -> None:
    place = write_run(tmp_path, "live", iterations=3)
    runs = RunFolder(tmp_path / "runs")
    assert [line["iteration"] for line in runs.lines("live", "iteration")] == [1, 2, 3]
    with (place / "metrics.jsonl").open("a") as file:
        file.write('{"kind": "iteration", "iteration": 4, "step": 9}\n{"kind": "iteration", "iter')
    assert [line["iteration"] for line in runs.lines("live", "iteration")] == [1, 2, 3, 4]
    assert runs.summary("live").step == 9
    (place / "metrics.jsonl").write_text('{"kind": "iteration", "iteration": 1, "step": 2}\n')
    assert [line["iteration"] for line in runs.lines("live", "iteration")] == [1]


def test_long_curves_are_thinned_with_their_ends_and_settings_compared() -> None:
    lines = [{"step": number} for number in range(5000)]
    shown = thinned(lines, 100)
    assert len(shown) == 100
    assert shown[-1] == lines[-1]
    assert differences([{"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}}]) == [("b.c", ["2", "3"])]


@pytest.mark.parametrize(
    "settings", ["start=/etc/passwd", "records=x", "loop.games=`id`", "network=/a/b", "imports=os", "--help", "a"]
)
def test_settings_of_a_run_have_no_paths(tmp_path: Path, settings: str) -> None:
    with pytest.raises(ValueError, match="setting"):
        Trainer(RunFolder(tmp_path)).start("tictactoe", "name", settings)
    with pytest.raises(ValueError, match="name"):
        Trainer(RunFolder(tmp_path)).start("tictactoe", "../name", "")
    assert not list(tmp_path.iterdir())


def test_clocks_run_one_at_a_time_and_fall() -> None:
    now = [0.0]
    clock = GameClock(1, 2, now=lambda: now[0])
    clock.start(0)
    now[0] = 10.0
    assert (clock.remaining(0), clock.remaining(1)) == (50.0, 60.0)
    clock.start(1)
    assert clock.remaining(0) == 52.0  # with the increment
    assert clock.budget(1) < 5
    now[0] = 71.0
    assert clock.fallen == 1
    assert [clock_text(seconds) for seconds in (125.0, 9.44)] == ["2:05", "0:09.4"]


def test_a_move_taken_back_gives_its_time_back() -> None:
    """Also after a loss on time, which the next look at the clock would find again."""
    now = [0.0]
    clock = GameClock(1, 2, now=lambda: now[0])
    clock.start(0)
    now[0] = 10.0
    clock.keep(2)
    clock.start(1)
    now[0] = 90.0
    assert clock.fallen == 1
    clock.take_back(2)
    now[0] = 200.0
    assert (clock.fallen, clock.remaining(0), clock.remaining(1)) == (None, 50.0, 60.0)


@pytest.mark.parametrize(
    ("key", "said"),
    [
        ("openspiel:nfg_game filename=/etc/passwd", "numbers"),
        ("openspiel:misere game=nfg_game(filename=/etc/passwd)", "numbers"),
        ("openspiel:go board_size=100000", "numbers"),  # minutes, in which nobody is answered
        ("openspiel:blotto coins=60 fields=60", "no parameters"),
    ],
)
def test_parameters_of_openspiel_name_no_file_and_no_giant(site: Site, key: str, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        site.catalog.make_game(key)


def test_a_network_alone_plays_also_from_a_run_whose_name_has_a_comma(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text of a player would end at the comma."""
    from ramify.dashboard import catalog

    asked = []
    monkeypatch.setattr(catalog, "ArenaOpponent", lambda config, game: asked.append(config.network))
    place = write_run(site.runs.folder.parent, "a,simulations=9")
    site.catalog.open_opponent(site.catalog.make_game("tictactoe"), "policy run:a,simulations=9/0", (1, None), 0)
    assert asked == [str(place / "checkpoints" / "000000" / "network.safetensors")]


def test_programs_are_opponents_only_in_the_game_they_play(tmp_path: Path) -> None:
    players = ("uci:command=stockfish,depth=1", "htp:command=mohex", "random")
    catalog = Site(WebConfig(runs=tmp_path, store=tmp_path / "none.db", players=players)).catalog

    def given(game: str) -> list[str]:
        return [one.title for one in catalog.opponents(catalog.make_game(game)) if one.key.startswith("given ")]

    assert given("chess") == ["uci:command=stockfish,depth=1", "random"]
    assert given("hex size=5") == ["htp:command=mohex", "random"]


@pytest.mark.parametrize(
    ("file", "text"),
    [
        ("ramify-run.json", "[]"),
        ("ramify-run.json", '{"config": {"loop": [1], "game": {"a": 1}}}'),
        ("metrics.jsonl", '{"kind": "iteration", "iteration": null, "step": "x", "seconds": NaN}\n'),
        ("ratings.json", '{"players": [{"name": 1}, {"name": "x", "step": 3, "iteration": 1, "elo": null}, 7]}'),
        ("ratings.json", '{"players": 5}'),
    ],
)
def test_a_run_with_damaged_files_leaves_the_pages_alone(site: Site, file: str, text: str) -> None:
    from ramify.dashboard.runs_page import below_html, head_html, runs_html

    folder = site.runs.folder.parent
    write_run(folder, "sound")
    (write_run(folder, "damaged") / file).write_text(text)
    assert {run.name for run in site.runs.summaries()} == {"sound", "damaged"}
    assert site.runs.rating("damaged") is None
    assert "damaged" in runs_html(site, 0)
    assert "damaged" in head_html([site.runs.summary("damaged")])
    assert "Checkpoints" in below_html(site, [site.runs.summary("damaged")], {})


def test_a_lock_that_was_left_behind_never_stops_the_server_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The number in it may be that of any process by now."""
    place = write_run(tmp_path, "old")
    (place / "run.lock").write_text(str(os.getpid()))
    monkeypatch.setattr(Path, "read_bytes", lambda self: b"ramify\0web")  # the command of this process
    assert RunFolder(tmp_path / "runs").process("old") is None


def test_a_run_that_fails_before_it_has_a_folder_is_listed(site: Site) -> None:
    from ramify.dashboard.runs_page import runs_html

    site.runs.folder.mkdir(parents=True)
    (site.runs.folder / ".broken.log").write_text("first words\nthe disk is <full>\n")
    site.trainer._started["broken"] = subprocess.Popen([sys.executable, "-c", "raise SystemExit(1)"])
    site.trainer._started["broken"].wait(60)
    shown = runs_html(site, 0)
    assert "broken" in shown
    assert "the disk is &lt;full&gt;" in shown


def test_a_run_of_the_store_has_its_name_settings_curves_and_checkpoints(site: Site) -> None:
    from ramify.dashboard.runs_page import RunPage
    from ramify.store import Store

    with Store(site.config.store) as store:
        number = store.start_run("/elsewhere/far", {"game": "hex", "loop": {"iterations": 9}})
        store.add_metrics(number, 1, {"step": 4.0, "seconds": 60.0, "new_policy": 1.5})
        store.add_checkpoint(number, 1, "/elsewhere/far/1", "abcdef")
    page = RunPage(site, [f"store:{number}"])
    page.stop_button = None
    (run,), curves, _, below, usage = page.read()
    assert (run.game, run.iteration, run.iterations, run.step, run.running) == ("hex", 1, 9, 4, True)
    assert run.name.startswith("far ")
    assert curves[run.name]["iteration"][0]["new_policy"] == 1.5
    assert "abcdef" in below
    assert "loop.iterations" in below
    assert usage is None
    for key in ("store:99", "store:x", "store:" + "9" * 5000):
        with pytest.raises(ValueError, match="no run"):
            site.stored_run(key)


def test_runs_are_listed_while_the_store_cannot_be_read(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    from ramify.dashboard.runs_page import runs_html
    from ramify.store import StoreError

    def locked() -> Any:
        raise StoreError("the store is <locked>")

    write_run(site.runs.folder.parent, "sound")
    monkeypatch.setattr(site, "stored_runs", locked)
    shown = runs_html(site, 0)
    assert "sound" in shown
    assert "the store is &lt;locked&gt;" in shown


def test_ratings_are_shown_by_time_where_it_is_known() -> None:
    from ramify.dashboard.runs_page import timed

    players = [{"step": None, "iteration": None}, {"step": 0, "iteration": 0}, {"step": 8, "iteration": 2}]
    players.append({"step": 12, "iteration": 3})
    shown = timed({"players": players}, [{"iteration": 2, "seconds": 90.0}])
    assert [one["step"] for one in shown["players"]] == [None, 0.0, 1.5]


def test_several_networks_share_the_nodes_of_one_search(site: Site) -> None:
    state = site.catalog.make_game("tictactoe").initial_state()
    analyser = Analyser(site, state, [Line("rollout"), Line("rollout")], {}, 5)
    analyser.work()
    searcher = analyser.lines[0].searcher
    assert searcher is not None
    assert searcher.config.max_nodes == site.config.budget.nodes // 2


def test_an_opponent_is_asked_one_thing_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A move is taken back while the opponent thinks, and the next one asks it before it has noticed."""
    from ramify.dashboard.play_page import PlayPage

    page = PlayPage(Site(WebConfig(runs=tmp_path, store=tmp_path / "none.db", workers=2)), "tictactoe")
    monkeypatch.setattr(page, "show", lambda: None)
    at_once, most = [0], [0]

    class Slow:
        name = "slow"

        def choose(self, turn: Any) -> tuple[int, str]:
            at_once[0] += 1
            most[0] = max(most[0], at_once[0])
            time.sleep(0.1)
            at_once[0] -= 1
            return 4, ""

        def close(self) -> None:
            """Nothing was started."""

    async def ask() -> tuple[int | None, int | None]:
        page.opponent, page.side = Slow(), 1
        first = asyncio.create_task(page.opponent_chooses())
        await asyncio.sleep(0.03)
        page.interrupt()
        return await page.opponent_chooses(), await first

    assert run_async(ask()) == (4, None)
    assert most[0] == 1
