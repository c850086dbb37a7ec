// Hex on a rhombus of size x size hexagons. Player 0 (x) joins top and bottom, player 1 (o) left and right; exactly one
// of them succeeds on a full board, so there is no draw.
//
// Action = row * size + column; "c2" is column c, row 2. With swap, the last action "swap" is open to player 1 as its
// first turn only: the one stone becomes player 1's stone on the mirrored cell (row and column exchanged), which is the
// same position with the players' places exchanged, and player 0 is to move.
//
// Observation, planes of size x size, rows as printed and never turned: the viewer's stones; the other player's; ones
// if the viewer is player 0 (who joins top and bottom), else zeros; with swap only, ones where "swap" is legal.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/bits.hpp"
#include "games/board.hpp"
#include "games/rules.hpp"

namespace ramify {

class Hex {
 public:
  static constexpr std::string_view name = "hex";
  static constexpr std::string_view notation = "actions";
  static constexpr int kMaxSize = 19;
  static constexpr int kWords = (kMaxSize * kMaxSize + 63) / 64;
  using Cells = std::array<std::uint64_t, kWords>;  // a set of cells, one bit each

  // Both players share the sets of joined stones: a cell's owner says which edge is meant.
  struct State {
    std::array<Cells, 2> stones{};  // per player
    Cells start{};                  // stones joined to their owner's first edge: top for player 0, left for player 1
    Cells end{};                    // ... to the second: bottom, right
    Key key = 0;
    Key rotated = 0;          // the key of the position turned by 180 degrees, kept beside it
    std::int16_t last = -1;   // cell of the last stone, or -1 if unknown; for pictures, not part of the key
    std::int16_t count = 0;   // stones on the board
    bool second = false;      // player 1 is to move
    bool over = false;        // the player not to move has won
  };

  explicit Hex(Params& params);

  int num_actions() const { return cells_ + swap_; }
  Shape observation_shape() const { return {3 + swap_, size_, size_}; }
  bool simultaneous() const { return false; }
  State initial(std::uint64_t) const { return initial_; }
  Stakes stakes(const State&) const { return zero_sum_stakes(1.0f); }
  Acting acting(const State& s) const { return s.over ? kOver : s.second ? kSecond : kFirst; }

  int actions(const State& s, int player, Action* out) const {
    if (!acts(acting(s), player)) return 0;
    Action* next = out;
    for (int word = 0; word < words_; ++word) {
      const auto w = static_cast<std::size_t>(word);
      next = list_bits(~(s.stones[0][w] | s.stones[1][w]), std::min(64, cells_ - word * 64), word * 64, next);
    }
    if (can_swap(s)) *next++ = cells_;
    return static_cast<int>(next - out);
  }

  Rewards apply(State& s, Joint joint) const {
    const int mover = s.second;
    const Action action = joint[mover];
    s.second = !s.second;
    s.key ^= side_key_;
    s.rotated ^= side_key_;
    if (action == cells_) {
      swap_players(s);
      return {0.0f, 0.0f};
    }
    s.over = place(s, mover, action);
    return s.over ? win_for(mover) : Rewards{0.0f, 0.0f};
  }

  Key key(const State& s) const { return s.key; }
  std::pair<Key, int> canonical(const State& s) const {
    return s.rotated < s.key ? std::pair{s.rotated, 1} : std::pair{s.key, 0};
  }

  // Both from two-distances: see hex.cpp.
  float heuristic(const State& s) const;
  void rank(const State& s, const Action* actions, int count, std::int32_t* ranks) const;

  void observe(const State& s, int player, float* out) const;
  std::vector<Symmetry> symmetries() const;
  State transform(const State& s, int k) const;
  std::string action_name(const State& s, int player, Action action) const;
  std::string text(const State& s) const;
  Value::Dict fields(const State& s) const;
  State parse(const Value::Dict& parts) const;
  Rewards returns(const State& s) const { return s.over ? win_for(!s.second) : Rewards{0.0f, 0.0f}; }

