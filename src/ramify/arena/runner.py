"""Parallel games in one process: in each round, every player chooses actions for all of its turns at once."""

from __future__ import annotations

import operator
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from ramify import _core
from ramify.arena.played import Fixture, Limits, Played, Winner
from ramify.arena.player import Choice, Player, PlayerConfig, Turn
from ramify.base.seeds import derive
from ramify.games import BrokenGame, Game, State
from ramify.games.ending import MOST_TURNS, endless
from ramify.games.failures import game_failure

Finish = Callable[[Played], None]
LONGEST = 360  # characters of what is kept of an error


@dataclass
class Running:
    """A game in progress."""

    fixture: Fixture
    state: State
    actions: list[tuple[int, ...]]
    seconds: list[float] = field(default_factory=lambda: [0.0, 0.0])
    chosen: dict[int, Choice | Exception] = field(default_factory=dict)  # by player, in this round
    favourites: list[Winner] = field(default_factory=list)  # whom each turn's values call the winner, if anybody
    values: list[float | None] = field(default_factory=list)  # see Played

    def turns(self) -> list[Turn]:
        ply = len(self.actions)
        return [Turn(self.state, player, derive(self.fixture.seed, ply, player), ply) for player in self.state.acting]

    def ended(self, winner: Winner, reason: Any = "end", detail: str = "") -> Played:
        first, second = (float(value) for value in self.state.returns)
        seconds = (self.seconds[0], self.seconds[1])
        values = (*[None] * (len(self.actions) - len(self.values)), *self.values)  # the opening's have none
        return Played(self.fixture, tuple(self.actions), (first, second), winner, reason, detail, seconds, values)

    def note_values(self, taken: Mapping[int, Choice]) -> None:
        """Remember what the player who acts alone expects, for player 0."""
        (player, choice), *others = taken.items()
        known = choice.value if not others else None
        self.values.append(known if known is None or player == 0 else -known)


class MatchRunner:
    """Plays games in parallel. A game does not depend on the games played at the same time."""

    def __init__(self, game: Game, players: Mapping[str, Player]) -> None:
        self.game = game
        self.players = dict(players)
        self._running: list[Running] = []

    @classmethod
    def open(cls, game: Game, configs: Sequence[PlayerConfig]) -> MatchRunner:
        """A runner with these players opened. Raises a ValueError if one of them cannot play the game."""
        players: dict[str, Player] = {}
        try:
            for config in configs:
                if config.identity not in players:
                    players[config.identity] = config.open(game)
        except BaseException:
            close_all(players.values())
            raise
        return cls(game, players)

    def __len__(self) -> int:
        return len(self._running)

    def add(self, fixture: Fixture) -> None:
        """Start another game."""
        if missing := [one for one in fixture.players if one not in self.players]:
            raise ValueError(
                f"unknown player {missing[0]}: its network file may have changed since the match was set up"
            )
        state, actions = fixture.opening.play(self.game)
        self._running.append(Running(fixture, state, actions))

    def round(self) -> list[Played]:
        """Play one turn in every game; returns the games that ended."""
        asked: dict[str, list[tuple[Running, Turn]]] = {}
        for running in self._running:
            running.chosen.clear()
            for turn in running.turns():
                asked.setdefault(running.fixture.players[turn.player], []).append((running, turn))
        for identity, questions in asked.items():
            self._ask(self.players[identity], questions)
        finished, going = [], []
        for running in self._running:
            played = advance(running)
            if played is None:
                going.append(running)
            else:
                finished.append(played)
        self._running = going
        return finished

    def _ask(self, player: Player, questions: list[tuple[Running, Turn]]) -> None:
        """A player's actions in all of its games. After an error, turns are tried one by one to isolate it."""
        start = time.perf_counter()
        answers = choices(player, [turn for _, turn in questions])
        if isinstance(answers, Exception):
            single = [choices(player, [turn]) for _, turn in questions] if len(questions) > 1 else [answers]
            found = [answer if isinstance(answer, Exception) else answer[0] for answer in single]
        else:
            found = list(answers)
        share = (time.perf_counter() - start) / len(questions)
        for (running, turn), choice in zip(questions, found, strict=True):
            running.chosen[turn.player] = choice
            running.seconds[turn.player] += share

    def close(self) -> None:
        """Close the players; games in progress are lost."""
        close_all(self.players.values())


