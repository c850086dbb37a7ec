// The whole game from one position on, as plain arrays, and what can be computed on it exactly: values and equilibria by
// backward induction, the value of given strategies, and best responses to them.
//
// Nothing here is a template: game_graph_build.hpp walks through any game and writes the arrays.
// docs/methods/game-graphs.md derives what is computed.
#pragma once

#include <chrono>
#include <cstdint>
#include <span>
#include <vector>

#include "games/rules.hpp"
#include "search/watcher.hpp"

namespace ramify {

// What a computation on a graph may take; 0: no limit.
struct GraphLimits {
  std::int64_t positions = 0;
  double seconds = 0.0;
};

struct Interrupted {};  // thrown where the watcher says stop

// Looks at the clock and the watcher now and then. Raises InvalidInput when the time is over, Interrupted on Ctrl-C.
class Budget {
 public:
  Budget(Watcher& watcher, double seconds);
  void spend() {
    if (++spent_ % 256 == 0) look();
  }

 private:
  using Clock = std::chrono::steady_clock;
  void look();

  Watcher& watcher_;
  Clock::time_point deadline_, next_look_;
  std::uint64_t spent_ = 0;
};

// Numbers of positions by key, with open addressing.
class PositionTable {
 public:
  static constexpr std::uint32_t kUnknown = 0xffffffff;
  std::uint32_t find(Key key) const;
  // The number of this key, which is `next` if it was unknown.
  std::uint32_t insert(Key key, std::uint32_t next);

 private:
  struct Slot {
    Key key = 0;
    std::uint32_t number = kUnknown;
  };
  std::size_t place(Key key) const;
  void grow();

  std::vector<Slot> slots_ = std::vector<Slot>(1024);
  std::size_t used_ = 0;
};

// Positions in which somebody chooses, numbered from the root (0) on. A pair of outcomes (i, j) of a position is edge
// first_edge + i * n1 + j; the outcomes of player 0, then those of player 1, are choices from first_choice on, so that
// strategies of both players in all positions are one array over choices.
struct GameGraph {
  static constexpr std::uint32_t kEnd = 0xffffffff;  // the child of an edge that ends the game

  struct Position {
    std::uint64_t first_edge, first_choice;
    std::int32_t n0, n1;  // outcomes; 1 for a player who does not act
    std::uint64_t edge(int i, int j) const { return first_edge + static_cast<std::uint64_t>(i) * n1 + j; }
    int outcomes(int player) const { return player == 0 ? n0 : n1; }
    std::uint64_t choices(int player) const { return first_choice + (player == 0 ? 0 : n0); }
  };

  std::vector<Position> positions;
  std::vector<std::uint32_t> children;  // by edge
  std::vector<Rewards> rewards;         // by edge
  std::vector<Action> actions;          // by choice; kNone for a player who does not act
  std::vector<std::uint32_t> order;     // every position after all of its children
  PositionTable numbers;
  bool zero_sum = true;  // no reward of one player but at the expense of the other

  // Half the difference of the rewards: player 0's reward itself in a zero-sum game.
  double difference(std::uint64_t edge) const {
    return 0.5 * (static_cast<double>(rewards[edge][0]) - static_cast<double>(rewards[edge][1]));
  }
  double payoff(std::uint64_t edge, int player, bool own) const {
    if (own) return static_cast<double>(rewards[edge][static_cast<std::size_t>(player)]);
    return player == 0 ? difference(edge) : -difference(edge);
  }

  // Fills `order`. Raises InvalidInput where a position can come back: then there is no last one to begin with.
  void sort(Budget& budget);
};

// Player 0's value in the zero-sum game of half differences, by position, in an equilibrium; `strategies` receives one,
// by choice.
std::vector<double> solve(const GameGraph& graph, Budget& budget, std::vector<double>& strategies);

// Payoffs of half differences in one position, row-major, given the values of all.
std::vector<double> payoffs(const GameGraph& graph, std::span<const double> values, std::uint32_t position);

// What each player expects of its own rewards, by position: [positions, 2]. Where the strategies never lead, they may be
// left 0.
std::vector<double> evaluate(const GameGraph& graph, std::span<const double> strategies, Budget& budget);

// The most that a player can get against the other's strategy, and the outcome that gets it, by position.
struct BestResponse {
  std::vector<double> values;
  std::vector<std::int32_t> outcomes;
};
BestResponse best_response(const GameGraph& graph, std::span<const double> strategies, int player, bool own,
                           Budget& budget);

}  // namespace ramify