 private:
  // What the rules know of one cell. All neighbours lie within 64 cells from `base` on, so one shifted window of a set
  // shows them all at once.
  struct Cell {
    std::uint64_t neighbours = 0;  // bit i: cell base + i
    std::array<Key, 2> key{};      // of a stone here, per player
    std::uint16_t base = 0;
    std::uint8_t starts = 0;  // bit p: on player p's first edge
    std::uint8_t ends = 0;    // bit p: on player p's second edge
  };

  // How far a player is from joining its edges, if the other may always spoil the best way.
  struct Distances {
    std::array<std::int16_t, kMaxSize * kMaxSize> over;  // by way of each empty cell
    int least = 0;                                       // of them
    int ways = 0;                                        // cells over which it is that
  };

  // What is next to what for a player, to whom own stones are no way at all.
  struct Links {
    std::array<Cells, kMaxSize * kMaxSize> next;  // of each empty cell
    std::array<Cells, 2> near;                    // of each of its edges
  };

  static bool has(const Cells& set, int cell) { return set[static_cast<std::size_t>(cell >> 6)] >> (cell & 63) & 1; }
  static void add(Cells& set, int cell) { set[static_cast<std::size_t>(cell >> 6)] |= std::uint64_t{1} << (cell & 63); }
  static std::uint64_t window(const Cells& set, const Cell& at) {
    const std::size_t word = at.base >> 6;  // base < 64 * (kWords - 1), so the next word exists
    const int shift = at.base & 63;
    return set[word] >> shift | set[word + 1] << 1 << (63 - shift);
  }
  const Cell& cell(int index) const { return table_[static_cast<std::size_t>(index)]; }
  bool can_swap(const State& s) const { return swap_ && s.count == 1 && s.second && !s.over; }

  // Puts a stone and says whether it wins. Each set of joined stones grows by a flood from the new stone; a stone
  // enters each set once in a game, so all floods of a game together cost one visit per stone.
  bool place(State& s, int player, int where) const {
    const auto p = static_cast<std::size_t>(player);
    const Cell& at = cell(where);
    const std::uint64_t own = window(s.stones[p], at) & at.neighbours;
    const bool starts = (at.starts >> player & 1) || (own & window(s.start, at));
    const bool ends = (at.ends >> player & 1) || (own & window(s.end, at));
    add(s.stones[p], where);
    s.key ^= at.key[p];
    s.rotated ^= cell(cells_ - 1 - where).key[p];
    s.last = static_cast<std::int16_t>(where);
    ++s.count;
    if (starts) join(s.start, s.stones[p], where);
    if (ends) join(s.end, s.stones[p], where);
    return starts && ends;
  }

  void join(Cells& joined, const Cells& stones, int where) const {
    std::array<std::int16_t, kMaxSize * kMaxSize> stack;
    std::size_t depth = 0;
    for (int next = where;; next = stack[--depth]) {
      const Cell& at = cell(next);
      add(joined, next);
      std::uint64_t fresh = window(stones, at) & ~window(joined, at) & at.neighbours;
      for (; fresh; fresh &= fresh - 1) {
        const int found = at.base + std::countr_zero(fresh);
        add(joined, found);  // at once, so that no cell is stacked twice
        stack[depth++] = static_cast<std::int16_t>(found);
      }
      if (depth == 0) return;
    }
  }

  void swap_players(State& s) const;
  template <class Visit>
  void each(const Cells& set, Visit&& visit) const;
  void join_groups(const State& s, int player, const Cells& empty, Links& links) const;
  void add_distances(const Links& links, const Cells& edge, Distances& found) const;
  Distances distances(const State& s, int player) const;
  void read_board(State& s, const Value::Dict& parts) const;
  bool second_to_move(const State& s, const Value* to_move) const;
  std::int16_t read_last(const State& s, const Value* last) const;
  static char symbol(const State& s, int cell) {
    return has(s.stones[0], cell) ? 'x' : has(s.stones[1], cell) ? 'o' : '.';
  }

  int size_ = 0;
  int cells_ = 0;
  int words_ = 0;
  bool swap_ = false;
  Key side_key_ = 0;
  State initial_;
  std::vector<Cell> table_;
  Cells board_{};              // all cells
  std::vector<Cells> around_;  // the neighbours of each cell
  std::array<std::array<Cells, 2>, 2> edges_{};  // cells on each player's first and second edge
};

}  // namespace ramify