def deliver(finished: Sequence[Played], finish: Finish) -> None:
    """Pass on finished games, all of them even if Ctrl-C arrives in between."""
    left = deque(finished)
    try:
        while left:
            finish(left[0])
            left.popleft()
    except KeyboardInterrupt:
        for played in left:  # the first one again: it may not have been completed
            finish(played)
        raise


def close_all(players: Iterable[Player]) -> None:
    for player in players:
        try:
            player.close()
        except Exception:  # the others must be closed too
            continue


def choices(player: Player, turns: list[Turn]) -> list[Choice] | Exception:
    """A player's choices, or its error. The player gets copies of the states, so it cannot change a game."""
    lent = [Turn(turn.state.copy(), turn.player, turn.seed, turn.ply) for turn in turns]
    try:
        consider = getattr(player, "consider", None)
        answers = list(consider(lent)) if consider is not None else [Choice(action) for action in player.choose(lent)]
        if len(answers) != len(turns):
            raise ValueError(
                f"choose() must return one action per turn: {len(turns)} turns, but {len(answers)} actions"
            )
    except Exception as error:
        if (sentence := game_failure(error)) is not None:
            raise BrokenGame(sentence) from error  # nobody can play on: that is no player's fault
        return error
    return answers


def advance(running: Running) -> Played | None:
    """Apply the chosen actions; returns the game if it ended."""
    state = running.state
    problems = {player: problem(state, player, running.chosen[player]) for player in state.acting}
    guilty = [player for player, text in problems.items() if text]
    if guilty:
        detail = "; ".join(
            f"player {player} at turn {len(running.actions) + 1}: {problems[player]}" for player in guilty
        )
        return running.ended(None if len(guilty) == 2 else 1 - guilty[0], "forfeit", detail)  # type: ignore[arg-type]
    taken = {player: choice for player, choice in running.chosen.items() if isinstance(choice, Choice)}
    actions = tuple(operator.index(taken[player].action) for player in state.acting)
    state.apply(*actions)
    running.actions.append(actions)
    running.note_values(taken)
    if state.is_over:
        return running.ended(cast(Winner, state.winner))
    limits = running.fixture.limits
    if (winner := agreed(running, taken, limits)) is not None:
        return running.ended(winner, "adjudicated")
    if limits.max_moves is not None and len(running.actions) >= limits.max_moves:
        return running.ended(None, "cut", f"after {len(running.actions)} turns")
    native = isinstance(state, _core.State)  # these games end by their rules
    if limits.max_moves is None and len(running.actions) >= MOST_TURNS and not native:
        raise endless(state.game, "set max_moves (--max-moves N) to end such games as draws")
    return None


def problem(state: State, player: int, choice: Choice | Exception) -> str:
    """The error in a choice; empty if it is legal."""
    if isinstance(choice, Exception):
        text = shortened(str(choice).strip().partition("\n")[0])
        return f"{type(choice).__name__}: {text}" if text else type(choice).__name__
    try:
        action = -1 if isinstance(choice.action, bool) else operator.index(choice.action)
    except TypeError:
        action = -1
    if action not in state.legal_actions(player):
        return f"{shortened(repr(choice.action))} is no legal action"
    return ""


def shortened(text: str) -> str:
    """A text of bounded length that keeps its beginning and its end."""
    if len(text) <= LONGEST:
        return text
    return f"{text[: LONGEST // 3]} … {text[-(2 * LONGEST // 3) :]}"


def agreed(running: Running, taken: Mapping[int, Choice], limits: Limits) -> Winner:
    """The winner on which both players' values have agreed for long enough; None if there is none."""
    if limits.adjudicate_above is None:
        return None
    running.favourites.append(favourite(taken, limits.adjudicate_above))
    last = running.favourites[-limits.adjudicate_moves :]
    same = len(last) == limits.adjudicate_moves and all(winner == last[0] for winner in last)
    return last[0] if same else None


def favourite(taken: Mapping[int, Choice], above: float) -> Winner:
    """The winner according to the values of one turn; None if a value is missing or they disagree."""
    found: set[Winner] = set()
    for player, choice in taken.items():
        if choice.value is None or abs(choice.value) < above:
            return None
        found.add(player if choice.value > 0 else 1 - player)  # type: ignore[arg-type]
    return found.pop() if len(found) == 1 else None
