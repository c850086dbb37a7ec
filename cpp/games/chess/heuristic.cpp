#include "games/chess/heuristic.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "games/chess/action.hpp"

namespace ramify::chess {
namespace {

struct Worth {
  int middle = 0, end = 0;
  constexpr Worth& operator+=(Worth other) {
    middle += other.middle;
    end += other.end;
    return *this;
  }
};

constexpr std::array<Worth, kKinds> kPiece{{{90, 110}, {320, 300}, {330, 320}, {480, 520}, {950, 960}, {0, 0}}};
constexpr Worth kBishopPair{25, 45};
constexpr std::array<int, kKinds> kPhase{0, 1, 1, 2, 4, 0};  // how much of the middle game a piece stands for
constexpr int kFullPhase = 24;

// 0 in a corner to 3 in the four central squares, for a line of eight.
constexpr int inward(int line) { return std::min(line, 7 - line); }

// A square's part, by plain rules: pieces belong to the centre, and knights most of all; rooks on the seventh rank; the
// king behind its pawns while there are pieces, in the centre when there are none; pawns forward, those in the centre
// first, and in the endgame all of them.
constexpr Worth square_worth(Kind kind, Square square) {
  const int rank = rank_of(square), file = file_of(square), centre = inward(rank) + inward(file);
  switch (kind) {
    case kPawn: {
      const int central = inward(file);
      return {rank * (central - 1) * 4 + (central == 3 && rank >= 3 ? 12 : 0), (rank - 1) * (rank - 1) * 4};
    }
    case kKnight: return {12 * centre - 36 + (rank >= 3 && rank <= 5 ? 6 : 0), 8 * centre - 24};
    case kBishop: return {6 * centre - 15 - (rank == 0 ? 8 : 0), 4 * centre - 12};
    case kRook: return {3 * inward(file) + (rank == 6 ? 18 : 0), rank == 6 ? 15 : 0};
    case kQueen: return {2 * centre - 4 - (rank == 0 ? 0 : 2), 6 * centre - 18};
    case kKing: {
      const int home = rank == 0 ? 20 : rank == 1 ? 0 : -25 * rank;
      return {home - 12 * inward(file), 14 * centre - 40};
    }
  }
  return {};
}

constexpr auto kSquares = [] {
  std::array<std::array<Worth, 64>, kKinds> table{};
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    for (Square square = 0; square < 64; ++square) {
      Worth worth = kPiece[kind];
      worth += square_worth(static_cast<Kind>(kind), square);
      table[kind][static_cast<std::size_t>(square)] = worth;
    }
  return table;
}();

// One side's worth; its pieces as it sees them after `flip`.
Worth side(const Position& p, Bitboard pieces, Square flip) {
  Worth sum;
  for (std::size_t kind = 0; kind < kKinds; ++kind)
    for (Square square : Each{pieces & p.of[kind]}) sum += kSquares[kind][static_cast<std::size_t>(square ^ flip)];
  if (several(pieces & p.of[kBishop])) sum += kBishopPair;
  return sum;
}

}  // namespace

int material_and_squares(const Position& p) {
  const Worth own = side(p, p.own, 0), theirs = side(p, p.theirs, kMirror);
  int phase = 0;
  for (std::size_t kind = 0; kind < kKinds; ++kind) phase += kPhase[kind] * std::popcount(p.of[kind]);
  phase = std::min(phase, kFullPhase);
  return ((own.middle - theirs.middle) * phase + (own.end - theirs.end) * (kFullPhase - phase)) / kFullPhase;
}

std::int32_t rank_of_move(const Position& p, Move move) {
  constexpr std::int32_t kUrgent = 1 << 20;
  const bool captures = (p.theirs & bit(move.to)) || (move.kind == kPawn && p.en_passant && move.to == p.en_passant);
  if (!captures && move.promotion != kQueen) return 0;
  const int gain = (captures ? kPiece[p.kind_at(move.to)].middle : 0) + (move.promotion == kQueen ? 800 : 0);
  return kUrgent + 16 * gain - kPiece[move.kind].middle;
}

int sharp_actions(const Position& p, Action* out) {
  if (p.in_check()) return -1;
  std::array<Move, kMaxMoves> moves;
  const int count = legal_moves(p, moves.data());
  Action* next = out;
  for (int i = 0; i < count; ++i) {
    const Move& move = moves[static_cast<std::size_t>(i)];
    if (rank_of_move(p, move) > 0) *next++ = action_of(move);
  }
  return static_cast<int>(next - out);
}

}  // namespace ramify::chess
