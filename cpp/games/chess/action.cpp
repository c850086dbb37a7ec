#include "games/chess/action.hpp"

namespace ramify::chess {
namespace {

constexpr int kQueenPlanes = 56, kFirstUnderpromotion = 64;
// Planes on which the three steps of an underpromotion promote to a queen.
constexpr std::array<int, 3> kQueenPromotion{7 * 7, 7 * 0, 7 * 1};

struct Step {
  int file, rank;
};

constexpr std::array<Step, kPlanes> kSteps = [] {
  constexpr std::array<Step, 8> queen{{{0, 1}, {1, 1}, {1, 0}, {1, -1}, {0, -1}, {-1, -1}, {-1, 0}, {-1, 1}}};
  constexpr std::array<Step, 8> knight{{{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}}};
  std::array<Step, kPlanes> steps{};
  for (int plane = 0; plane < kPlanes; ++plane) {
    Step& step = steps[plane];
    if (plane < kQueenPlanes) {
      const Step unit = queen[plane / 7];
      step = {unit.file * (plane % 7 + 1), unit.rank * (plane % 7 + 1)};
    } else if (plane < kFirstUnderpromotion) {
      step = knight[plane - kQueenPlanes];
    } else {
      step = {(plane - kFirstUnderpromotion) % 3 - 1, 1};
    }
  }
  return steps;
}();

constexpr std::array<int, kPlanes> kDistance = [] {
  std::array<int, kPlanes> distance{};
  for (std::size_t plane = 0; plane < kPlanes; ++plane) distance[plane] = 8 * kSteps[plane].rank + kSteps[plane].file;
  return distance;
}();

constexpr bool reaches(Square from, const Step& step) {
  const int file = file_of(from) + step.file, rank = rank_of(from) + step.rank;
  return file >= 0 && file < 8 && rank >= 0 && rank < 8;
}

// The plane of a queen-like or knight move from one square to another.
constexpr std::array<std::array<std::uint8_t, 64>, 64> kPlane = [] {
  std::array<std::array<std::uint8_t, 64>, 64> planes{};
  for (Square from = 0; from < 64; ++from)
    for (std::size_t plane = 0; plane < kFirstUnderpromotion; ++plane)
      if (reaches(from, kSteps[plane]))
        planes[from][from + kDistance[plane]] =
            static_cast<std::uint8_t>(plane);
  return planes;
}();

// Squares in each queen direction.
constexpr std::array<std::array<Bitboard, 8>, 64> kRays = [] {
  std::array<std::array<Bitboard, 8>, 64> rays{};
  for (Square from = 0; from < 64; ++from)
    for (int plane = 0; plane < kQueenPlanes; ++plane)
      if (reaches(from, kSteps[plane])) rays[from][plane / 7] |= bit(from + kDistance[plane]);
  return rays;
}();

// Picks the planes out of `targets` one by one: for pieces whose few steps each mean one plane.
template <std::size_t N>
Bitboard picked(Square from, Bitboard targets, const std::array<int, N>& planes) {
  const Bitboard around = std::rotr(targets, from);  // bit = distance modulo 64
  Bitboard set = 0;
  for (const int plane : planes) set |= (around >> (kDistance[plane] & 63) & 1) << plane;
  return set;
}

// The planes of a slider whose targets lie without a gap from its square on: as many as it has targets that way.
template <std::size_t N>
Bitboard counted(Square from, Bitboard targets, const std::array<int, N>& directions) {
  Bitboard set = 0;
  for (const int direction : directions)
    set |= (bit(std::popcount(targets & kRays[from][direction])) - 1) << (7 * direction);
  return set;
}

// The set of planes of a piece's moves, a promotion as one to a queen. This is most of the time of listing actions and
// loops over targets mispredict, so there are none. `open`: the mover is not in check, so rays have no gaps.
[[gnu::always_inline]] inline Bitboard planes_of(Kind kind, Square from, Bitboard targets, bool open) {
  constexpr std::array<int, 4> kPawnPlanes{0, 1, 7, 49};
  constexpr std::array<int, 8> kKnightPlanes{56, 57, 58, 59, 60, 61, 62, 63};
  constexpr std::array<int, 10> kKingPlanes{0, 7, 14, 15, 21, 28, 35, 42, 43, 49};
  constexpr std::array<int, 4> kStraight{0, 2, 4, 6}, kDiagonal{1, 3, 5, 7};
  if (kind == kPawn) return picked(from, targets, kPawnPlanes);
  if (kind == kKnight) return picked(from, targets, kKnightPlanes);
  if (kind == kKing) return picked(from, targets, kKingPlanes);
  if (open) {
    const Bitboard diagonal = kind == kRook ? 0 : counted(from, targets, kDiagonal);
    return kind == kBishop ? diagonal : diagonal | counted(from, targets, kStraight);
  }
  Bitboard set = 0;
  for (Square to : Each{targets}) set |= bit(kPlane[from][to]);
  return set;
}

// Most pieces have few moves: writing four at once, some of them in vain, costs less than asking after each.
Action* write_actions(Square from, Bitboard planes, Action* out) {
  Action* end = out + std::popcount(planes);
  do {
    for (int i = 0; i < 4; ++i, planes = without_first(planes)) *out++ = from * kPlanes + first(planes | bit(63));
  } while (planes);
  return end;
}

Kind underpromotion(int plane) { return static_cast<Kind>(kKnight + (plane - kFirstUnderpromotion) / 3); }

}  // namespace

int legal_actions(const Position& p, Action* out) {
  // Pieces come by kind; a set of planes per square puts the actions in order without sorting.
  const Checks checks = find_checks(p);
  std::array<Bitboard, 64> planes;
  Bitboard movers = 0, promoting = 0;
  visit_targets(p, checks, [&](Kind kind, Square from, Bitboard targets) {
    planes[from] = planes_of(kind, from, targets, checks.checkers == 0);
    movers |= bit(from);
    if (kind == kPawn) promoting |= bit(from) & kRank7;
    return false;
  });
  Action* next = out;
  for (Square from : Each{movers}) {
    next = write_actions(from, planes[from], next);
    if (promoting & bit(from))
      for (int plane = kFirstUnderpromotion; plane < kPlanes; ++plane)
        if (planes[from] & bit(kQueenPromotion[(plane - kFirstUnderpromotion) % 3])) *next++ = from * kPlanes + plane;
  }
  return static_cast<int>(next - out);
}

Move move_of(const Position& p, Action action) {
  const Square from = action / kPlanes;
  const int plane = action % kPlanes;
  Move move{static_cast<std::uint8_t>(from), static_cast<std::uint8_t>(from + kDistance[plane]),
            p.kind_at(from), kPawn};
  if (plane >= kFirstUnderpromotion) move.promotion = underpromotion(plane);
  else if (move.kind == kPawn && bit(move.to) & kRank8) move.promotion = kQueen;
  return move;
}

Action action_of(Move move) {
  const int plane = move.promotion == kPawn || move.promotion == kQueen
                        ? kPlane[move.from][move.to]
                        : kFirstUnderpromotion + 3 * (move.promotion - kKnight) + move.to - move.from - 7;
  return move.from * kPlanes + plane;
}

std::optional<Path> path_of(Action action) {
  const Square from = action / kPlanes;
  const int plane = action % kPlanes;
  if (!reaches(from, kSteps[plane])) return std::nullopt;
  return Path{from, from + kDistance[plane],
              plane < kFirstUnderpromotion ? kPawn : underpromotion(plane)};
}

}  // namespace ramify::chess
