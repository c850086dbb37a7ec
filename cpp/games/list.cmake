# Every native game: "header-under-cpp RulesClass". Adding a game is one file in cpp/games and one line here.
set(RAMIFY_GAMES
  "games/tictactoe.hpp TicTacToe"
  "games/chess/chess.hpp Chess"
)
