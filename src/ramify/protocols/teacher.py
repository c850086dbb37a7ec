"""A UCI engine as a teacher: its scores of a position as policy and value.

It is driven by plain reads and writes on its pipes, and of its output only the last line of each variation is parsed:
at a few hundred nodes a position, everything else would cost as much as the engine's search.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, Self

from pydantic import Field, model_validator

from ramify.base.settings import Settings
from ramify.protocols.process import EngineError, EngineOnDemand, EngineProcess
from ramify.protocols.uci_offers import check_options, read_offers

PAWN = 100.0  # centipawns
MATE = 8.0  # utility of the longest mate; the largest score of an evaluation is about 6
MATE_STEP, MATE_MOVES = 0.05, 40  # a mate one move shorter is worth this much more, up to so many moves
BOUNDS = (b"lowerbound", b"upperbound")
WIN_AT, SPREAD = 100.0, 35.0  # centipawns of an even chance to win, and how fast chances change around it


class TeachConfig(Settings):
    """How positions are chosen and labelled. The games are played by the teacher itself, at mixed strength."""

    what = "teaching"

    command: str = Field("stockfish", min_length=1, description="Command line that starts the engine.")
    options: dict[str, str | int | float | bool] = Field(
        {"Hash": 16}, description="UCI options of the engine. Threads, MultiPV and UCI_ShowWDL are set by themselves."
    )
    nodes: int = Field(2000, ge=1, description="Nodes of the search that labels a position.")
    multipv: int = Field(4, ge=1, le=255, description="Number of best moves that get a score; the others count as 0.")
    policy: Literal["multipv", "children"] = Field(
        "multipv",
        description=(
            "Where the policy comes from: the scores of the multipv best moves of one search, or a search of the "
            "position after every legal move."
        ),
    )
    temperature: float = Field(
        0.12,
        gt=0,
        description="Softmax temperature of the policy, over asinh(pawns): at 0.12, 12 centipawns are a factor e.",
    )
    label_share: float = Field(
        0.9, gt=0, le=1, description="Fraction of the positions of a game that is labelled; the rest is only played."
    )
    play_nodes: tuple[int, int] = Field(
        (20, 200), description="Least and most nodes of searches that only choose a move; drawn for each game."
    )
    play_temperature: tuple[float, float] = Field(
        (0.03, 0.5), description="Least and most softmax temperature of the moves that are played; drawn for each game."
    )
    random_shares: tuple[float, ...] = Field(
        (0.0, 0.0, 0.0, 0.03, 0.12), min_length=1, description="Shares of random moves, of which each game draws one."
    )
    opening_moves: int = Field(
        8, ge=0, description="Maximum number of random moves at the start; the number is drawn for each game."
    )
    decided_above: float = Field(
        0.95, ge=0, le=1, description="Size of the last value at which a game counts as decided."
    )
    decided_share: float = Field(
        0.25, ge=0, le=1, description="What label_share is multiplied with where a game is decided."
    )
    decided_moves: int = Field(8, ge=1, description="Moves after which a decided game is ended.")
    playthrough: float = Field(0.1, ge=0, le=1, description="Fraction of games that are played on though decided.")
    max_moves: int = Field(200, ge=1, le=10_000, description="Maximum number of moves of a game.")
    patience: float = Field(30.0, gt=0, description="Seconds without an answer after which the engine is restarted.")
    seed: int = Field(0, ge=0, lt=2**63, description="Seed of the games.")

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        for name in ("play_nodes", "play_temperature"):
            least, most = getattr(self, name)
            if not 0 < least <= most:
                raise ValueError(f"{name} must be the least and the most, both above 0, not {[least, most]}")
        if not all(0 <= share <= 1 for share in self.random_shares):
            raise ValueError("random_shares must lie between 0 and 1")
        return self


class Line(NamedTuple):
    """The score of a move, from the side of the player who moves."""

    move: str
    centipawns: int | None = None
    mate: int | None = None  # moves until the mate; negative: the player is mated
    wdl: tuple[int, int, int] | None = None  # chances of win, draw and loss in thousandths, as the engine tells them

    @property
    def utility(self) -> float:
        """A score on which temperatures act: asinh of pawns, with mates beyond, shorter ones further out."""
        if self.mate is None:
            return math.asinh((self.centipawns or 0) / PAWN)
        size = MATE + MATE_STEP * (MATE_MOVES - min(abs(self.mate), MATE_MOVES))
        return size if self.mate > 0 else -size

    @property
    def chances(self) -> tuple[float, float, float]:
        """Chances of win, draw and loss: the engine's own or, where it has none, a logistic function of its score.

        W = 1 / (1 + exp((100 - cp) / 35)), L the same with -cp, D = 1 - W - L: one pawn ahead wins half of the games.
        """
        if self.wdl is not None and sum(self.wdl) > 0:
            total = sum(self.wdl)
            return self.wdl[0] / total, self.wdl[1] / total, self.wdl[2] / total
        if self.mate is not None:
            return (1.0, 0.0, 0.0) if self.mate > 0 else (0.0, 0.0, 1.0)
        win, loss = (_logistic((sign * (self.centipawns or 0) - WIN_AT) / SPREAD) for sign in (1, -1))
        return win, 1 - win - loss, loss


def _logistic(x: float) -> float:
    return 1 / (1 + math.exp(-max(-60.0, min(60.0, x))))


def softmax(utilities: Sequence[float], temperature: float) -> list[float]:
    """Weights in proportion to exp(utility / temperature), the largest of which is 1."""
    largest = max(utilities)
    return [math.exp((utility - largest) / temperature) for utility in utilities]


def parse_lines(output: Sequence[bytes], most: int) -> list[Line]:
    """The last exact score of each of the first ``most`` variations, best first; a bound if there is nothing else."""
    exact: dict[int, Line] = {}
    bounds: dict[int, Line] = {}
    for raw in reversed(output):
        if not raw.startswith(b"info ") or b" pv " not in raw or b" score " not in raw:
            continue
        number, line, bound = _parse(raw)
        (bounds if bound else exact).setdefault(number, line)
        if len(exact) == most:
            break
    found = {**bounds, **exact}
    return [found[number] for number in sorted(found)]


def _parse(raw: bytes) -> tuple[int, Line, bool]:
    """Number of the variation, its score, and whether that is only a bound."""
    kind, score, *more = raw[raw.index(b" score ") + 7 :].split(None, 7)
    bound = more[0] in BOUNDS
    chances = more[1:] if bound else more
    wdl = None
    if chances[0] == b"wdl":
        wdl = (int(chances[1]), int(chances[2]), int(chances[3]))
    number = raw.find(b" multipv ")
    at = raw.index(b" pv ") + 4
    move = raw[at:].split(None, 1)[0].decode("ascii", "replace")
    line = Line(move, None, int(score), wdl) if kind == b"mate" else Line(move, int(score), None, wdl)
    return 1 if number < 0 else int(raw[number + 9 :].split(None, 1)[0]), line, bound


class Teacher(EngineOnDemand):
    """A running engine. After a failure it is started again at the next call."""

    def __init__(self, config: TeachConfig) -> None:
        super().__init__(config.command)
        self.config = config
        self.name = ""

    def new_game(self) -> None:
        """Forget earlier games, so that the labels of a game do not depend on those before it."""
        process, deadline = self._running(), self._deadline()
        process.send("ucinewgame\nisready", deadline)
        process.read_until(b"readyok", deadline)

    def lines(self, fen: str, nodes: int, most: int | None = None) -> list[Line]:
        """Scores of the best moves of a position, best first; raises EngineError, also if there are none."""
        process, deadline = self._running(), self._deadline()
        try:
            process.send(f"position fen {fen}\ngo nodes {nodes}", deadline)
            found = parse_lines(process.read_until(b"bestmove", deadline), most or self.config.multipv)
        except (ValueError, IndexError):  # of numbers that are none, or lines that end early
            raise EngineError(f"the engine {self.config.command!r} wrote a score that cannot be read") from None
        if not found:
            raise EngineError(f"the engine {self.config.command!r} gave no score in {fen}")
        return found

    def _deadline(self) -> float:
        return time.monotonic() + self.config.patience

    def _greet(self, process: EngineProcess) -> None:
        deadline = self._deadline()
        process.send("uci", deadline)
        known = process.read_until(b"uciok", deadline)
        for line in known:
            if line.startswith(b"id name "):
                self.name = line[8:208].decode("utf-8", "replace").strip()
        offers = read_offers(line.decode("utf-8", "replace") for line in known)
        usual_options = type(self.config).model_fields["options"].default
        chosen = {name: value for name, value in self.config.options.items() if usual_options.get(name) != value}
        check_options(self.config.command, offers, chosen)
        usual: dict[str, Any] = {"Threads": 1, "MultiPV": self.config.multipv, "UCI_ShowWDL": True}
        if self.config.policy == "children":
            usual["MultiPV"] = 1
        wanted = {name: value for name, value in usual.items() if name.lower() in offers}
        for name, value in {**wanted, **self.config.options}.items():
            text = str(value).lower() if isinstance(value, bool) else value
            process.send(f"setoption name {name} value {text}", deadline)
        process.send("isready", deadline)
        process.read_until(b"readyok", deadline)
