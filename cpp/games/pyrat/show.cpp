// PyRat positions for a terminal.
#include <cstdio>
#include <string>

#include "games/pyrat/pyrat.hpp"

namespace ramify {

using namespace pyrat;

namespace {

std::string padded(int number) {
  char text[16];
  std::snprintf(text, sizeof text, "%2d", number);
  return text;
}

// The edges above a row of cells, three characters per cell: a wall, the turns of its mud, or nothing.
std::string edges_above(const Maze& maze, int y) {
  std::string line = "   +";
  for (int x = 0; x < maze.width(); ++x) {
    const Passage passage = y < 0 ? kWall : maze.at(maze.cell(x, y), kUp);
    const std::string number = std::to_string(passage);
    if (passage == kWall) line += "---";
    else if (passage == kOpen) line += "   ";
    else line += number.size() == 1 ? " " + number + " " : number + std::string(3 - number.size(), ' ');
    line += '+';
  }
  return line + '\n';
}

// A row of cells: the rat, cheese, the python in the three characters of their cell; right of it a wall, the turns of
// its mud (~ for more than nine), or nothing.
std::string cells_of(const State& s, int y) {
  const Maze& maze = s.setup->maze;
  std::string line = padded(y) + " |";
  for (int x = 0; x < maze.width(); ++x) {
    const int cell = maze.cell(x, y);
    const std::uint16_t piece = s.setup->piece_at[static_cast<std::size_t>(cell)];
    line += s.players[0].cell == cell ? 'R' : ' ';
    line += piece != kNoPiece && s.has(piece) ? '*' : ' ';
    line += s.players[1].cell == cell ? 'P' : ' ';
    const Passage passage = maze.at(cell, kRight);
    line += passage == kWall ? '|' : passage == kOpen ? ' ' : passage > 9 ? '~' : static_cast<char>('0' + passage);
  }
  return line + '\n';
}

std::string points(int half_points) { return std::to_string(half_points / 2) + (half_points % 2 ? ".5" : ""); }

// At most 80 characters where scores have two digits.
std::string status(const State& s) {
  std::string out;
  for (std::size_t player = 0; player < 2; ++player) {
    out += std::string(player ? "P python " : "R rat ") + points(s.players[player].score);
    if (s.players[player].mud > 0) out += " (mud " + std::to_string(s.players[player].mud) + ")";
    out += ", ";
  }
  out += std::to_string(s.left) + " of " + std::to_string(s.setup->total) + " cheese left, turn " +
         std::to_string(s.turn) + " of " + std::to_string(s.setup->max_turns);
  if (!s.over) return out;
  const int lead = s.players[0].score - s.players[1].score;
  return out + (lead > 0 ? "; the rat wins" : lead < 0 ? "; the python wins" : "; a draw");
}

}  // namespace

std::string PyRat::action_name(const State&, int, Action action) const {
  constexpr std::array<const char*, kActions> kNames{"UP", "RIGHT", "DOWN", "LEFT", "STAY"};
  return kNames[static_cast<std::size_t>(action)];
}

std::string PyRat::text(const State& s) const {
  const Maze& maze = s.setup->maze;
  std::string out;
  for (int y = maze.height() - 1; y >= 0; --y) out += edges_above(maze, y) + cells_of(s, y);
  out += edges_above(maze, -1) + "  ";
  for (int x = 0; x < maze.width(); ++x) out += "  " + padded(x);
  return out + '\n' + status(s);
}

}  // namespace ramify
