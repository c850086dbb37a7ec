#include "games/chess/movegen.hpp"

#include <array>

namespace ramify::chess {

Checks find_checks(const Position& p) {
  const Square king = p.king();
  Checks found;
  found.checkers = p.theirs & ((knight_attacks(king) & p.of[kKnight]) | (pawn_attacks(king) & p.of[kPawn]));
  // Sliders that would attack the king if the mover had no other piece: each checks, or is held off by one or more.
  const Bitboard sliders = p.theirs & ((rook_attacks(king, p.theirs) & (p.of[kRook] | p.of[kQueen])) |
                                       (bishop_attacks(king, p.theirs) & (p.of[kBishop] | p.of[kQueen])));
  for (Square slider : Each{sliders}) {
    const Bitboard shield = between(king, slider) & p.own;
    if (!shield) found.checkers |= bit(slider);
    else if (!several(shield)) found.pinned |= shield;
  }
  return found;
}

Bitboard king_targets(const Position& p, const Checks& checks) {
  const Square king = p.king();
  const Bitboard occupied = p.occupied();
  const auto safe = [&](Square square) { return !p.attackers(square, occupied ^ bit(king), p.theirs); };
  Bitboard targets = 0;
  for (Square to : Each{king_attacks(king) & ~p.own})
    if (safe(to)) targets |= bit(to);
  if (checks.checkers) return targets;
  // The square next to the king on its way is an ordinary target, so it has been tested.
  if (p.has(0) && !(occupied & (bit(5) | bit(6))) && (targets & bit(5)) && safe(6)) targets |= bit(6);
  if (p.has(1) && !(occupied & (bit(1) | bit(2) | bit(3))) && (targets & bit(3)) && safe(2)) targets |= bit(2);
  return targets;
}

bool has_legal_move(const Position& p, const Checks& checks) {
  return visit_targets(p, checks, [](Kind, Square, Bitboard targets) { return targets != 0; });
}

int legal_moves(const Position& p, Move* out) {
  Move* next = out;
  visit_targets(p, find_checks(p), [&](Kind kind, Square from, Bitboard targets) {
    for (Square to : Each{targets}) {
      Move move{static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(to), kind, kPawn};
      if (kind == kPawn && bit(from) & kRank7)
        for (Kind promotion : {kKnight, kBishop, kRook}) {
          move.promotion = promotion;
          *next++ = move;
        }
      if (kind == kPawn && bit(from) & kRank7) move.promotion = kQueen;
      *next++ = move;
    }
    return false;
  });
  return static_cast<int>(next - out);
}

std::uint64_t perft(const Position& position, int depth) {
  if (depth <= 0) return 1;
  std::array<Move, kMaxMoves> moves;
  const int count = legal_moves(position, moves.data());
  std::uint64_t leaves = 0;
  for (int i = 0; i < count; ++i) {
    Position child = position;
    child.play(moves[i]);
    leaves += perft(child, depth - 1);
  }
  return leaves;
}

}  // namespace ramify::chess
