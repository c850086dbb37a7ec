#include "games/chess/chess.hpp"

#include <cmath>

#include "games/board.hpp"

namespace ramify {

using namespace chess;

namespace {

// How often the position after the last move of the history has occurred: walking back, the pieces that differ from it
// are the XOR of the moves taken back, and nothing differs where that is zero.
std::uint8_t occurrences(const Chess::State& s) {
  std::uint8_t count = 1;
  Key difference = 0;
  const auto take_back = [&](Chess::Quiet move) {
    difference ^= piece_key(move.black(), move.kind(), move.from()) ^ piece_key(move.black(), move.kind(), move.to());
  };
  for (int i = s.length - 1; i > 0; i -= 2) {  // the same side is to move at every second position
    take_back(s.history[i]);
    take_back(s.history[i - 1]);
    count += difference == 0;
  }
  return count;
}

}  // namespace

Chess::Chess(Params& params) {
  automatic_ = params.choice("draws", "claimed", {"claimed", "automatic"},
                             "claimed: threefold repetition and fifty moves end the game, as if claimed at once; "
                             "automatic: only fivefold repetition and seventy-five moves do") == "automatic";
  salt_ = hash_text(automatic_ ? "chess automatic draws" : "chess claimed draws");
  start_ = setup(parse_fen(kStart));
}

// All but the judgement whether the game is over.
void Chess::apply_move(State& s, Move move) {
  const Key before = s.position.key;
  const Square flip = s.position.flip();
  const bool black = s.position.black;
  const Played played = s.position.play(move);
  if (played.irreversible) {
    s.length = 0;
    s.past = 0;
    s.occurrences = 1;
  } else {
    s.history[s.length++] = Quiet::of(black, move.kind, move.from ^ flip, move.to ^ flip);
    s.past += mix(before);
    s.occurrences = occurrences(s);
  }
  s.clock = played.zeroing ? 0 : static_cast<std::uint16_t>(s.clock + 1);
  s.number = static_cast<std::uint16_t>(s.number + black);
  s.last = move;
  s.has_last = true;
}

void Chess::play(State& s, Move move) const {
  apply_move(s, move);
  s.reason = judge(s);
}

Chess::Reason Chess::judge(const State& s) const {
  const Checks checks = find_checks(s.position);
  const bool can_move = has_legal_move(s.position, checks);
  if (!can_move && checks.checkers) return kCheckmate;
  if (s.position.insufficient_material()) return kInsufficientMaterial;
  if (!can_move) return kStalemate;
  if (s.clock >= 150) return kSeventyFiveMoves;  // with claims, only an explicit position comes this far
  if (s.clock >= 100 && !automatic_) return kFiftyMoves;
  if (s.occurrences >= (automatic_ ? 5 : 3)) return automatic_ ? kFivefold : kThreefold;
  return kGoesOn;
}

Rewards Chess::apply(State& s, Joint joint) const {
  play(s, move_of(s.position, joint[s.position.black]));
  return returns(s);
}

void Chess::go_on(State& s, Joint joint) const { apply_move(s, move_of(s.position, joint[s.position.black])); }

Rewards Chess::returns(const State& s) const {
  return s.reason == kCheckmate ? win_for(!s.position.black) : Rewards{0.0f, 0.0f};
}

// Half the way to a win at six pawns: no table of winning chances, but monotonic and the same on every machine.
float Chess::heuristic(const State& s) const {
  const auto lead = static_cast<float>(material_and_squares(s.position));
  const float chance = lead / (std::abs(lead) + 600.0f);
  return s.position.black ? -chance : chance;
}

void Chess::rank(const State& s, const Action* actions, int count, std::int32_t* ranks) const {
  for (int i = 0; i < count; ++i) ranks[i] = rank_of_move(s.position, move_of(s.position, actions[i]));
}

void Chess::observe(const State& s, int player, float* out) const {
  Position p = s.position;
  const bool black = player == 1, to_move = p.black == black;
  Bitboard passed = p.en_passant ? bit(p.en_passant) : 0;
  if (!to_move) {
    p.turn();
    passed = mirror(passed);
  }
  std::fill(out, out + kObservationPlanes * 64, 0.0f);
  const auto squares = [&](Bitboard set) {
    for (Square square : Each{set}) out[square] = 1.0f;
    out += 64;
  };
  const auto everywhere = [&](float value) {
    if (value != 0.0f) std::fill(out, out + 64, value);
    out += 64;
  };
  for (const Bitboard side : {p.own, p.theirs})
    for (const Bitboard kind : p.of) squares(side & kind);
  everywhere(s.occurrences >= 2);
  everywhere(s.occurrences >= 3);
  const unsigned rights = black ? p.rights >> 2 | p.rights << 2 : p.rights;
  for (int right = 0; right < 4; ++right) everywhere(rights >> right & 1);
  squares(passed);
  everywhere(static_cast<float>(s.clock) / 100.0f);
  everywhere(!black);
  everywhere(to_move);
}

}  // namespace ramify
