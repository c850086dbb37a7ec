"""The PyRat bot, and PyRat bots as players."""

from __future__ import annotations

import json
import math
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import ramify as rf
from ramify.arena import Turn, match, player_kinds
from ramify.cli.app import app
from ramify.evaluators import Function
from ramify.protocols import BotSettings, EngineError, PyRatBot, PyRatBotConfig
from ramify.protocols.anytime import AnytimeSearch
from ramify.pyrat import DIRECTIONS
from tests.protocols.test_players import children

FAKE = f"{sys.executable} {Path(__file__).parent / 'fake_pyrat_bot.py'}"
OWN = f"{sys.executable} -m ramify pyrat-bot --simulations 200"
POSITION = {"p1": [0, 0], "p2": [2, 2], "cheese": [[1, 0], [2, 1], [0, 2]], "turn": 0}
GAME = {"type": "game", "player": 1, "width": 3, "height": 3, "max_turns": 20, "walls": [], "mud": [], **POSITION}
TURN = {"type": "turn", **POSITION, "seconds": 30.0}


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    before = children()
    yield
    assert children() - before == set()


def ask(bot: PyRatBot, message: Any) -> dict[str, Any]:
    answer = bot.answer(message if isinstance(message, str | bytes) else json.dumps(message))
    assert answer is not None
    return answer


def small_bot(**settings: Any) -> PyRatBot:
    return PyRatBot(BotSettings(**{"simulations": 200, **settings}), "7.0")


def test_a_game_from_hello_to_quit() -> None:
    bot = small_bot()
    assert ask(bot, {"type": "hello"}) == {"type": "hello", "name": "ramify", "version": "7.0", "protocol": 1}
    assert ask(bot, GAME) == {"type": "ready"}
    answer = ask(bot, TURN)
    assert (answer["type"], answer["move"], answer["simulations"]) == ("move", "RIGHT", 200)
    assert ask(bot, {**GAME, "player": 2}) == {"type": "ready"}
    assert ask(bot, TURN)["move"] == "DOWN"
    assert bot.answer('{"type": "quit"}') is None
    assert bot.ended


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("garbage", "JSON object"),
        ("[1, 2]", "JSON object"),
        ('{"type": "turn"', "JSON object"),
        (b"\xff\xfe", "JSON object"),
        ("[" * 100_000, "JSON object"),
        ("x" * (1 << 22 | 1), "at most"),
        ({"type": "jump"}, "type must be one of hello, game, turn, quit"),
        ({"type": ["turn"]}, "type must be one of"),
        ({"type": "hello", "protocol": 2}, "protocol must be 1"),
        ({**GAME, "player": 3}, "player must be 1 or 2"),
        ({**GAME, "width": "wide"}, "width must be a whole number"),
        ({**GAME, "height": 1000}, "height"),
        ({**GAME, "cheese": [[9, 9]]}, "cheese"),
        ({**GAME, "walls": [[[0, 0], [2, 2]]]}, "wall"),
        ({name: value for name, value in GAME.items() if name != "max_turns"}, "max_turns is missing"),
        ({name: value for name, value in TURN.items() if name != "p2"}, "p2 is missing"),
        ({**TURN, "seconds": 0}, "seconds must be a number above 0"),
        ({**TURN, "seconds": "soon"}, "seconds must be a number"),
        ('{"type": "turn", "seconds": NaN}', "NaN"),
        ("null", "a JSON object, not None"),
        ({**TURN, "p1": [0]}, "p1"),
        ({**TURN, "p1": "here"}, "p1"),
        ({**TURN, "turn": 20}, "over"),
        ({**TURN, "turn": 10**30}, "64 bits"),
    ],
)
def test_what_is_not_understood_is_one_error_line(line: Any, message: str) -> None:
    bot = small_bot()
    ask(bot, GAME)
    answer = ask(bot, line)
    assert answer["type"] == "error"
    assert message in answer["message"]
    assert "\n" not in answer["message"]
    assert ask(bot, TURN)["move"] == "RIGHT"


def test_the_shipped_network_plays_for_the_reward_it_was_trained_for() -> None:
    bot = small_bot(network="pyrat", simulations=50)
    assert ask(bot, GAME) == {"type": "ready"}
    answer = ask(bot, TURN)
    assert answer["simulations"] == 50
    assert sum(answer["value"]) == pytest.approx(0, abs=0.5)  # differences, not the three pieces
    bot.close()


def test_a_turn_needs_a_game() -> None:
    assert "no game" in ask(small_bot(), TURN)["message"]
    assert small_bot().answer("  \n") is None


