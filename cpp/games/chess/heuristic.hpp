// What a chess position looks like at a glance: pieces and where they stand, and which moves are sharp.
#pragma once

#include <cstdint>

#include "games/chess/movegen.hpp"
#include "games/rules.hpp"

namespace ramify::chess {

// Centipawns for the mover: material and squares, between those of the middle game and those of the endgame by what is
// left on the board.
int material_and_squares(const Position& position);

// From kUrgent on for captures, the most valuable victim and the least valuable attacker first, and for a new queen.
std::int32_t rank_of_move(const Position& position, Move move);

// Captures and new queens; -1 in check.
int sharp_actions(const Position& position, Action* out);

}  // namespace ramify::chess
