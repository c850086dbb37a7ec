// Connect Four: seven columns of six cells, stones fall to the bottom, four in a line win. Player 0 is x.
//
// Action = column from the left, 0 to 6, named "a" to "g".
// Observation, planes of 6 x 7 with the top row first: the viewer's stones, the other player's.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <utility>

#include "games/board.hpp"
#include "games/rules.hpp"

namespace ramify {

class ConnectFour {
 public:
  static constexpr std::string_view name = "connect_four";
  static constexpr std::string_view notation = "actions";
  static constexpr int kRows = 6, kColumns = 7;
  using Cells = std::uint64_t;  // bit = column * 7 + height; the seventh bit of a column stays empty

  struct State {
    std::array<Cells, 2> stones{0, 0};  // per player
    bool second = false;                // player 1 is to move
    bool over = false;
  };

  explicit ConnectFour(Params&) {}

  int num_actions() const { return kColumns; }
  Shape observation_shape() const { return {2, kRows, kColumns}; }
  bool simultaneous() const { return false; }
  State initial(std::uint64_t) const { return {}; }
  Stakes stakes(const State&) const { return zero_sum_stakes(1.0f); }
  Acting acting(const State& s) const { return s.over ? kOver : s.second ? kSecond : kFirst; }

  int actions(const State& s, int player, Action* out) const {
    if (!acts(acting(s), player)) return 0;
    const Cells taken = s.stones[0] | s.stones[1];
    int count = 0;
    for (Action column = 0; column < kColumns; ++column) {
      out[count] = column;
      count += !(taken >> (column * kStride + kRows - 1) & 1);
    }
    return count;
  }

  void go_on(State& s, Joint joint) const {
    const int mover = s.second;
    const Cells taken = s.stones[0] | s.stones[1];
    const Cells bottom = Cells{1} << (joint[mover] * kStride);
    s.stones[static_cast<std::size_t>(mover)] |= (taken + bottom) & column_mask(joint[mover]);  // the carry stops at the lowest empty cell
    s.second = !s.second;
  }

  Rewards apply(State& s, Joint joint) const {
    const int mover = s.second;
    go_on(s, joint);
    const bool won = has_line(s.stones[static_cast<std::size_t>(mover)]);
    s.over = won || (s.stones[0] | s.stones[1]) == kBoard;
    return won ? win_for(mover) : Rewards{0.0f, 0.0f};
  }

  Key key(const State& s) const { return key_of(s.stones[0], s.stones[1]); }

  std::pair<Key, int> canonical(const State& s) const {
    const Key mirror = key_of(mirrored(s.stones[0]), mirrored(s.stones[1]));
    return mirror < key(s) ? std::pair{mirror, 1} : std::pair{key(s), 0};
  }

  // Cells that would complete a line count for their owner, those on its rows twice: stones fall into the odd rows for
  // x and into the even ones for o once only such cells are left. Then stones towards the middle, where lines cross.
  float heuristic(const State& s) const {
    const float lead = judge(s, 0) - judge(s, 1);
    return lead / (std::abs(lead) + 60.0f);
  }

  void rank(const State&, const Action* actions, int count, std::int32_t* ranks) const {
    for (int i = 0; i < count; ++i) ranks[i] = 64 * (kColumns / 2 - std::abs(actions[i] - kColumns / 2));
  }

  void observe(const State& s, int player, float* out) const {
    for (int side = 0; side < 2; ++side)
      for (int cell = 0; cell < kRows * kColumns; ++cell)
        *out++ = static_cast<float>(s.stones[static_cast<std::size_t>(player ^ side)] >> bit_of(cell) & 1);
  }

  std::vector<Symmetry> symmetries() const {
    CellMap identity{"identity", {}}, mirror{"mirror", {}};
    for (int cell = 0; cell < kRows * kColumns; ++cell) {
      identity.cell.push_back(cell);
      mirror.cell.push_back(cell + kColumns - 1 - 2 * (cell % kColumns));
    }
    std::vector<Symmetry> list = board_symmetries(2, {identity, mirror});
    for (Symmetry& symmetry : list) symmetry.actions.resize(kColumns);  // the top row's map is the map of the columns
    return list;
  }

  State transform(State s, int k) const {
    if (k == 1)
      for (Cells& stones : s.stones) stones = mirrored(stones);
    return s;
  }

  std::string action_name(const State&, int, Action column) const {
    return std::string(1, static_cast<char>('a' + column));
  }

  std::string text(const State& s) const {
    std::string out;
    for (int cell = 0; cell < kRows * kColumns; ++cell) {
      out += symbol(s, cell);
      out += cell % kColumns == kColumns - 1 ? '\n' : ' ';
    }
    out += "a b c d e f g\n";
    if (s.over) return out + (!has_line(s.stones[!s.second]) ? "draw" : s.second ? "x has won" : "o has won");
    return out + (s.second ? "o to move" : "x to move");
  }

