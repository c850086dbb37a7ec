"""The report of check_game."""

from __future__ import annotations

from dataclasses import dataclass, field
from textwrap import indent

from ramify.games.broken import BrokenGame

Turn = tuple[int, ...]  # one action per acting player

PROMISES = {
    "declaration": "name, params, num_actions, observation_shape, simultaneous, the stakes and state.game are right",
    "acting": "acting is (0,), (1,), (0, 1) or (), and is_over and current_player agree with it",
    "legal actions": "state.legal_actions is int32, ascending, in range, empty only where passive; legal_mask agrees",
    "observation": "state.observation is finite float32 of observation_shape, for both players",
    "rewards": "apply gives finite float32[2] as zero_sum and returns_range say; returns is their sum, and winner fits",
    "playing": "initial_state and apply of legal actions raise nothing",
    "ending": "every game ends, and every call returns",
    "text": "str(state) and state.svg() give texts",
    "determinism": "the same seed and the same actions give the same game",
    "copies": "copies, after(...) and arrays given out are independent of the state",
    "illegal actions": "what cannot be played raises IllegalAction and changes nothing",
    "pickling": "a pickled game or state comes back equal",
    "fields": "game.state(**state.fields) gives the state back, returns included",
    "names": "legal actions have different names, and state.action(name) and apply(name) invert them",
    "outcomes": "outcomes group the legal actions, and actions of one outcome have one effect",
    "keys": "key has 64 bits; equal keys mean equal observations, legal actions and, up to repetition, futures",
    "chance": "chance events have outcomes with positive probabilities that sum to 1, and each of them can follow",
    "symmetries": "symmetries are permutations, the identity first, and commute with apply",
}
LONGEST_HISTORY = 200  # turns that are printed
LONGEST_TEXT = 4000  # characters of a position or a finding that are printed


@dataclass(frozen=True)
class Problem:
    """A violation of the protocol, and how to reproduce it."""

    promise: str  # one of PROMISES
    seen: str
    text: str = ""  # of the position
    seed: int | None = None
    history: tuple[Turn, ...] = ()  # from initial_state(seed) to the position
    error: BaseException | None = field(default=None, repr=False, compare=False)

    def __str__(self) -> str:
        lines = [f"{self.promise}: {_cut(self.seen)}", f"  expected: {PROMISES[self.promise]}"]
        if self.seed is not None:
            lines.append(f"  state = game.initial_state(seed={self.seed})")
            if len(self.history) > LONGEST_HISTORY:
                shown = f"for actions in problem.history: state.apply(*actions)  # {len(self.history)} turns"
                lines.append(f"  {shown}; problem is one of report.problems")
            elif self.history:
                lines.append(f"  for actions in {list(self.history)}: state.apply(*actions)")
        return "\n".join(lines) + (f"\n{indent(_cut(self.text), '    ')}" if self.text else "")


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} … ({len(text)} characters)"


@dataclass(frozen=True)
class Report:
    """Report of check_game: ``ok``, ``problems``, and ``warnings`` that are not violations."""

    game: str
    games: int = 0  # played to their end
    turns: int = 0
    positions: int = 0  # examined in full
    transpositions: int = 0  # pairs of paths to one key, compared
    problems: tuple[Problem, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def raise_if_broken(self) -> None:
        """Raise BrokenGame if there are problems, with the first error of the game's code as its cause."""
        if not self.ok:
            causes = [problem.error for problem in self.problems if problem.error]
            raise BrokenGame(str(self), report=self) from (causes[0] if causes else None)

    def __str__(self) -> str:
        verdict = "no problems found" if self.ok else "PROBLEMS FOUND"
        lines = [
            f"{self.game}: {verdict} in {self.games} games ({self.turns} turns, {self.positions} positions "
            f"examined, {self.transpositions} transpositions)"
        ]
        lines += [f"problem: {problem}" for problem in self.problems]
        lines += [f"warning: {warning}" for warning in self.warnings]
        return "\n".join(lines)
