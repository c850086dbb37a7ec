// A position without its history, as its mover sees it, and how a move changes it.
//
// Everything is stored from the side of the player to move: `own` pieces stand at the bottom and pawns go up. Playing a
// move turns the board round. So move generation and the action layout know one direction only; colours appear where
// people look (FEN, names, text) and in the key.
#pragma once

#include <array>
#include <cstdint>

#include "base/hash.hpp"
#include "games/chess/attacks.hpp"
#include "games/chess/bitboard.hpp"

namespace ramify::chess {

enum Kind : std::uint8_t { kPawn, kKnight, kBishop, kRook, kQueen, kKing };
constexpr std::size_t kKinds = 6;

// As the mover sees it. `promotion` is kPawn when there is none. Castling is the king's move by two squares.
struct Move {
  std::uint8_t from = 0, to = 0;
  Kind kind = kPawn, promotion = kPawn;
};

// Castling rights, by colour and not by mover.
enum Rights : std::uint8_t { kWhiteShort = 1, kWhiteLong = 2, kBlackShort = 4, kBlackLong = 8 };

// What a move did to the past: `zeroing` (pawn move or capture) resets the clock; after an `irreversible` one no
// earlier position can come back (also: castling rights lost, an en-passant capture let go).
struct Played {
  bool zeroing, irreversible;
};

struct Position {
  Bitboard own = 0, theirs = 0;          // the mover's pieces, the other player's
  std::array<Bitboard, kKinds> of{};     // both players' pieces of each kind
  Key key = 0;                           // pieces, side to move, castling rights, en passant; kept by play()
  std::uint8_t rights = 0;               // of Rights
  std::uint8_t en_passant = 0;           // the square a pawn passed over, if a capture there is legal; else 0
  bool black = false;                    // black is to move

  Bitboard occupied() const { return own | theirs; }
  Square king() const { return first(own & of[kKing]); }
  Square flip() const { return black ? kMirror : 0; }  // square ^ flip(): from the mover's view to white's and back
  bool has(int short_or_long) const { return rights >> (2 * black + short_or_long) & 1; }  // the mover's right
  Kind kind_at(Square square) const;                   // of the piece there; kPawn on an empty square

  // The pieces out of `by` that attack a square downwards, as the other player's do, with these squares occupied.
  Bitboard attackers(Square square, Bitboard occupied, Bitboard by) const;
  bool in_check() const { return attackers(king(), occupied(), theirs) != 0; }
  // Whether the en-passant capture from that square leaves the mover's king safe.
  bool en_passant_is_safe(Square from) const;
  // Neither side could ever mate: the material rule of FIDE as python-chess reads it (is_insufficient_material).
  bool insufficient_material() const;

  Played play(Move move);
  void turn();                            // the same pieces with the other player to move; leaves the key alone
  void set_en_passant(Square passed);     // keeps the square only if a capture there is legal; leaves the key alone
  Key full_key() const;                   // what `key` must be, from scratch

 private:
  void move_castling_rook(Square king_to);
  void finish_pawn_move(Move move);
};

// The random words whose XOR is a position's key. Squares as white sees them.
struct KeyWords {
  std::array<std::array<std::array<Key, 64>, kKinds>, 2> piece{};
  std::array<Key, 16> rights{};
  std::array<Key, 8> en_passant{};  // by file
  Key black = 0;
};
extern const KeyWords kKeyWords;

inline Key piece_key(bool black, Kind kind, Square square) { return kKeyWords.piece[black][kind][square]; }

inline Kind Position::kind_at(Square square) const {
  unsigned kind = 0;
  for (unsigned k = kKnight; k <= kKing; ++k) kind += k * static_cast<unsigned>(of[k] >> square & 1);
  return static_cast<Kind>(kind);
}

inline Bitboard Position::attackers(Square square, Bitboard occupied, Bitboard by) const {
  const Bitboard straight = of[kRook] | of[kQueen], diagonal = of[kBishop] | of[kQueen];
  return by & ((knight_attacks(square) & of[kKnight]) | (king_attacks(square) & of[kKing]) |
               (pawn_attacks(square) & of[kPawn]) | (rook_attacks(square, occupied) & straight) |
               (bishop_attacks(square, occupied) & diagonal));
}

}  // namespace ramify::chess
