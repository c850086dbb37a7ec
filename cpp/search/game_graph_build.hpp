// Walks through everything that can follow a position, of any game, and writes it into a GameGraph.
#pragma once

#include <cmath>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "games/any.hpp"
#include "search/dynamics.hpp"
#include "search/game_graph.hpp"

namespace ramify {

template <class D>
class GraphBuilder {
 public:
  using Cursor = typename D::Cursor;

  GraphBuilder(D dynamics, const GraphLimits& limits, Watcher& watcher)
      : dynamics_(std::move(dynamics)),
        limits_(limits),
        budget_(watcher, limits.seconds),
        legal_(2 * static_cast<std::size_t>(dynamics_.num_actions()) + 2) {}

  GameGraph build(const Cursor& root) {
    if (dynamics_.has_chance())
      throw InvalidInput("a game with chance cannot be solved as a graph of positions: use a search with solver=True, or alphabeta");
    if (dynamics_.acting(root) == kOver) throw InvalidInput("the game is over: there is nothing left to solve");
    find(root);
    // Positions wait in the order of their numbers, so the front is always the next one without edges.
    while (!waiting_.empty()) {
      const Cursor cursor = std::move(waiting_.front());
      waiting_.pop_front();
      expand(cursor);
    }
    graph_.sort(budget_);
    return std::move(graph_);
  }

 private:
  void expand(const Cursor& cursor) {
    const Acting acting = dynamics_.acting(cursor);
    Action* lists[2] = {legal_.data(), legal_.data() + legal_.size() / 2};
    int counts[2];
    for (int player = 0; player < 2; ++player) {
      counts[player] = 1;
      lists[player][0] = kNone;
      if (acts(acting, player)) counts[player] = dynamics_.outcomes(cursor, player, lists[player], nullptr);
      if (counts[player] == 0) throw InvalidInput("a player has to act, but has no legal action");
    }
    graph_.positions.push_back({graph_.children.size(), graph_.actions.size(), counts[0], counts[1]});
    for (int player = 0; player < 2; ++player)
      graph_.actions.insert(graph_.actions.end(), lists[player], lists[player] + counts[player]);
    for (int i = 0; i < counts[0]; ++i)
      for (int j = 0; j < counts[1]; ++j) follow(cursor, Joint{{lists[0][i], lists[1][j]}});
  }

  void follow(const Cursor& cursor, Joint joint) {
    budget_.spend();
    Cursor child = cursor;
    const Rewards rewards = dynamics_.apply(child, joint);
    const bool over = dynamics_.acting(child) == kOver;
    graph_.rewards.push_back(rewards);
    graph_.zero_sum = graph_.zero_sum && std::abs(rewards[0] + rewards[1]) <= 1e-6f;
    graph_.children.push_back(over ? GameGraph::kEnd : find(std::move(child)));
  }

  // The number of a position; a new one waits to be expanded.
  std::uint32_t find(Cursor cursor) {
    const std::uint32_t number = graph_.numbers.insert(dynamics_.future_key(cursor), known_);
    if (number != known_) return number;
    if (limits_.positions > 0 && known_ >= limits_.positions)
      throw InvalidInput("more than " + std::to_string(limits_.positions) +
                         " positions can be reached: allow more with max_positions, or start nearer to the end of the "
                         "game");
    ++known_;
    waiting_.push_back(std::move(cursor));
    return number;
  }

  D dynamics_;
  GraphLimits limits_;
  Budget budget_;
  std::vector<Action> legal_;
  std::deque<Cursor> waiting_;
  std::uint32_t known_ = 0;
  GameGraph graph_;
};

template <Rules R>
GameGraph build_graph(const AnyState& state, const GraphLimits& limits, Watcher& watcher) {
  const auto& typed = static_cast<const StateOf<R>&>(state);
  const auto& game = static_cast<const GameOf<R>&>(*state.game());
  using Dynamics = RulesDynamics<R>;
  return GraphBuilder<Dynamics>(Dynamics(game.rules(), {}), limits, watcher).build(typed.position());
}

}  // namespace ramify
