"""The PyRat bot behind ``ramify pyrat-bot``: one JSON object per line in, one per line out."""

from __future__ import annotations

import json
import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

from pydantic import Field

from ramify.arena import GreedyConfig, Turn
from ramify.arena.network_files import network_file, open_evaluator, trained_reward
from ramify.base.settings import Settings
from ramify.engine import SearchConfig
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.evaluators import Planner
from ramify.games import Game, State, make
from ramify.protocols.anytime import AnytimeSearch
from ramify.pyrat import DIRECTIONS

PROTOCOL = 1
LONGEST = 1 << 22  # bytes of a line; the walls of a board of 64 x 64 cells take a tenth of that
MAZE = ("width", "height", "walls", "mud", "max_turns")  # what stays the same during a game
POSITION = ("p1", "p2", "mud1", "mud2", "score1", "score2", "cheese", "turn")  # what a turn changes
NEEDED = ("max_turns", "cheese", "p1", "p2")  # the rest is as at the start of a game, unless given
SECONDS = 3600.0  # longest limit of a turn

log = logging.getLogger("ramify")


class BotSettings(Settings):
    """Settings of the bot."""

    what = "bot"

    seconds: float = Field(0.1, gt=0, le=SECONDS, description="Time per turn if a turn does not name its own.")
    simulations: int = Field(2**53, ge=1, le=2**62, description="Most simulations per turn.")
    network: str | None = Field(None, description="The network, as for --network; None: plans without a network.")
    max_nodes: int = Field(500_000, ge=1, le=2**31, description="Most nodes of the search graph.")
    search: dict[str, Any] = Field({}, description="Further settings of the search.")
    seed: int = Field(0, ge=0, description="Seed of the search.")


class BadMessageError(ValueError):
    """A message that cannot be answered; the text says why."""


class PyRatBot:
    """Answers messages, one after another. ``answer`` never raises."""

    def __init__(self, settings: BotSettings | None = None, version: str = "") -> None:
        self.settings, self.version = settings or BotSettings(), version
        self.ended = False
        self._player = 0
        self._start: State | None = None  # of the game in progress
        self._search: AnytimeSearch | None = None

    def answer(self, line: str | bytes, received: float | None = None) -> dict[str, Any] | None:
        """The answer to a line; None if there is none. ``received``: when it came, by time.monotonic."""
        received = time.monotonic() if received is None else received
        try:
            message = read_message(line)
            if message is None:
                return None
            kind = message.get("type")
            handlers: dict[Any, Callable[[dict[str, Any], float], dict[str, Any] | None]] = {
                "hello": self._hello,
                "game": self._game,
                "turn": self._turn,
                "quit": self._quit,
            }
            if not isinstance(kind, str) or kind not in handlers:
                raise BadMessageError(f"type must be one of {', '.join(handlers)}, not {short(kind)}")
            return handlers[kind](message, received)
        except (ValueError, TypeError, OverflowError, ImportError, OSError) as refusal:
            log.debug("refused a message", exc_info=True)
            return {"type": "error", "message": str(refusal).partition("\n")[0] or type(refusal).__name__}
        except Exception as error:  # the client must have its answer, whatever is wrong here
            log.exception("while answering a message")
            return {"type": "error", "message": f"internal error: {type(error).__name__}: {error}".partition("\n")[0]}

    def check(self) -> None:
        """Raise an error that names what is wrong with the settings, before a game depends on them."""
        self._config()
        if self.settings.network is not None:
            network_file(self.settings.network)

    def close(self) -> None:
        """End the search in progress."""
        if self._search is not None:
            self._search.close()

    # --- messages ---

    def _hello(self, message: dict[str, Any], _: float) -> dict[str, Any]:
        if (asked := message.get("protocol", PROTOCOL)) != PROTOCOL:
            raise BadMessageError(f"protocol must be {PROTOCOL}, not {short(asked)}")
        return {"type": "hello", "name": "ramify", "version": self.version, "protocol": PROTOCOL}

    def _game(self, message: dict[str, Any], _: float) -> dict[str, Any]:
        player = message.get("player")
        if isinstance(player, bool) or player not in (1, 2):
            raise BadMessageError(f"player must be 1 or 2, not {short(player)}")
        width, height = (whole(message, name) for name in ("width", "height"))
        game = make("pyrat", width=width, height=height, reward=self._reward())
        start = position(game, message)
        settings = self.settings
        search = AnytimeSearch(game, self._evaluator(game), self._config(), settings.seed)
        self.close()
        self._start, self._player, self._search = start, player - 1, search
        return {"type": "ready"}

    def _turn(self, message: dict[str, Any], received: float) -> dict[str, Any]:
        if self._start is None or self._search is None:
            raise BadMessageError("there is no game: send a message of type game first")
        seconds = limit(message.get("seconds", self.settings.seconds))
        maze = self._start.fields  # type: ignore[attr-defined]  # of a native state
        state = position(self._start.game, {**{name: maze[name] for name in MAZE}, **message})
        if state.is_over:
            raise BadMessageError("the game is over in this position")
        self._search.begin(state, received + seconds, seconds)
        (fallback,) = GreedyConfig().open(state.game).choose([Turn(state, self._player, 0)])  # while the search runs
        result = self._search.finish()
        if result is not None:
            pair = result.best_action
            assert isinstance(pair, tuple)
            found = {"simulations": result.stats["simulations"], "value": [round(float(v), 4) for v in result.value]}
            return {"type": "move", "move": DIRECTIONS[pair[self._player]], **found}
        why = self._search.failure
        note = "no search in time" if why is None else f"the search failed: {why}".partition("\n")[0]
        return {"type": "move", "move": DIRECTIONS[fallback], "simulations": 0, "note": note}

    def _quit(self, _: dict[str, Any], __: float) -> None:
        self.ended = True

    # --- searches ---

    def _config(self) -> SearchConfig:
        own: dict[str, Any] = {
            "simulations": self.settings.simulations,
            "max_nodes": self.settings.max_nodes,
            "graph": True,
        }
        if self.settings.network is None:  # what is best: docs/decisions/0053-greedy-rollouts.md
            own["normalize"] = "remaining"
        return SearchConfig(**{**own, **self.settings.search})

    def _reward(self) -> str:
        """What values are of: as the network was trained."""
        if self.settings.network is None:
            return "difference"
        return trained_reward(network_file(self.settings.network), "pyrat") or "cheese"

    def _evaluator(self, game: Game) -> Evaluator | NativeEvaluator:
        if self.settings.network is None:
            return Planner()
        return open_evaluator(game, self.settings.network, device="cpu", exact=False)


