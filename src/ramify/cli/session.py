"""One person at the terminal and one opponent: what is typed, what is shown."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ramify.arena import Turn
from ramify.cli.common import explain, print_position
from ramify.cli.debug import print_traceback
from ramify.cli.heat import SHOWN, heat_text, ranking
from ramify.cli.opponents import Opponent, action_of, fresh
from ramify.cli.watch import colour, sides
from ramify.engine import Searcher, SearchResult
from ramify.games import State
from ramify.games.notation import read_action

HELP = """\
a move       play it by its name (#NUMBER for an action by its number)
hint         what the search would play, and why
heat         how often the search looked at each move
moves        every legal move
board        the position again
undo         take your last move back
again        ask an opponent that has failed once more
new          another game
save FILE    write the game down
quit         or Ctrl-D, or Ctrl-C (which a hint or heat that takes long answers with what it has)"""


class OpponentError(Exception):
    """The opponent has no answer, or none that can be played."""


class PlaySession:
    """Games of a person against an opponent. ``start`` gives the first position of the game of that number."""

    def __init__(self, start: Callable[[int], State], side: int, opponent: Opponent, adviser: Searcher) -> None:
        self.start, self.side, self.opponent, self.adviser = start, side, opponent, adviser
        self.console = Console(highlight=False)
        self.games = 0
        self.states = [start(0)]  # after every turn
        self.turns: list[str] = []  # names of what was played
        self.advice: SearchResult | None = None
        self.commands: dict[str, Callable[[], None]] = {
            "hint": self.hint,
            "heat": self.heat,
            "moves": self.moves,
            "board": self.show,
            "undo": self.undo,
            "again": self.again,
            "new": self.new,
            "help": lambda: self.say(HELP),
        }

    @property
    def state(self) -> State:
        return self.states[-1]

    def run(self) -> None:
        """Until the person leaves."""
        who = sides(self.state.game)
        self.say(
            f"You are {who[self.side]} (player {self.side}), against {self.opponent.name}. 'help' says what to type."
        )
        self.show()
        try:
            going = self.safely(self.answer)
            while going:
                going = self.safely(self.read_line)
        except (EOFError, KeyboardInterrupt):
            self.console.print()
        self.say("Good bye.")

    def safely(self, work: Callable[[], bool | None]) -> bool:
        """Whether to go on. An opponent that fails ends nothing: the person decides what becomes of the game."""
        try:
            return work() is not False
        except OpponentError as error:
            print_traceback(error)
            self.say(f"The opponent has failed: {error}")
            self.say("'again' asks it once more, 'undo' takes your last move back, 'save FILE' writes the game down.")
            return True

    def read_line(self) -> bool:
        """One line of input; False to leave."""
        mine = self.side in self.state.acting
        line = input(f"{'over' if self.state.is_over else 'your move' if mine else 'opponent to move'}> ").strip()
        word, _, rest = line.partition(" ")
        if word in ("quit", "exit"):
            return False
        if word in self.commands and not rest:
            self.commands[word]()
        elif word == "save":
            self.save(rest.strip())
        elif line:
            self.play(line)
        return True

    # --- turns ---

    def play(self, name: str) -> None:
        """The person's action, and the opponent's."""
        if self.state.is_over:
            return self.say("The game is over: 'new' starts another one, 'undo' takes your last move back.")
        if self.side not in self.state.acting:
            return self.say("It is the opponent's turn: 'again' asks it once more.")
        action = self.find(name)
        if action is None:
            return self.say(f"{name!r} is no legal move here: 'moves' lists them, 'help' all commands.")
        both = len(self.state.acting) == 2
        other, remark = self.opponent_chooses() if both else (None, "")
        self.apply({self.side: action} if other is None else {self.side: action, 1 - self.side: other})
        if other is not None:
            self.say(f"Opponent: {self.turns[-1].split('/')[1 - self.side]}" + (f" ({remark})" if remark else ""))
            self.show()
        return self.answer()

    def find(self, name: str) -> int | None:
        """The legal action of that name."""
        try:
            action = read_action(self.state, name, self.side)
        except ValueError:  # F6 for f6, where only one is meant
            alike = [a for a in self.legal() if self.state.action_name(a, self.side).lower() == name.lower()]
            return alike[0] if len(alike) == 1 else None
        return action if action in self.legal() else None

    def answer(self) -> None:
        """The opponent's turns, until it is the person's or the game is over."""
        played = False
        while self.state.acting == (1 - self.side,):
            action, remark = self.opponent_chooses()
            self.apply({1 - self.side: action})
            self.say(f"Opponent: {self.turns[-1]}" + (f" ({remark})" if remark else ""))
            played = True
        if played or (self.state.is_over and self.turns and len(self.states[-2].acting) == 1):
            self.show()
        if self.state.is_over:
            self.say(self.ending())

    def opponent_chooses(self) -> tuple[int, str]:
        turn = Turn(self.state.copy(), 1 - self.side, len(self.states))
        try:
            with self.console.status("thinking") if self.console.is_terminal else nullcontext():
                action, remark = self.opponent.choose(turn)
        except Exception as error:  # of a program, or a player, that somebody else has written
            raise OpponentError(explain(error) or type(error).__name__) from error
        if action not in self.state.legal_actions(1 - self.side):
            raise OpponentError(f"it answers {action!r}, which is no legal move")
        return action, remark

    def apply(self, chosen: dict[int, int]) -> None:
        """Play one action per acting player."""
        state = self.state.copy()
        players = sorted(chosen)
        self.turns.append("/".join(state.action_name(chosen[player], player) for player in players))
        state.apply(*(chosen[player] for player in players))
        self.states.append(state)
        self.advice = None

    # --- commands ---

    def undo(self) -> None:
        """Back to where the person last had a choice."""
        before = [number for number, state in enumerate(self.states[:-1]) if self.side in state.acting]
        if not before:
            return self.say("There is no move of yours to take back.")
        del self.states[before[-1] + 1 :], self.turns[before[-1] :]
        self.advice = None
        return self.show()

    def again(self) -> None:
        """The opponent's turn, which it has not taken."""
        if self.side in self.state.acting or self.state.is_over:
            return self.say("It is not the opponent's turn.")
        return self.answer()

    def new(self) -> None:
        self.games += 1
        self.states, self.turns, self.advice = [self.start(self.games)], [], None
        self.show()
        self.answer()

    def moves(self) -> None:
        names = [self.state.action_name(int(a), self.side) for a in self.legal()]
        self.say(" ".join(names) or "There are none: the game is over.")

    def legal(self) -> list[int]:
        return [int(a) for a in self.state.legal_actions(self.side)] if self.side in self.state.acting else []

    def hint(self) -> None:
        if (found := self.advise()) is not None:
            mine = action_of(found, self.side)
            value = float(found.value[self.side])
            proof = "" if found.proven is None else ", proven"
            self.say(f"{self.state.action_name(mine, self.side)} (you can expect {value:+.2f}{proof})")
            self.console.print(ranking(self.state, found, SHOWN))

    def heat(self) -> None:
        if (found := self.advise()) is not None:
            print_position(self.console, heat_text(self.state, found))

    def advise(self) -> SearchResult | None:
        """What the search finds here, once per position; Ctrl-C shows what it has found so far."""
        if self.state.is_over:
            self.say("The game is over.")
            return None
        if self.advice is None:
            found = fresh(self.adviser, self.state, on_interrupt="return")
            if found.stats["interrupted"]:
                return found  # asked again, it searches again
            self.advice = found
        return self.advice

    def save(self, file: str) -> None:
        """The game as JSON: what it is and what was played, by name."""
        if not file:
            return self.say("save FILE writes the game down: say where.")
        game = self.state.game
        content = {
            "game": game.name,
            "parameters": game.params,
            "start": getattr(self.states[0], "fields", str(self.states[0])),
            "actions": self.turns,
            "player": self.side,
            "returns": [float(value) for value in self.state.returns],
            "over": self.state.is_over,
        }
        try:
            Path(file).expanduser().write_text(json.dumps(content, indent=2, default=str) + "\n", encoding="utf-8")
        except OSError as error:
            return self.say(f"cannot write {file}: {error.strerror}")
        return self.say(f"Written to {file}.")

    # --- showing ---

    def show(self) -> None:
        print_position(self.console, colour(str(self.state)))

    def say(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)

    def ending(self) -> str:
        mine, other = (float(self.state.returns[player]) for player in (self.side, 1 - self.side))
        how = "You win" if mine > other else "You lose" if mine < other else "A draw"
        return f"{how} ({mine:g} to {other:g}). 'new' starts another game."
