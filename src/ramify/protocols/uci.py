"""A chess engine over UCI, the protocol of chess programs."""

from __future__ import annotations

import io
import logging
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from ramify.chess import MaterialEvaluator, check_network, chess_evaluator
from ramify.engine import SearchConfig, Searcher
from ramify.engine.batch import Evaluator, NativeEvaluator
from ramify.engine.batching import accelerated
from ramify.games import State, make
from ramify.protocols.anytime import AnytimeSearch, Turns
from ramify.protocols.gtp import LONGEST, lines_of
from ramify.protocols.tablebases import TablebaseHit, Tablebases
from ramify.protocols.uci_limits import Limits
from ramify.protocols.uci_options import BUTTONS, SHOWN_ONLY, UciSettings, changed, option_lines
from ramify.protocols.uci_search import Task, UciSearch

START = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1"
WARM_UP, WARM_SECONDS = 8, 5.0  # batches that are evaluated before the first search, and the longest time for that
CLAIMED = ("threefold_repetition", "fifty_moves")  # draws that nobody may have claimed

log = logging.getLogger("ramify")


class UciEngine:
    """The state of the engine, and its commands. ``execute`` never raises and never waits for a search to end, except
    where a command cannot be executed during one: then the search is stopped first."""

    def __init__(self, write: Callable[[str], None], settings: UciSettings | None = None, version: str = "") -> None:
        self.settings = settings if settings is not None else UciSettings()
        self.settings.search_config(False)  # this and what follows raises now on a wrong setting
        check_network(self.settings.network)
        self.ended = False
        self._output, self._version = write, version
        self._writing = threading.Lock()
        self._game: Any = make("chess")
        self._fen, self._moves = START, list[str]()
        self._state: State = self._game.initial_state()
        self._searched: tuple[str, list[str]] | None = None  # fen and moves of the last search
        self._evaluator: Evaluator | NativeEvaluator | None = None
        self._search: AnytimeSearch | None = None
        self._warm: tuple[object, int] | None = None  # evaluator and size of batches that were used already
        self._tablebases: Tablebases | None = None
        self._current: UciSearch | None = None
        self._commands: dict[str, Callable[[list[str]], None]] = {
            "uci": self._uci,
            "debug": self._ignore,
            "isready": self._isready,
            "setoption": self._setoption,
            "register": self._ignore,
            "ucinewgame": self._ucinewgame,
            "position": self._position,
            "go": self._go,
            "stop": self._stop,
            "ponderhit": self._ponderhit,
            "quit": self._quit,
            "d": self._show,
        }

    def execute(self, line: str) -> None:
        """Execute a line. As the protocol asks, words before the first known command are skipped."""
        received, words = time.monotonic(), line[:LONGEST].split()
        known = next((number for number, word in enumerate(words) if word in self._commands), None)
        if known is None:
            if words:
                self._say(f"unknown command: {' '.join(words)[:60]}; the commands are {', '.join(self._commands)}")
            return
        try:
            if len(line) > LONGEST:
                raise ValueError(f"a line has at most {LONGEST} characters")
            self._received = received
            self._commands[words[known]](words[known + 1 :])
        except (ValueError, TypeError, OverflowError, ImportError, OSError, RuntimeError) as refusal:
            log.debug("refused %r", line[:200], exc_info=True)
            self._say(f"{words[known]}: {str(refusal).partition(chr(10))[0] or type(refusal).__name__}")
        except Exception as error:  # a chess program must not die in the middle of a game
            log.exception("while executing %r", line[:200])
            self._say(f"internal error: {type(error).__name__}: {error}".partition("\n")[0])

    def finish(self) -> None:
        """Wait for a search that ends by itself, and stop one that does not."""
        if self._current is not None:
            if self._current.never_ends:
                self._current.stop()
            self._current.done.wait()

    def close(self) -> None:
        """Stop the search in progress, and wait for its answer."""
        self._end_search()
        if self._search is not None:
            self._search.stop()
        if self._tablebases is not None:
            self._tablebases.close()

    # --- commands ---

    def _uci(self, _: list[str]) -> None:
        lines = [f"id name ramify {self._version}".rstrip(), "id author the ramify authors"]
        self._write("\n".join([*lines, *option_lines(self.settings), "uciok"]))

    def _isready(self, _: list[str]) -> None:
        if self._current is None or self._current.done.is_set():
            self._prepare()
        self._write("readyok")

    def _setoption(self, words: list[str]) -> None:
        if not words or words[0] != "name":
            raise ValueError("expected: setoption name NAME value VALUE")
        at = words.index("value") if "value" in words else len(words)
        name, value = " ".join(words[1:at]), " ".join(words[at + 1 :])
        self._end_search()
        if name.lower() in (button.lower() for button in BUTTONS):
            return self._forget()
        before, settings = self.settings, changed(self.settings, name, value)
        settings.search_config(False)  # this and what follows raises on a value that cannot be used
        if settings.network != before.network:
            self._evaluator = self._open(settings.network)
        if settings.syzygy != before.syzygy:
            self._open_tablebases(settings.syzygy)
        self.settings = settings
        kept = settings.model_dump(exclude=set(SHOWN_ONLY)) == before.model_dump(exclude=set(SHOWN_ONLY))
        self._search = self._search if kept else None
        return None

    def _ucinewgame(self, _: list[str]) -> None:
        self._end_search()
        self._forget()

    def _position(self, words: list[str]) -> None:
        self._end_search()
        at = words.index("moves") if "moves" in words else len(words)
        how, moves = words[:at], words[at + 1 :]
        if how == ["startpos"]:
            fen = START
        elif how[:1] == ["fen"]:
            fen = " ".join(how[1:])
        else:
            raise ValueError("expected: position startpos, or position fen FEN, each with or without moves MOVE ...")
        state = self._game.state(fen)
        for move in moves:
            state = self._after(state, move)
        self._fen, self._moves, self._state = fen, moves, state

    def _name_illegal(self, state: State, moves: Sequence[str]) -> None:
        """Say which of the moves to search are not legal."""
        names = {state.action_name(action) for action in state.legal_actions()}
        if illegal := [move for move in moves if move not in names]:
            rest = "" if len(illegal) < len(moves) else ", so all moves are searched"
            self._say(f"go: not legal here: {', '.join(illegal)[:100]}{rest}")

    def _go(self, words: list[str]) -> None:
        self._end_search()
        limits = Limits.read(words)
        if limits.unknown:
            self._say(f"go: ignored {', '.join(limits.unknown)[:100]}")
        state = without_claims(self._game, self._state)
        if limits.moves:
            self._name_illegal(state, limits.moves)
        if state.is_over:
            self._write(f"bestmove {dead_move(state)}")
            return
        self._prepare()
        assert self._search is not None
        known = None if limits.moves else self._probe(state)
        task = Task(state, self._turns(), limits, self._received, known)
        self._searched = self._fen, self._moves
        self._current = UciSearch(task, self.settings, self._search, self._write)
        self._current.start()

    def _stop(self, _: list[str]) -> None:
        if self._current is not None:
            self._current.stop()

    def _ponderhit(self, _: list[str]) -> None:
        if self._current is not None:
            self._current.ponderhit()

    def _quit(self, _: list[str]) -> None:
        self.ended = True

    def _show(self, _: list[str]) -> None:
        """Not of the protocol: the board, for people."""
        self._write(f"{self._state}\nfen {self._state.fields['fen']}")  # type: ignore[attr-defined]

    def _ignore(self, _: list[str]) -> None:
        """Nothing to do."""

    # --- positions ---

    def _after(self, state: State, move: str) -> State:
        """The position after a move, also where a draw could have been claimed before it."""
        state = without_claims(self._game, state)
        found = state.copy()
        try:
            found.apply(move)
        except ValueError:
            raise ValueError(f"{move[:20]} is not a legal move in {state.fields['fen']}") from None  # type: ignore[attr-defined]
        return found

    def _turns(self) -> Turns:
        """What was played since the last search, if this position continues it."""
        if self._searched is None or self._searched[0] != self._fen:
            return []
        before = self._searched[1]
        if self._moves[: len(before)] != before or len(self._moves) == len(before):
            return []
        state = self._game.state(self._fen)
        turns = []
        for number, move in enumerate(self._moves):
            state = without_claims(self._game, state)
            if number >= len(before):
                turns.append((state.action(move),))
            state.apply(move)
        return turns

    # --- searching ---

    def _prepare(self) -> None:
        """Load what a search needs, so that the clock is not running meanwhile."""
        if self._evaluator is None:
            try:
                self._evaluator = self._open(self.settings.network)
            except (ValueError, ImportError, OSError, RuntimeError) as error:
                self._say(f"no network, so that moves are chosen by material: {str(error).partition(chr(10))[0]}")
                self._evaluator = MaterialEvaluator()
        if self._tablebases is None and self.settings.syzygy:
            try:
                self._open_tablebases(self.settings.syzygy)
            except (ValueError, ImportError, OSError) as error:
                self._say(f"no tablebases: {error}")
                self.settings = self.settings.replace(syzygy="")
        if self._search is None:
            config = self.settings.search_config(accelerated(self._evaluator))
            game, seed = self._game, self.settings.seed
            self._search = AnytimeSearch(game, self._evaluator, config, seed, progress=self._between_batches)
            self._searched = None
            self._warm_up(self._search.searcher.config)

    def _open(self, network: str) -> Evaluator | NativeEvaluator:
        evaluator, _ = chess_evaluator(network)
        return evaluator

    def _warm_up(self, config: SearchConfig) -> None:
        """Search a little: the first evaluations of a network, in batches of each size, take the longest."""
        assert self._evaluator is not None
        if self._warm == (self._evaluator, config.batch_size):
            return
        self._warm = self._evaluator, config.batch_size
        short = config.replace(simulations=WARM_UP * config.batch_size, max_seconds=WARM_SECONDS)
        try:
            Searcher(self._game, self._evaluator, short).run(self._game.initial_state())
        except Exception as error:  # of the evaluator: every search will say so
            log.debug("while warming up: %s", error, exc_info=True)

    def _open_tablebases(self, folders: str) -> None:
        opened = Tablebases(folders) if folders else None
        if self._tablebases is not None:
            self._tablebases.close()
        self._tablebases = opened
        if self._tablebases is not None:
            self._say(f"found {self._tablebases.files} tablebase files")

    def _probe(self, state: State) -> TablebaseHit | None:
        return None if self._tablebases is None else self._tablebases.probe(state.board)  # type: ignore[attr-defined]

    def _between_batches(self) -> None:
        if (current := self._current) is not None:
            current.between_batches()

    def _end_search(self) -> None:
        if self._current is not None:
            self._current.stop()
            self._current.done.wait()
            self._current = None

    def _forget(self) -> None:
        """Discard what is known from earlier searches."""
        if self._search is not None:
            self._search.close()
        self._search = self._searched = None

    # --- output ---

    def _say(self, text: str) -> None:
        self._write(f"info string {text}")

    def _write(self, text: str) -> None:
        with self._writing:
            try:
                self._output(text + "\n")
            except (BrokenPipeError, ValueError):  # nobody listens any more: the reader ends the program
                self.ended = True
                if self._current is not None:
                    self._current.stop()


def without_claims(game: Any, state: State) -> State:
    """The position as one in which the game goes on, where only the claim of a draw would have ended it."""
    if not state.is_over:
        return state
    fields = state.fields  # type: ignore[attr-defined]  # of a native state
    if fields["reason"] not in CLAIMED:
        return state
    pieces = fields["fen"].split()
    fresh: State = game.state(" ".join([*pieces[:4], "0", pieces[5]]))
    return fresh


def dead_move(state: State) -> str:
    """The answer in a position where the game is over: a legal move if there is one, for clients that play on."""
    try:
        legal = [move.uci() for move in state.board.legal_moves]  # type: ignore[attr-defined]
    except ImportError:
        legal = []
    return str(legal[0]) if legal else "(none)"


def serve(engine: UciEngine, source: io.RawIOBase) -> None:
    """Execute the commands of ``source`` until it ends or ``quit`` is received.

    At the end of the input, a search with a limit is waited for, so that commands can be piped into the program.
    """
    try:
        for line in lines_of(source):
            engine.execute(line)
            if engine.ended:
                return
        engine.finish()
    finally:
        engine.close()
