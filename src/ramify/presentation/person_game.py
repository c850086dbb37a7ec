"""A game of a person against an opponent: the positions so far, undo, resignation, and the game as a file holds it."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from ramify.games import State, number_of_players
from ramify.games.files import GameRecord, result_of


class PersonGame:
    """The state of such a game. ``side`` is the player that the person is; ``states`` has the position after every
    turn, and ``turns`` the actions between them."""

    def __init__(self, states: Sequence[State], side: int, turns: Sequence[tuple[int, ...]] = ()) -> None:
        self.states, self.turns, self.side = list(states), list(turns), side
        self.resigned = False

    @property
    def state(self) -> State:
        return self.states[-1]

    @property
    def over(self) -> bool:
        return self.resigned or self.state.is_over

    def legal(self) -> list[int]:
        """The actions that the person can play now."""
        mine = self.side in self.state.acting and not self.over
        return [int(a) for a in self.state.legal_actions(self.side)] if mine else []

    def apply(self, chosen: dict[int, int]) -> None:
        """Play one action per acting player."""
        state = self.state.copy()
        turn = tuple(chosen[player] for player in sorted(chosen))
        state.apply(*turn)
        self.turns.append(turn)
        self.states.append(state)

    def take_back(self) -> bool:
        """Back to where the person last had a choice; False if there is no such position. A resignation is taken back
        first."""
        if self.resigned:
            self.resigned = False
            return True
        before = [number for number, state in enumerate(self.states[:-1]) if self.side in state.acting]
        if not before:
            return False
        del self.states[before[-1] + 1 :], self.turns[before[-1] :]
        return True

    def game_record(self, opponent: str) -> GameRecord:
        """The game so far, as files hold it."""
        resigned = self.side if self.resigned else None
        names = ["You", opponent]
        return GameRecord(
            start=self.states[0],
            turns=tuple(self.turns),
            result=result_of(self.state, resigned),
            resigned=resigned,
            players=(names[self.side], names[1 - self.side]),
            date=date.today().isoformat(),
            person=self.side,
        )

    def ending(self) -> str:
        """How the game ended, for the person."""
        if self.resigned:
            return "You resigned"
        if number_of_players(self.state.game) == 1:
            return f"Your return: {float(self.state.returns[self.side]):g}"
        mine, other = (float(self.state.returns[player]) for player in (self.side, 1 - self.side))
        how = "You win" if mine > other else "You lose" if mine < other else "A draw"
        return f"{how} ({mine:g} to {other:g})"
