#include "games/chess/attacks.hpp"

#include <initializer_list>

namespace ramify::chess {
namespace {

struct Step {
  int file, rank;
};
constexpr std::array<Step, 4> kStraight{{{0, 1}, {1, 0}, {0, -1}, {-1, 0}}};
constexpr std::array<Step, 4> kDiagonal{{{1, 1}, {1, -1}, {-1, -1}, {-1, 1}}};
constexpr std::array<Step, 8> kKnight{{{1, 2}, {2, 1}, {2, -1}, {1, -2}, {-1, -2}, {-2, -1}, {-2, 1}, {-1, 2}}};

// Found by drawing sparse random words (three ANDed draws of base/rng.hpp, seed 2024, stream = square for rooks and
// 64 + square for bishops) until no two occupations with different attacks fell on one index.
constexpr std::array<Bitboard, 64> kRookFactors{
    0x028004c000b2a480ULL, 0x1040001000200040ULL, 0x2100200100104009ULL, 0x330004a010000900ULL,
    0x0600080420020010ULL, 0x0d00010002880400ULL, 0x0400480c81101204ULL, 0x0200004200802401ULL,
    0x0400800040008028ULL, 0x2102804000200181ULL, 0x0302001840802200ULL, 0x0480808010000800ULL,
    0x8c20800800800400ULL, 0x0805000400090002ULL, 0x2042000402000108ULL, 0x0920800080004100ULL,
    0x2680064000436002ULL, 0x0004860040210200ULL, 0x8091010010402000ULL, 0x0202090010002500ULL,
    0x0004008080040800ULL, 0x0101080104902040ULL, 0x8000040002100801ULL, 0x8420020000884904ULL,
    0x0000400080008032ULL, 0x6040004080200080ULL, 0x2020200100144100ULL, 0x0100100080080080ULL,
    0x8808010100081004ULL, 0x1088040080020080ULL, 0x0100020400081001ULL, 0x0400804200010084ULL,
    0x0140068048800060ULL, 0x0020420082002100ULL, 0x0800220082001040ULL, 0x4000210109001000ULL,
    0x8008800400800800ULL, 0x0140800200800400ULL, 0x098006100c000815ULL, 0x1000004102001c84ULL,
    0x0800400220818000ULL, 0x2330200050004000ULL, 0x2408408026020010ULL, 0x12a0120008220040ULL,
    0x1803000800050011ULL, 0x0000040002008080ULL, 0x1201481001940032ULL, 0x0200448904520004ULL,
    0x8401020080402200ULL, 0x1100201000400040ULL, 0x4160008010002080ULL, 0x0000801000080080ULL,
    0x0300800800040080ULL, 0x0c48040080020080ULL, 0x1840100132480400ULL, 0x0000042051008200ULL,
    0x0000210410800441ULL, 0x182080401100220aULL, 0x1060001140240901ULL, 0x30a2001008400422ULL,
    0xc025000402080011ULL, 0x0001000400020801ULL, 0x9008100108408204ULL, 0x048a05018401c02aULL,
};
constexpr std::array<Bitboard, 64> kBishopFactors{
    0x2020012402928204ULL, 0x0020042102002042ULL, 0x4062060409200148ULL, 0x0004040882001800ULL,
    0x0001104140088001ULL, 0x0019012051010080ULL, 0x0291080202200000ULL, 0x4008190101104000ULL,
    0x0000400881014201ULL, 0x4000092108020040ULL, 0x3012102102242050ULL, 0x0000044401800002ULL,
    0x00000c10a8004000ULL, 0x1001011022300304ULL, 0x00042c051c022000ULL, 0x2001004606100300ULL,
    0x8020444004840080ULL, 0x90a8144410045040ULL, 0x8d20811001004408ULL, 0x0220202202004200ULL,
    0x000c008610222001ULL, 0x010900220501090cULL, 0x0004000901080220ULL, 0x0401022084949008ULL,
    0x4004500042100102ULL, 0x0404020021020400ULL, 0x0009090990040020ULL, 0x0001040004440080ULL,
    0xc98084012280200dULL, 0x3300520001008209ULL, 0x000a02100080d000ULL, 0x0101204091004820ULL,
    0x0802504000040804ULL, 0x0800d00800240802ULL, 0x0021080300320404ULL, 0x8108020081480080ULL,
    0x0040010101081040ULL, 0x0090100040002402ULL, 0x2008424240a18801ULL, 0x009c040030084900ULL,
    0x1241181842000400ULL, 0x1241080210000282ULL, 0x2000101804048800ULL, 0x0800020124000200ULL,
    0x880040150b003201ULL, 0x28c2100232004820ULL, 0x1120810109080a22ULL, 0x0004880840410100ULL,
    0x0004040208050110ULL, 0x080882011120a000ULL, 0x0206410084d01800ULL, 0x0020241084040021ULL,
    0x2000000803040804ULL, 0x200190a021010808ULL, 0x0010820204140008ULL, 0xa120011411124000ULL,
    0x0016020082011080ULL, 0x0000204424010800ULL, 0x0920900101094100ULL, 0x0002c00800840400ULL,
    0x0808002210820210ULL, 0x000080c010010a40ULL, 0x0002b220522c1040ULL, 0x4040904401144410ULL,
};

constexpr bool on_board(int file, int rank) { return file >= 0 && file < 8 && rank >= 0 && rank < 8; }

// The square one step on, or nothing at the edge.
constexpr Bitboard stepped(Square square, Step step) {
  const int file = file_of(square) + step.file, rank = rank_of(square) + step.rank;
  return on_board(file, rank) ? bit(8 * rank + file) : 0;
}

// Squares in one direction up to and including the first occupied one: the slow definition behind the tables.
constexpr Bitboard ray(Square square, Step step, Bitboard occupied) {
  Bitboard reached = 0;
  for (Bitboard next = stepped(square, step); next; next = stepped(first(next), step)) {
    reached |= next;
    if (next & occupied) break;
  }
  return reached;
}

template <std::size_t N>
Bitboard rays(Square square, const std::array<Step, N>& steps, Bitboard occupied) {
  Bitboard reached = 0;
  for (Step step : steps) reached |= ray(square, step, occupied);
  return reached;
}

// Writes one square's magic and its attack sets; returns how many table entries it took.
std::size_t fill(Magic& magic, Square square, Bitboard factor, const std::array<Step, 4>& steps, Bitboard* slides) {
  Bitboard mask = 0;
  for (Step step : steps) {
    const Bitboard whole = ray(square, step, 0);
    for (Square on : Each{whole})
      if (stepped(on, step)) mask |= bit(on);  // a piece on the last square of a ray blocks nothing
  }
  magic = {mask, factor, slides, 64u - static_cast<unsigned>(std::popcount(mask))};
  Bitboard occupied = 0;
  do {
    slides[(occupied * factor) >> magic.shift] = rays(square, steps, occupied);
    occupied = (occupied - mask) & mask;  // the next subset of the mask
  } while (occupied);
  return std::size_t{1} << std::popcount(mask);
}

}  // namespace

AttackTables::AttackTables() : between{}, line{} {
  std::size_t used = 0;
  for (Square square = 0; square < 64; ++square) {
    used += fill(rook[square], square, kRookFactors[square], kStraight, slides.data() + used);
    used += fill(bishop[square], square, kBishopFactors[square], kDiagonal, slides.data() + used);
    knight[square] = king[square] = 0;
    for (Step step : kKnight) knight[square] |= stepped(square, step);
    pawn[square] = stepped(square, {-1, 1}) | stepped(square, {1, 1});
    for (const auto* steps : {&kStraight, &kDiagonal})
      for (Step step : *steps) {
        king[square] |= stepped(square, step);
        const Bitboard ahead = ray(square, step, 0), behind = ray(square, {-step.file, -step.rank}, 0);
        for (Square on : Each{ahead}) {
          line[square][on] = ahead | behind | bit(square);
          between[square][on] = ray(square, step, bit(on)) ^ bit(on);
        }
      }
  }
}

const AttackTables kAttacks;

}  // namespace ramify::chess
