# Every native game: "header-under-cpp RulesClass". Adding a game is one file in cpp/games and one line here.
set(RAMIFY_GAMES
  "games/chess/chess.hpp Chess"
  "games/connect_four.hpp ConnectFour"
  "games/goofspiel.hpp Goofspiel"
  "games/hex.hpp Hex"
  "games/matrix.hpp Matrix"
  "games/pig.hpp Pig"
  "games/pyrat/pyrat.hpp PyRat"
  "games/tictactoe.hpp TicTacToe"
)
