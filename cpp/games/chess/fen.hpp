// Forsyth-Edwards notation: positions from text, with every claim of the text checked, and back.
//
// A text is accepted exactly when python-chess parses it and calls the position valid, with these exceptions:
// - Spelling. Board, side, castling and en passant must be there (the counters may be left out: 0 and 1), castling is
//   "-" or letters of "KQkq" in that order, a promoted piece carries no mark, counters are digits, up to kMaxCounter.
// - A right to castle long without a rook on the back rank is an error here; python-chess drops it silently.
#pragma once

#include <string>
#include <string_view>

#include "games/chess/position.hpp"

namespace ramify::chess {

constexpr std::string_view kStart = "rnbqkbnr/pppppppp/8/8/8/8/PPPPPPPP/RNBQKBNR w KQkq - 0 1";
constexpr int kMaxCounter = 9999;

struct Setup {
  Position position;
  int clock = 0;   // half moves since the last capture or pawn move
  int number = 1;  // of the move, counted in pairs from 1
};

Setup parse_fen(std::string_view fen);  // raises InvalidInput

// The en-passant square is written only when a capture there is legal.
std::string write_fen(const Setup& setup);

// Why no game can lead to this position, or "". `passed` is the en-passant square the text claims (0: none), which
// position.en_passant may have dropped because nobody can capture there.
std::string impossible(const Position& position, Square passed);

char piece_letter(bool black, Kind kind);  // "PNBRQK" for white, "pnbrqk" for black

}  // namespace ramify::chess
