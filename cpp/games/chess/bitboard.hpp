// Sets of squares as 64-bit words. Square = 8 * rank + file: a1 = 0, b1 = 1, h8 = 63.
//
// A position is kept as its mover sees it (see position.hpp), so "up" is always the direction in which the mover's
// pawns go, and the first rank is the mover's own. Seen from the other side the ranks are mirrored and the files stay:
// square ^ 56, and mirror() for a whole set.
#pragma once

#include <bit>
#include <cstdint>
#include <string>

namespace ramify::chess {

using Bitboard = std::uint64_t;
using Square = int;

constexpr Square kMirror = 56;  // square ^ kMirror: the same square from the other side

constexpr Bitboard kRank1 = 0xff, kRank3 = kRank1 << 16, kRank7 = kRank1 << 48, kRank8 = kRank1 << 56;
constexpr Bitboard kFileA = 0x0101010101010101ULL, kFileH = kFileA << 7;
constexpr Bitboard kDarkSquares = 0xaa55aa55aa55aa55ULL;  // a1 is dark

constexpr Bitboard bit(Square square) { return Bitboard{1} << square; }
constexpr int file_of(Square square) { return square & 7; }
constexpr int rank_of(Square square) { return square >> 3; }
constexpr Square first(Bitboard set) { return std::countr_zero(set); }
constexpr Bitboard without_first(Bitboard set) { return set & (set - 1); }
constexpr bool several(Bitboard set) { return without_first(set) != 0; }
constexpr Bitboard mirror(Bitboard set) { return __builtin_bswap64(set); }

// for (Square square : Each{set}) visits the squares in ascending order.
struct Each {
  struct Iterator {
    Bitboard rest;
    constexpr Square operator*() const { return first(rest); }
    constexpr Iterator& operator++() {
      rest = without_first(rest);
      return *this;
    }
    constexpr bool operator!=(const Iterator& other) const { return rest != other.rest; }
  };
  Bitboard set;
  constexpr Iterator begin() const { return {set}; }
  constexpr Iterator end() const { return {0}; }
};

inline std::string square_name(Square square) {
  return {static_cast<char>('a' + file_of(square)), static_cast<char>('1' + rank_of(square))};
}

}  // namespace ramify::chess