def read_message(line: str | bytes) -> dict[str, Any] | None:
    """The JSON object on a line; None for an empty line."""
    if len(line) > LONGEST:
        raise BadMessageError(f"a line has at most {LONGEST} bytes")
    try:
        text = line.decode() if isinstance(line, bytes) else line
        if not text.strip():
            return None
        message = json.loads(text, parse_constant=no_constant)
    except (ValueError, RecursionError) as error:
        raise BadMessageError(f"a line must be a JSON object: {error}") from None
    if not isinstance(message, dict):
        raise BadMessageError(f"a line must be a JSON object, not {short(message)}")
    return message


def no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def position(game: Game, message: Mapping[str, Any]) -> State:
    """The position of a message."""
    if missing := [name for name in NEEDED if name not in message]:
        raise BadMessageError(f"{missing[0]} is missing")
    parts = {name: message[name] for name in (*MAZE, *POSITION) if name in message}
    try:
        state: State = game.state(**parts)  # type: ignore[attr-defined]
    except (TypeError, OverflowError) as error:
        raise BadMessageError(str(error).partition("\n")[0]) from None
    return state


def whole(message: Mapping[str, Any], name: str) -> int:
    value = message.get(name)
    if isinstance(value, bool) or not isinstance(value, int):
        raise BadMessageError(f"{name} must be a whole number, not {short(value)}")
    return value


def limit(seconds: Any) -> float:
    number = isinstance(seconds, int | float) and not isinstance(seconds, bool)
    if not number or not math.isfinite(seconds) or not 0 < seconds <= SECONDS:
        raise BadMessageError(f"seconds must be a number above 0 and at most {SECONDS:g}, not {short(seconds)}")
    return float(seconds)


def short(value: Any) -> str:
    """A value in an error message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:59]}…"


def lines_of(source: BinaryIO) -> Iterator[bytes]:
    """Lines of a stream; of one that is too long only the beginning, which is too long as well."""
    while line := source.readline(LONGEST + 1):
        if len(line) > LONGEST and not line.endswith(b"\n"):
            while (rest := source.readline(LONGEST)) and not rest.endswith(b"\n"):
                pass
        yield line


def serve(bot: PyRatBot, source: BinaryIO, write: Callable[[str], object]) -> None:
    """Answer the lines of ``source`` until it ends, ``quit`` is received, or the output is closed."""
    try:
        for line in lines_of(source):
            if (reply := bot.answer(line)) is not None:
                write(json.dumps(reply) + "\n")
            if bot.ended:
                return
    except BrokenPipeError:
        return
    finally:
        bot.close()
