// Tic-tac-toe: three in a row on a 3x3 board. Action = row * 3 + column.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <string>
#include <utility>

#include "base/error.hpp"
#include "games/board.hpp"
#include "games/rules.hpp"

namespace ramify {

class TicTacToe {
 public:
  static constexpr std::string_view name = "tictactoe";
  static constexpr std::string_view notation = "actions";

  struct State {
    std::array<std::uint16_t, 2> stones{0, 0};  // bit per cell, per player
    bool second = false;                        // player 1 is to move
    bool over = false;
  };

  explicit TicTacToe(Params&) {
    const std::vector<CellMap> maps = square_maps(3);
    for (std::size_t k = 0; k < kSymmetries; ++k)
      for (unsigned stones = 0; stones < 512; ++stones) {
        unsigned image = 0;
        for (unsigned cell = 0; cell < 9; ++cell) image |= (stones >> cell & 1u) << maps[k].cell[cell];
        images_[k][stones] = static_cast<std::uint16_t>(image);
      }
  }

  int num_actions() const { return 9; }
  Shape observation_shape() const { return {2, 3, 3}; }
  bool simultaneous() const { return false; }
  State initial(std::uint64_t) const { return {}; }

  Stakes stakes(const State&) const { return zero_sum_stakes(1.0f); }
  Acting acting(const State& s) const { return s.over ? kOver : s.second ? kSecond : kFirst; }

  int actions(const State& s, int player, Action* out) const {
    int count = 0;
    if (!acts(acting(s), player)) return 0;
    for (Action cell = 0; cell < 9; ++cell)
      if (!((s.stones[0] | s.stones[1]) >> cell & 1)) out[count++] = cell;
    return count;
  }

  Rewards apply(State& s, Joint joint) const {
    const int mover = s.second;
    auto& own = s.stones[static_cast<std::size_t>(mover)];
    own = static_cast<std::uint16_t>(own | 1u << joint[mover]);
    s.second = !s.second;
    const bool won = has_line(own);
    s.over = won || (s.stones[0] | s.stones[1]) == 0x1ff;
    return won ? win_for(mover) : Rewards{0.0f, 0.0f};
  }

  // Nine cells of two bits: small enough that the mixed position is its own key.
  Key key(const State& s) const { return zobrist(kDomain, s.stones[0] | static_cast<Key>(s.stones[1]) << 9); }

  // Planes: the viewer's stones, the other player's.
  void observe(const State& s, int player, float* out) const {
    for (int plane = 0; plane < 2; ++plane)
      for (int cell = 0; cell < 9; ++cell)
        *out++ = static_cast<float>(s.stones[static_cast<std::size_t>(player ^ plane)] >> cell & 1);
  }

  std::vector<Symmetry> symmetries() const { return board_symmetries(2, square_maps(3)); }

  State transform(State s, int k) const {
    for (auto& stones : s.stones) stones = images_[static_cast<std::size_t>(k)][stones];
    return s;
  }

  std::pair<Key, int> canonical(const State& s) const {
    std::pair<Key, int> least{key(s), 0};
    for (int k = 1; k < static_cast<int>(kSymmetries); ++k) least = std::min(least, {key(transform(s, k)), k});
    return least;
  }

  std::string action_name(const State&, int, Action cell) const { return cell_name(cell / 3, cell % 3); }

  std::string text(const State& s) const {
    std::string out = "  a b c\n";
    for (int row = 0; row < 3; ++row) {
      out += std::to_string(row + 1);
      for (int column = 0; column < 3; ++column) {
        const int cell = row * 3 + column;
        out += s.stones[0] >> cell & 1 ? " x" : s.stones[1] >> cell & 1 ? " o" : " .";
      }
      out += '\n';
    }
    if (!s.over) return out + (s.second ? "o to move" : "x to move");
    return out + (has_line(s.stones[0]) ? "x has won" : has_line(s.stones[1]) ? "o has won" : "draw");
  }

  Value::Dict fields(const State& s) const {
    return {{"board", board_rows(3, 3, [&](int cell) {
               return s.stones[0] >> cell & 1 ? 'x' : s.stones[1] >> cell & 1 ? 'o' : '.';
             })}};
  }

  State parse(const Value::Dict& parts) const {
    if (const Value* actions = part(parts, "actions", {"actions", "board"}, name)) return replay(*this, *actions);
    State s;
    const std::string cells = board_cells(parts, 3, 3, "xo.", name);
    for (std::size_t cell = 0; cell < 9; ++cell)
      if (cells[cell] != '.') s.stones[cells[cell] == 'o'] |= static_cast<std::uint16_t>(1u << cell);
    const int x = std::popcount(s.stones[0]), o = std::popcount(s.stones[1]);
    if (x != o && x != o + 1) throw InvalidInput("tictactoe: x moves first, so x has as many stones as o or one more");
    s.second = x > o;
    if (has_line(s.stones[s.second])) throw InvalidInput("tictactoe: the player to move has already won");
    s.over = has_line(s.stones[!s.second]) || x + o == 9;
    return s;
  }

  Rewards returns(const State& s) const {
    for (int player = 0; player < 2; ++player)
      if (has_line(s.stones[static_cast<std::size_t>(player)])) return win_for(player);
    return {0.0f, 0.0f};
  }

 private:
  static constexpr Key kDomain = hash_text("tictactoe");
  static constexpr std::size_t kSymmetries = 8;

  static bool has_line(unsigned stones) {
    for (unsigned line : {0007u, 0070u, 0700u, 0111u, 0222u, 0444u, 0421u, 0124u})
      if ((stones & line) == line) return true;
    return false;
  }

  std::array<std::array<std::uint16_t, 512>, kSymmetries> images_;  // a set of stones under each symmetry
};

}  // namespace ramify
