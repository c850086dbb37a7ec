// The AlphaZero action layout: 8 x 8 x 73 = 4672 actions, as the player who moves sees the board.
//
//   action = 73 * from + plane
//
// `from` = 8 * rank + file of the moving piece, counted from the mover's side: for white a1 = 0, h1 = 7, h8 = 63; for
// black the ranks are mirrored (square ^ 56), so a8 = 0, h8 = 7, h1 = 63.
//
//   plane   0 - 55   7 * direction + distance - 1: queen-like moves over distance 1 - 7. Directions, as (file, rank)
//                    steps: 0 (0, 1), 1 (1, 1), 2 (1, 0), 3 (1, -1), 4 (0, -1), 5 (-1, -1), 6 (-1, 0), 7 (-1, 1).
//                    Every move but those below: king moves and castling (the king's move by two files), all pawn
//                    moves, and promotion to a queen.
//   plane  56 - 63   56 + jump: knight moves. Jumps: 0 (1, 2), 1 (2, 1), 2 (2, -1), 3 (1, -2), 4 (-1, -2), 5 (-2, -1),
//                    6 (-2, 1), 7 (-1, 2).
//   plane  64 - 72   64 + 3 * piece + step: underpromotions. Pieces: 0 knight, 1 bishop, 2 rook. Steps: 0 captures
//                    towards the a-file, 1 goes straight, 2 captures towards the h-file.
#pragma once

#include <array>
#include <optional>

#include "games/chess/movegen.hpp"
#include "games/rules.hpp"

namespace ramify::chess {

constexpr int kPlanes = 73;
constexpr int kActions = 64 * kPlanes;

// Legal actions, ascending; returns how many. Needs room for kActions: it scribbles a little behind the last one.
int legal_actions(const Position& position, Action* out);

// The move an action means. The action must be legal.
Move move_of(const Position& position, Action action);
Action action_of(Move move);

// Where an action leads on an empty board, and the underpromotion it asks for (kPawn for none); nothing if it leaves
// the board. Squares as the mover sees them.
struct Path {
  Square from, to;
  Kind underpromotion;
};
std::optional<Path> path_of(Action action);

}  // namespace ramify::chess