@pytest.mark.parametrize("seed", range(5))
def test_random_damage_never_stops_the_bot(seed: int) -> None:
    rng, bot = random.Random(seed), small_bot(simulations=5)
    values = [None, -1, 2**70, 1e300, "x", [], {}, [[0, 0]], [[[0, 0], [0, 1], 3]], True, 0.5]
    ask(bot, GAME)
    for _ in range(150):
        message: dict[str, Any] = dict(rng.choice([GAME, TURN]))
        for _ in range(rng.randint(0, 3)):
            message[rng.choice([*message, "mud1", "score2"])] = rng.choice(values)
        line = json.dumps(message)
        if rng.random() < 0.2:
            line = line[: rng.randrange(len(line))]
        answer = bot.answer(line)
        assert answer is None or answer["type"] in ("ready", "move", "error")
    bot.close()


def test_the_time_of_a_turn_is_used() -> None:
    bot = PyRatBot()
    for _ in range(20):  # on a busy machine a thread may wake up too late for its result
        ask(bot, GAME)
        started = time.monotonic()
        answer = ask(bot, {**TURN, "seconds": 0.4})
        assert time.monotonic() - started > 0.3
        assert answer["move"] == "RIGHT"
        if answer["simulations"]:
            break
    assert answer["simulations"] > 10
    bot.close()


class Slow:
    """Evaluates as if a machine were stuck."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds

    def evaluate(self, batch: rf.Batch) -> rf.Evaluation:
        time.sleep(self.seconds)
        return rf.Evaluation(np.zeros((len(batch), 2, 5)), np.zeros((len(batch), 2)))


def test_an_answer_comes_in_time_even_if_the_search_does_not(monkeypatch: pytest.MonkeyPatch) -> None:
    bot = small_bot()
    monkeypatch.setattr(bot, "_evaluator", lambda _: Slow(4.0))
    ask(bot, GAME)
    started = time.monotonic()
    for _ in range(2):  # the second turn meets the search of the first
        answer = ask(bot, {**TURN, "seconds": 0.2})
        assert (answer["move"], answer["note"]) == ("RIGHT", "no search in time")  # towards the nearest cheese
    assert time.monotonic() - started < 3.5
    bot.close()


def test_a_search_that_fails_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: rf.Batch) -> Any:
        raise RuntimeError("out of memory")

    bot = small_bot()
    monkeypatch.setattr(bot, "_evaluator", lambda _: rf.evaluators.Function(fail))
    ask(bot, GAME)
    answer = ask(bot, TURN)
    assert answer["move"] == "RIGHT"
    assert "out of memory" in answer["note"]


def test_the_graph_is_kept_from_turn_to_turn() -> None:
    game = rf.make("pyrat", width=5, height=5, cheese=4, max_turns=30)
    state = game.initial_state(seed=1)
    search = AnytimeSearch(game, rf.evaluators.Uniform(), rf.SearchConfig(simulations=300, graph=True))
    for _ in range(3):
        search.begin(state, time.monotonic() + 60, 60.0)
        result = search.finish()
        assert result is not None
        state.apply(*result.best_action)
    assert int(result.visits.sum()) + 1 > result.stats["simulations"] == 300
    search.begin(game.initial_state(seed=2), time.monotonic() + 60, 60.0)
    fresh = search.finish()
    assert fresh is not None
    assert int(fresh.visits.sum()) + 1 == 300


class SlowLater:
    """Equal values and priors, at once for the first calls and then much later than anybody waits."""

    def __init__(self, quick: int, seconds: float) -> None:
        self.left, self.seconds, self.calls = quick, seconds, list[float]()

    def evaluate(self, batch: Any) -> Any:
        self.left -= 1
        self.calls.append(time.monotonic())
        if self.left < 0:
            time.sleep(self.seconds)
        return rf.Evaluation(np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32))


def test_a_search_that_is_late_tells_what_it_had_found() -> None:
    game = rf.make("pyrat", width=5, height=5, cheese=4, max_turns=30)
    search = AnytimeSearch(game, SlowLater(40, 3.0), rf.SearchConfig(simulations=10**6, batch=1))
    began = time.monotonic()
    search.begin(game.initial_state(seed=1), began + 1.0, 1.0)
    result = search.finish()
    assert time.monotonic() < began + 2.5  # not waited for the late evaluation
    assert result is not None
    assert 1 <= result.stats["simulations"] <= 41
    search.begin(game.initial_state(seed=2), time.monotonic() + 0.05, 0.05)
    assert search.finish() is None  # the thread is still busy with the position before, which nobody asks for any more
    search.close()


def test_a_search_that_ends_late_is_not_taken_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread may end while the next search waits for it, and no time may be left then."""
    game, gate = rf.make("pyrat", width=5, height=5, cheese=4, max_turns=30), threading.Event()

    def evaluate(batch: Any) -> Any:
        gate.wait()
        return rf.Evaluation(np.zeros(batch.legal.shape, np.float32), np.zeros((len(batch), 2), np.float32))

    search = AnytimeSearch(game, Function(evaluate), rf.SearchConfig(simulations=20, batch=1))
    search.begin(game.initial_state(seed=1), time.monotonic() + 0.2, 0.2)
    assert search.finish() is None
    wait = search._wait

    def ended(until: float) -> None:
        gate.set()
        wait(math.inf)

    with monkeypatch.context() as during:
        during.setattr(search, "_wait", ended)
        search.begin(game.initial_state(seed=2), time.monotonic(), 0.2)
    assert search.finish() is None
    search.begin(game.initial_state(seed=2))
    assert search.finish() is not None


