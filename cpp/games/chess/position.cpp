#include "games/chess/position.hpp"

#include <cstdlib>
#include <utility>

namespace ramify::chess {
namespace {

// Rights that survive a move from or to a square, as white sees it.
constexpr std::array<std::uint8_t, 64> kKept = [] {
  std::array<std::uint8_t, 64> kept{};
  for (auto& rights : kept) rights = 15;
  kept[0] ^= kWhiteLong;
  kept[4] ^= kWhiteShort | kWhiteLong;
  kept[7] ^= kWhiteShort;
  kept[56] ^= kBlackLong;
  kept[60] ^= kBlackShort | kBlackLong;
  kept[63] ^= kBlackShort;
  return kept;
}();

}  // namespace

constexpr KeyWords kKeyWords = [] {
  constexpr Key kDomain = hash_text("chess");
  KeyWords words;
  Key next = 0;
  for (auto& colour : words.piece)
    for (auto& kind : colour)
      for (Key& word : kind) word = zobrist(kDomain, next++);
  for (Key& word : words.rights) word = zobrist(kDomain, next++);
  for (Key& word : words.en_passant) word = zobrist(kDomain, next++);
  words.black = zobrist(kDomain, next);
  return words;
}();

Played Position::play(Move move) {
  const Bitboard from = bit(move.from), to = bit(move.to);
  const Square real_from = move.from ^ flip(), real_to = move.to ^ flip();
  Played played{move.kind == kPawn, en_passant != 0};
  if (theirs & to) {
    const Kind taken = kind_at(move.to);
    of[taken] ^= to;
    theirs ^= to;
    key ^= piece_key(!black, taken, real_to);
    played.zeroing = true;
  }
  own ^= from | to;
  of[move.kind] ^= from | to;
  key ^= piece_key(black, move.kind, real_from) ^ piece_key(black, move.kind, real_to) ^ kKeyWords.black;
  if (en_passant) key ^= kKeyWords.en_passant[file_of(en_passant)];
  if (move.kind == kPawn) finish_pawn_move(move);
  else if (move.kind == kKing && std::abs(move.to - move.from) == 2) move_castling_rook(move.to);
  const auto kept = static_cast<std::uint8_t>(rights & kKept[real_from] & kKept[real_to]);
  played.irreversible |= played.zeroing || kept != rights;
  key ^= kKeyWords.rights[rights] ^ kKeyWords.rights[kept];
  rights = kept;
  en_passant = 0;
  turn();
  if (move.kind == kPawn && move.to - move.from == 16) {
    set_en_passant((move.from + 8) ^ kMirror);
    if (en_passant) key ^= kKeyWords.en_passant[file_of(en_passant)];
  }
  return played;
}

// Promotion and the pawn taken en passant; the pawn itself has already moved.
void Position::finish_pawn_move(Move move) {
  if (move.promotion != kPawn) {
    of[kPawn] ^= bit(move.to);
    of[move.promotion] ^= bit(move.to);
    key ^= piece_key(black, kPawn, move.to ^ flip()) ^ piece_key(black, move.promotion, move.to ^ flip());
  } else if (en_passant && move.to == en_passant) {
    const Square taken = move.to - 8;
    of[kPawn] ^= bit(taken);
    theirs ^= bit(taken);
    key ^= piece_key(!black, kPawn, taken ^ flip());
  }
}

void Position::move_castling_rook(Square king_to) {
  const Square from = king_to == 6 ? 7 : 0, to = king_to == 6 ? 5 : 3;
  own ^= bit(from) | bit(to);
  of[kRook] ^= bit(from) | bit(to);
  key ^= piece_key(black, kRook, from ^ flip()) ^ piece_key(black, kRook, to ^ flip());
}

void Position::turn() {
  const Bitboard others = mirror(theirs);
  theirs = mirror(own);
  own = others;
  for (Bitboard& kind : of) kind = mirror(kind);
  black = !black;
}

void Position::set_en_passant(Square passed) {
  en_passant = static_cast<std::uint8_t>(passed);
  // Pawns that attack the square stand where a pawn of the other side, on the square, would attack.
  const Bitboard below = bit(passed - 8);
  const Bitboard capturers = own & of[kPawn] & (((below & ~kFileA) >> 1) | ((below & ~kFileH) << 1));
  for (Square from : Each{capturers})
    if (en_passant_is_safe(from)) return;
  en_passant = 0;
}

bool Position::en_passant_is_safe(Square from) const {
  const Bitboard taken = bit(en_passant - 8);
  return !attackers(king(), (occupied() ^ bit(from) ^ taken) | bit(en_passant), theirs ^ taken);
}

bool Position::insufficient_material() const {
  if (of[kPawn] | of[kRook] | of[kQueen]) return false;
  for (const auto& [side, other] : {std::pair(own, theirs), std::pair(theirs, own)}) {
    if (side & of[kKnight]) {
      // A lone knight mates only with the help of a piece that can stand in its own king's way.
      if (std::popcount(side) > 2 || (other & ~of[kKing])) return false;
    } else if (side & of[kBishop]) {
      const bool one_colour = !(of[kBishop] & kDarkSquares) || !(of[kBishop] & ~kDarkSquares);
      if (!one_colour || of[kKnight]) return false;
    }
  }
  return true;
}

Key Position::full_key() const {
  Key sum = kKeyWords.rights[rights] ^ (black ? kKeyWords.black : 0);
  if (en_passant) sum ^= kKeyWords.en_passant[file_of(en_passant)];
  for (Square square : Each{occupied()})
    sum ^= piece_key(black ^ ((theirs >> square & 1) != 0), kind_at(square), square ^ flip());
  return sum;
}

}  // namespace ramify::chess
