"""One person at the terminal and one opponent: what is typed, what is shown."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from rich.console import Console
from rich.text import Text

from ramify.arena import Turn
from ramify.cli.boards import board_text, has_figures, room_of, sides
from ramify.cli.common import explain, print_position
from ramify.cli.debug import print_traceback
from ramify.cli.heat import SHOWN, heat_text, ranking
from ramify.cli.keys import Keys, has_keys
from ramify.engine import Searcher, SearchResult
from ramify.games import Game, State, number_of_players
from ramify.games.failures import game_failure
from ramify.games.files import GameRecord, extensions, write_game
from ramify.games.notation import UnclearActionError, read_action
from ramify.presentation.chess_lines import move_name
from ramify.presentation.opponents import Opponent, action_of, fresh
from ramify.presentation.person_game import PersonGame

HELP = """\
{move}
hint         show what the search would play, and the moves it looked at most
heat         show how often the search looked at each move
moves        list the legal moves
board        show the position again
undo         take back your last move
resign       give up; the opponent wins
again        ask the opponent again, after an error
new          start a new game
save FILE    save the game; the extension is {extensions},
             or .svg for a picture of the position
help         show this list
quit         leave (or Ctrl-D, or Ctrl-C); Ctrl-C during hint or heat stops the
             search and shows what it has found so far"""

MOVES = {  # how to type a move, where an example helps
    "hex": "f6           play a move by its cell; 'swap' where that is allowed",
    "chess": "Nf3          play a move: Nf3, e2e4, O-O and e8=Q are all understood",
    "pyrat": "UP           play a move: UP, RIGHT, DOWN, LEFT or STAY. In a terminal: the arrow\n"
    "             keys or w a s d, and the space bar to stay; type : before commands\n"
    "             that begin with one of these letters, such as :save FILE",
}


def introduction(game: Game, side: int, opponent: str, figures: bool = False) -> str:
    """Which player the person is: by name and symbol where the game has them, and by the order of moves."""
    if number_of_players(game) == 1:
        return "You play alone."
    who = sides(game, figures)[side]
    if game.simultaneous:
        return f"You are {who}, against {opponent}. Both players move at once."
    return f"You are {who}, the {('first', 'second')[side]} player, against {opponent}."


class OpponentError(Exception):
    """The opponent has no answer, or none that can be played."""


class PlaySession(PersonGame):
    """Games of a person against an opponent.

    ``start`` gives the first position of the game of that number; ``record`` is a game to continue from its end.
    """

    def __init__(
        self,
        start: Callable[[int], State],
        side: int,
        opponent: Opponent,
        adviser: Searcher,
        record: GameRecord | None = None,
    ) -> None:
        if record is None:
            super().__init__([start(0)], side)
        else:
            super().__init__(record.states(), side, record.turns)
        self.start, self.opponent, self.adviser = start, opponent, adviser
        self.console = Console(highlight=False)
        self.games = 0
        self.advice: SearchResult | None = None
        self.ask: Callable[[str], str] = input
        self.commands: dict[str, Callable[[], None]] = {
            "hint": self.hint,
            "heat": self.heat,
            "moves": self.moves,
            "board": self.show,
            "undo": self.undo,
            "resign": self.resign,
            "again": self.again,
            "new": self.new,
            "help": self.help,
        }

    def run(self) -> None:
        """Until the person leaves."""
        by_keys = has_keys(self.state.game.name)
        how = " Move with the arrow keys, stay with the space bar." if by_keys else ""
        who = introduction(self.state.game, self.side, self.opponent.name, has_figures(self.console))
        self.say(f"{who}{how} Type 'help' for help.")
        self.show()
        try:
            with Keys() if by_keys else nullcontext() as keys:
                self.ask = self.ask if keys is None else keys.read_line
                going = self.safely(self.answer)
                while going:
                    going = self.safely(self.read_line)
        except (EOFError, KeyboardInterrupt):
            self.console.print()
        self.say("Goodbye.")

    def safely(self, work: Callable[[], bool | None]) -> bool:
        """Whether to go on. After an error of the opponent the person decides what becomes of the game."""
        try:
            return work() is not False
        except OpponentError as error:
            print_traceback(error)
            self.say(f"The opponent has failed: {error}")
            self.say(
                "Type 'again' to ask it again, 'undo' to take back your last move, or 'save FILE' to save the game."
            )
            return True

    def read_line(self) -> bool:
        """One line of input; False to leave."""
        mine = self.side in self.state.acting
        line = self.ask(f"{'game over' if self.over else 'your move' if mine else 'opponent to move'}> ").strip()
        word, _, rest = line.partition(" ")
        if line.lower() in ("quit", "exit"):
            return False
        if line.lower() in self.commands:
            self.commands[line.lower()]()
        elif word.lower() == "save":
            self.save(rest.strip())
        elif line:
            self.play(line)
        return True

    # --- turns ---

    def play(self, name: str) -> None:
        """The person's action, and the opponent's."""
        if self.over:
            return self.say("The game is over. Type 'new' for another one, or 'undo' to take back your last move.")
        if self.side not in self.state.acting:
            return self.say("It is the opponent's turn. Type 'again' to ask it again.")
        try:
            action = read_action(self.state, name, self.side)
        except UnclearActionError as error:
            return self.say(f"{error}.")
        except ValueError:
            action = -1
        if action not in self.legal():
            return self.say(
                f"{name!r} is not a legal move here. Type 'moves' to list the legal moves, or 'help' for all commands."
            )
        both = len(self.state.acting) == 2
        other, remark = self.opponent_chooses() if both else (None, "")
        self.apply({self.side: action} if other is None else {self.side: action, 1 - self.side: other})
        if other is not None:
            self.report(remark)
            self.show()
        return self.answer()

    def answer(self) -> None:
        """The opponent's turns, until it is the person's or the game is over."""
        played = False
        while self.state.acting == (1 - self.side,):
            action, remark = self.opponent_chooses()
            self.apply({1 - self.side: action})
            self.report(remark)
            played = True
        alone = number_of_players(self.state.game) == 1  # nobody answers: each position is shown
        if played or (self.turns and len(self.states[-2].acting) == 1 and (alone or self.state.is_over)):
            self.show()
        if self.state.is_over:
            self.say(f"{self.ending()}. Type 'new' for another game.")

    def report(self, remark: str) -> None:
        """What the opponent has just played."""
        before, turn = self.states[-2], self.turns[-1]
        action = turn[before.acting.index(1 - self.side)]
        name = move_name(before, action, 1 - self.side)
        self.say(f"Opponent: {name}" + (f" ({remark})" if remark else ""))

    def opponent_chooses(self) -> tuple[int, str]:
        turn = Turn(self.state.copy(), 1 - self.side, len(self.states))
        try:
            with self.console.status("thinking") if self.console.is_terminal else nullcontext():
                action, remark = self.opponent.choose(turn)
        except Exception as error:  # of a program, or a player, that somebody else has written
            if game_failure(error) is not None:
                raise  # of the game, whoever plays it
            raise OpponentError(explain(error) or type(error).__name__) from error
        if action not in self.state.legal_actions(1 - self.side):
            raise OpponentError(f"its answer {action!r} is not a legal move")
        return action, remark

    def apply(self, chosen: dict[int, int]) -> None:
        super().apply(chosen)
        self.advice = None

    # --- commands ---

    def help(self) -> None:
        game = self.state.game
        usual = "a move       play it by its name; #NUMBER for an action by its number"
        kinds = ", ".join(extensions(game))
        self.say(HELP.format(move=MOVES.get(game.name, usual), extensions=kinds))

    def undo(self) -> None:
        """Back to where the person last had a choice; a resignation is taken back first."""
        if not self.take_back():
            return self.say("You have not made a move yet.")
        self.advice = None
        return self.show()

    def resign(self) -> None:
        if self.over:
            return self.say("The game is already over.")
        self.resigned = True
        if number_of_players(self.state.game) == 1:
            return self.say("You give up. Type 'new' for another game.")
        return self.say("You resign, and the opponent wins. Type 'new' for another game.")

    def again(self) -> None:
        """The opponent's turn, which it has not taken."""
        if self.side in self.state.acting or self.over:
            return self.say("It is not the opponent's turn.")
        return self.answer()

    def new(self) -> None:
        self.games += 1
        self.states, self.turns, self.advice, self.resigned = [self.start(self.games)], [], None, False
        self.show()
        self.answer()

    def moves(self) -> None:
        names = [move_name(self.state, action, self.side) for action in self.legal()]
        none = "The game is over." if self.over else "It is the opponent's turn."
        self.say(" ".join(names) or none)

    def hint(self) -> None:
        if (found := self.advise()) is None:
            return None
        if self.side not in found.acting:
            return self.say("It is the opponent's turn.")
        mine = action_of(found, self.side)
        value = float(found.value[self.side])
        proof = "" if found.proven is None else ", proven"
        self.say(f"{move_name(self.state, mine, self.side)} (expected result for you {value:+.2f}{proof})")
        return self.console.print(ranking(self.state, found, SHOWN))

    def heat(self) -> None:
        if (found := self.advise()) is not None:
            print_position(self.console, heat_text(self.state, found))

    def advise(self) -> SearchResult | None:
        """What the search finds here, once per position; Ctrl-C shows what it has found so far."""
        if self.over:
            self.say("The game is over.")
            return None
        if self.advice is None:
            found = fresh(self.adviser, self.state, on_interrupt="return")
            if found.stats["interrupted"]:
                return found  # asked again, it searches again
            self.advice = found
        return self.advice

    def save(self, file: str) -> None:
        """The game, or a picture of the position, as the extension says."""
        path, kinds = Path(file).expanduser(), [*extensions(self.state.game), ".svg"]
        if path.suffix.lower() not in kinds:
            return self.say(f"Type 'save' and a file name that ends in {', '.join(kinds[:-1])} or {kinds[-1]}.")
        try:
            if path.suffix.lower() == ".svg":
                path.write_text(self.state.svg(), encoding="utf-8")
            else:
                write_game(path, self.game_record(self.opponent.name))
        except OSError as error:
            return self.say(f"Cannot write {file}: {error.strerror}.")
        except (ValueError, ImportError) as error:
            return self.say(f"Cannot save the game: {explain(error)}.")
        return self.say(f"Saved to {file}.")

    # --- showing ---

    def show(self) -> None:
        before = self.states[-2] if len(self.states) > 1 else None
        figures = has_figures(self.console)
        print_position(self.console, board_text(self.state, before, room_of(self.console), figures=figures))

    def say(self, text: str) -> None:
        self.console.print(Text(text), soft_wrap=True)