def test_a_search_ends_before_a_batch_that_would_take_too_long() -> None:
    game = rf.make("pyrat", width=5, height=5, cheese=4, max_turns=30)
    evaluator = SlowLater(0, 0.4)
    search = AnytimeSearch(game, evaluator, rf.SearchConfig(simulations=10**6, batch=1))
    began = time.monotonic()
    search.begin(game.initial_state(seed=1), began + 3.0, 3.0)
    result = search.finish()
    assert result is not None
    assert evaluator.calls[-1] < began + 3.0 - 0.35  # there was no time for another one
    search.close()


def test_the_command() -> None:
    lines = ["?", json.dumps(GAME), "x" * (1 << 22 | 5), json.dumps(TURN)]
    done = subprocess.run(
        [*OWN.split(), "--seconds", "20"],
        input="\n".join(lines),
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["type"] for answer in answers] == ["error", "ready", "error", "move"]
    assert answers[-1]["move"] == "RIGHT"
    assert done.stderr == ""


@pytest.mark.parametrize("option", [["--seconds", "-1"], ["--network", "nowhere.onnx"], ["-s", "c_put=1"]])
def test_wrong_options_end_the_command(option: list[str]) -> None:
    done = CliRunner().invoke(app, ["pyrat-bot", *option], input="")
    assert done.exit_code == 2
    assert done.stdout == ""
    assert option[1].partition("=")[0] in done.stderr or "seconds" in done.stderr


# ---------- as players ----------


def bot_player(manner: str = "", **settings: Any) -> PyRatBotConfig:
    return PyRatBotConfig(command=f"{FAKE} '{manner}'", **{"patience": 60.0, "grace": 60.0, **settings})


def position() -> rf.State:
    game: Any = rf.make("pyrat", width=3, height=3)
    fields = {name: value for name, value in GAME.items() if name not in ("type", "player", "cheese")}
    state: rf.State = game.state(**{**fields, "cheese": [[0, 2], [1, 2]], "mud": [[[0, 0], [1, 0], 2]]})
    return state


def test_bots_are_told_the_position_and_who_they_are() -> None:
    assert player_kinds()["pyrat-bot"] is PyRatBotConfig
    config = bot_player()
    assert config.content()["engine"] == "Fake 3.0"
    state = position()
    player = config.open(state.game)
    chosen = player.choose([Turn(state, 0, 0), Turn(state, 1, 0)])
    player.close()
    assert [DIRECTIONS[action] for action in chosen] == ["RIGHT", "LEFT"]


@pytest.mark.parametrize(
    ("manner", "message"),
    [
        ("hangs", "hangs: no answer of type 'move' in time"),
        ("floods", "in time"),
        ("dies", "died.*out of cheese"),
        ("illegal", "chose 'JUMP'"),
        ("odd", "which is not legal"),
        ("refuses", "refused a message of type turn: not today"),
    ],
)
def test_bots_that_misbehave(manner: str, message: str) -> None:
    grace = 1.0 if manner in ("hangs", "floods") else 60.0
    player = bot_player(manner, grace=grace).open(position().game)
    with pytest.raises(EngineError, match=message):
        player.choose([Turn(position(), 0, 0)])
    player.close()


def test_a_mute_bot_is_not_waited_for() -> None:
    with pytest.raises(EngineError, match="answer of type 'hello' in time"):
        bot_player("mute", patience=1.0).open(position().game)


def test_a_bot_that_does_not_answer_forfeits() -> None:
    game = rf.make("pyrat", width=3, height=3, cheese=3, max_turns=6)
    played = match(game, bot_player("hangs", grace=0.5), "random", games=2)
    assert [one.forfeited for one in played] == [(0,), (1,)]  # whichever seat it has
    assert all("in time" in one.detail for one in played)


def test_our_own_bot_plays_a_match() -> None:
    game = rf.make("pyrat", width=5, height=3, cheese=3, max_turns=10)
    own = PyRatBotConfig(command=OWN, seconds=20.0, grace=60.0)
    played = match(game, own, "random", games=2)
    assert not any(game.forfeited for game in played)
    assert played.score > 0


def test_bots_play_only_pyrat() -> None:
    with pytest.raises(ValueError, match="PyRat bot engines can play only pyrat"):
        bot_player().open(rf.make("tictactoe"))