  Value::Dict fields(const State& s) const {
    return {{"board", board_rows(kRows, kColumns, [&](int cell) { return symbol(s, cell); })}};
  }

  State parse(const Value::Dict& parts) const {
    if (const Value* actions = part(parts, "actions", {"actions", "board"}, name)) {
      if (parts.size() > 1) throw InvalidInput("connect_four: give either actions or board");
      return replay(*this, *actions);
    }
    State s;
    const std::string symbols = board_cells(parts, kRows, kColumns, "xo.", name);
    for (int cell = 0; cell < kRows * kColumns; ++cell) {
      const char symbol = symbols[static_cast<std::size_t>(cell)];
      if (symbol != '.') s.stones[symbol == 'o'] |= Cells{1} << bit_of(cell);
      else if (cell >= kColumns && symbols[static_cast<std::size_t>(cell - kColumns)] != '.')
        throw InvalidInput(std::string("connect_four: a stone in column ") + static_cast<char>('a' + cell % kColumns) +
                           " is above an empty cell");
    }
    const int x = std::popcount(s.stones[0]), o = std::popcount(s.stones[1]);
    if (x != o && x != o + 1)
      throw InvalidInput("connect_four: x moves first, so x has as many stones as o or one more, not " +
                         std::to_string(x) + " against " + std::to_string(o));
    s.second = x > o;
    if (has_line(s.stones[s.second]))
      throw InvalidInput(std::string("connect_four: ") + (s.second ? "o" : "x") +
                         " has four in a line, so it moved last and cannot be the player to move");
    s.over = has_line(s.stones[!s.second]) || (s.stones[0] | s.stones[1]) == kBoard;
    return s;
  }

  Rewards returns(const State& s) const {
    for (int player = 0; player < 2; ++player)
      if (has_line(s.stones[static_cast<std::size_t>(player)])) return win_for(player);
    return {0.0f, 0.0f};
  }

 private:
  static constexpr Key kDomain = hash_text("connect_four");
  static constexpr int kStride = kRows + 1;
  static constexpr Cells kBottom = 0x40810204081ULL;      // the lowest cell of every column
  static constexpr Cells kBoard = kBottom * 0b111111ULL;  // all 42 cells

  static constexpr Cells column_mask(int column) { return Cells{0b111111} << (column * kStride); }

  // Cells as printed, row after row from the top.
  static constexpr int bit_of(int cell) { return cell % kColumns * kStride + kRows - 1 - cell / kColumns; }
  static char symbol(const State& s, int cell) {
    return s.stones[0] >> bit_of(cell) & 1 ? 'x' : s.stones[1] >> bit_of(cell) & 1 ? 'o' : '.';
  }

  static bool has_line(Cells stones) {
    for (int direction : {1, kStride - 1, kStride, kStride + 1}) {
      const Cells pairs = stones & stones >> direction;
      if (pairs & pairs >> 2 * direction) return true;
    }
    return false;
  }

  // Cells where one stone more makes four in a line.
  static Cells completing(Cells own) {
    Cells cells = own << 1 & own << 2 & own << 3;  // on top of three
    for (int d : {kStride - 1, kStride, kStride + 1}) {
      const Cells right = own << d & own << 2 * d, left = own >> d & own >> 2 * d;
      cells |= right & (own << 3 * d | own >> d);
      cells |= left & (own >> 3 * d | own << d);
    }
    return cells & kBoard;
  }

  static float judge(const State& s, int player) {
    constexpr Cells kOddRows = kBottom * 0b010101ULL;  // first, third and fifth
    const Cells own = s.stones[static_cast<std::size_t>(player)];
    const Cells threats = completing(own) & ~(s.stones[0] | s.stones[1]);
    const Cells good = threats & (player == 0 ? kOddRows : ~kOddRows);
    int points = 12 * std::popcount(threats) + 12 * std::popcount(good);
    for (int column = 0; column < kColumns; ++column)
      points += (kColumns / 2 - std::abs(column - kColumns / 2)) * std::popcount(own & column_mask(column));
    return static_cast<float>(points);
  }

  static Cells mirrored(Cells stones) {
    Cells image = 0;
    for (int column = 0; column < kColumns; ++column)
      image |= (stones >> column * kStride & 0x7f) << (kColumns - 1 - column) * kStride;
    return image;
  }

  // In `taken + kBottom` the highest bit of a column marks its height, and the bits below are free to say whose stones
  // they are: 49 bits that no other position has, so keys of different positions differ.
  static Key key_of(Cells first, Cells second) { return zobrist(kDomain, (first | second) + kBottom + first); }
};

}  // namespace ramify
