// What a piece attacks from a square. Sliding pieces use magic bitboards: multiply the occupied squares that matter by
// a constant, shift, and the product indexes a table of attack sets. It takes nothing beyond plain multiplication.
#pragma once

#include <array>
#include <cstddef>

#include "games/chess/bitboard.hpp"

namespace ramify::chess {

struct Magic {
  Bitboard mask;            // squares whose occupation matters
  Bitboard factor;
  const Bitboard* attacks;  // this square's part of the shared table
  unsigned shift;
};

// Filled once while the module loads; read only afterwards.
struct AttackTables {
  AttackTables();
  AttackTables(const AttackTables&) = delete;  // the magics point into `slides`
  AttackTables& operator=(const AttackTables&) = delete;

  std::array<Magic, 64> rook, bishop;
  std::array<Bitboard, 64> knight, king;
  std::array<Bitboard, 64> pawn;                       // captures of a pawn that moves up
  std::array<std::array<Bitboard, 64>, 64> between;    // strictly between two squares on a line, else nothing
  std::array<std::array<Bitboard, 64>, 64> line;       // the whole line through two squares, else nothing
  std::array<Bitboard, 102400 + 5248> slides;          // sums of 2^(bits of mask) over the rooks and the bishops
};

extern const AttackTables kAttacks;

inline Bitboard slide(const Magic& magic, Bitboard occupied) {
  return magic.attacks[((occupied & magic.mask) * magic.factor) >> magic.shift];
}
inline Bitboard rook_attacks(Square square, Bitboard occupied) {
  return slide(kAttacks.rook[square], occupied);
}
inline Bitboard bishop_attacks(Square square, Bitboard occupied) {
  return slide(kAttacks.bishop[square], occupied);
}
inline Bitboard knight_attacks(Square square) { return kAttacks.knight[square]; }
inline Bitboard king_attacks(Square square) { return kAttacks.king[square]; }
inline Bitboard pawn_attacks(Square square) { return kAttacks.pawn[square]; }
inline Bitboard between(Square a, Square b) {
  return kAttacks.between[a][b];
}
inline Bitboard line(Square a, Square b) {
  return kAttacks.line[a][b];
}

}  // namespace ramify::chess
