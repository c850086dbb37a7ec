// Legal moves. Every piece's legal target squares come from masks (pins and checks); nothing is played and tested but
// the rare en-passant capture.
#pragma once

#include <cstdint>

#include "games/chess/position.hpp"

namespace ramify::chess {

// No legal position of 16 pieces a side has more: 15 queens with 27 targets each, and a king.
constexpr int kMaxMoves = 15 * 27 + 8;

struct Checks {
  Bitboard checkers = 0;  // pieces that attack the mover's king
  Bitboard pinned = 0;    // own pieces that must stay on the line between the king and a slider
};

Checks find_checks(const Position& position);
bool has_legal_move(const Position& position, const Checks& checks);
int legal_moves(const Position& position, Move* out);  // room for kMaxMoves

// Leaves of the tree of that depth, each reached by playing its moves; repetition and the clock end nothing.
std::uint64_t perft(const Position& position, int depth);

// Squares where the king may go, castling included.
Bitboard king_targets(const Position& position, const Checks& checks);

inline Bitboard pawn_pushes(Square from, Bitboard occupied) {
  const Bitboard one = (bit(from) << 8) & ~occupied;
  return one | ((one & kRank3) << 8 & ~occupied);
}

// Calls visit(kind, from, targets) for the pieces, until it returns true; returns whether it did. Targets may be none:
// visitors that need not ask avoid a branch that nobody can predict.
template <class Visit>
bool visit_targets(const Position& p, const Checks& checks, Visit&& visit) {
  const Square king = p.king();
  if (!several(checks.checkers)) {
    const Bitboard occupied = p.occupied();
    const Bitboard allowed = checks.checkers ? between(king, first(checks.checkers)) | checks.checkers : ~p.own;
    const auto on_pin = [&](Square from) { return checks.pinned & bit(from) ? line(king, from) : ~Bitboard{0}; };
    for (Square from : Each{p.own & p.of[kPawn]}) {
      Bitboard targets = (pawn_pushes(from, occupied) | (pawn_attacks(from) & p.theirs)) & allowed & on_pin(from);
      if (p.en_passant && pawn_attacks(from) & bit(p.en_passant) && p.en_passant_is_safe(from))
        targets |= bit(p.en_passant);
      if (visit(kPawn, from, targets)) return true;
    }
    for (Square from : Each{p.own & p.of[kKnight] & ~checks.pinned})
      if (visit(kKnight, from, knight_attacks(from) & allowed)) return true;
    for (Square from : Each{p.own & p.of[kBishop]})
      if (visit(kBishop, from, bishop_attacks(from, occupied) & allowed & on_pin(from))) return true;
    for (Square from : Each{p.own & p.of[kRook]})
      if (visit(kRook, from, rook_attacks(from, occupied) & allowed & on_pin(from))) return true;
    for (Square from : Each{p.own & p.of[kQueen]}) {
      const Bitboard reach = bishop_attacks(from, occupied) | rook_attacks(from, occupied);
      if (visit(kQueen, from, reach & allowed & on_pin(from))) return true;
    }
  }
  return visit(kKing, king, king_targets(p, checks));
}

}  // namespace ramify::chess
