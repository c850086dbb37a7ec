#include "search/game_graph.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"
#include "search/zero_sum.hpp"

namespace ramify {

Budget::Budget(Watcher& watcher, double seconds)
    : watcher_(watcher),
      deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                   std::chrono::duration<double>(seconds > 0.0 ? std::min(seconds, 1e9) : 1e9))),
      next_look_(Clock::now()) {}

void Budget::look() {
  const auto now = Clock::now();
  if (now >= deadline_)
    throw InvalidInput("not finished within max_seconds: allow more time, or start nearer to the end of the game");
  if (now < next_look_) return;
  next_look_ = now + std::chrono::milliseconds(50);
  if (watcher_.stop()) throw Interrupted{};
}

std::size_t PositionTable::place(Key key) const {
  std::size_t k = mix(key) & (slots_.size() - 1);  // authors in Python may simply number their positions
  while (slots_[k].number != kUnknown && slots_[k].key != key) k = (k + 1) & (slots_.size() - 1);
  return k;
}

std::uint32_t PositionTable::find(Key key) const { return slots_[place(key)].number; }

std::uint32_t PositionTable::insert(Key key, std::uint32_t next) {
  if (2 * used_ >= slots_.size()) grow();
  Slot& slot = slots_[place(key)];
  if (slot.number != kUnknown) return slot.number;
  slot = {key, next};
  ++used_;
  return next;
}

void PositionTable::grow() {
  const std::vector<Slot> old = std::exchange(slots_, std::vector<Slot>(2 * slots_.size()));
  for (const Slot& slot : old)
    if (slot.number != kUnknown) slots_[place(slot.key)] = slot;
}

void GameGraph::sort(Budget& budget) {
  const auto count = static_cast<std::uint32_t>(positions.size());
  order.clear();
  order.reserve(count);
  enum : std::uint8_t { kNew, kOpen, kDone };
  std::vector<std::uint8_t> seen(count, kNew);
  std::vector<std::pair<std::uint32_t, std::uint64_t>> stack{{0, 0}};  // position, next of its edges
  seen[0] = kOpen;
  while (!stack.empty()) {
    auto& [at, next] = stack.back();
    const Position& position = positions[at];
    if (next == static_cast<std::uint64_t>(position.n0) * position.n1) {
      seen[at] = kDone;
      order.push_back(at);
      stack.pop_back();
      continue;
    }
    budget.spend();
    const std::uint32_t child = children[position.first_edge + next++];
    if (child == kEnd || seen[child] == kDone) continue;
    if (seen[child] == kOpen)
      throw InvalidInput(
          "a position can come back, so the game can go on for ever: exact solutions need a game in which every "
          "position has a bounded number of turns left");
    seen[child] = kOpen;
    stack.emplace_back(child, 0);
  }
}

namespace {

void fill_payoffs(const GameGraph& graph, std::span<const double> values, const GameGraph::Position& position,
                  std::vector<double>& table) {
  const auto size = static_cast<std::size_t>(position.n0) * static_cast<std::size_t>(position.n1);
  table.resize(size);
  for (std::size_t k = 0; k < size; ++k) {
    const std::uint64_t edge = position.first_edge + k;
    const std::uint32_t child = graph.children[edge];
    table[k] = graph.difference(edge) + (child == GameGraph::kEnd ? 0.0 : values[child]);
  }
}

}  // namespace

std::vector<double> payoffs(const GameGraph& graph, std::span<const double> values, std::uint32_t position) {
  std::vector<double> table;
  fill_payoffs(graph, values, graph.positions[position], table);
  return table;
}

std::vector<double> solve(const GameGraph& graph, Budget& budget, std::vector<double>& strategies) {
  std::vector<double> values(graph.positions.size()), table;
  strategies.assign(graph.actions.size(), 0.0);
  for (const std::uint32_t at : graph.order) {
    budget.spend();
    const GameGraph::Position& position = graph.positions[at];
    fill_payoffs(graph, values, position, table);
    double* x = strategies.data() + position.first_choice;
    values[at] = zero_sum_value(table.data(), position.n0, position.n1, x, x + position.n0);
  }
  return values;
}

std::vector<double> evaluate(const GameGraph& graph, std::span<const double> strategies, Budget& budget) {
  std::vector<double> values(2 * graph.positions.size(), 0.0);
  for (const std::uint32_t at : graph.order) {
    budget.spend();
    const GameGraph::Position& position = graph.positions[at];
    const double* x = strategies.data() + position.first_choice;
    const double* y = x + position.n0;
    for (int i = 0; i < position.n0; ++i)
      for (int j = 0; j < position.n1; ++j) {
        const double chance = x[i] * y[j];
        if (chance == 0.0) continue;
        const std::uint64_t edge = position.edge(i, j);
        const std::uint32_t child = graph.children[edge];
        for (std::size_t player = 0; player < 2; ++player) {
          const double later = child == GameGraph::kEnd ? 0.0 : values[2 * std::size_t{child} + player];
          values[2 * std::size_t{at} + player] += chance * (static_cast<double>(graph.rewards[edge][player]) + later);
        }
      }
  }
  return values;
}

BestResponse best_response(const GameGraph& graph, std::span<const double> strategies, int player, bool own,
                           Budget& budget) {
  BestResponse found{std::vector<double>(graph.positions.size(), 0.0),
                     std::vector<std::int32_t>(graph.positions.size(), 0)};
  for (const std::uint32_t at : graph.order) {
    budget.spend();
    const GameGraph::Position& position = graph.positions[at];
    const double* other = strategies.data() + position.choices(1 - player);
    double best = -HUGE_VAL;
    for (int mine = 0; mine < position.outcomes(player); ++mine) {
      double earned = 0.0;
      for (int theirs = 0; theirs < position.outcomes(1 - player); ++theirs) {
        if (other[theirs] == 0.0) continue;
        const std::uint64_t edge = player == 0 ? position.edge(mine, theirs) : position.edge(theirs, mine);
        const std::uint32_t child = graph.children[edge];
        const double later = child == GameGraph::kEnd ? 0.0 : found.values[child];
        earned += other[theirs] * (graph.payoff(edge, player, own) + later);
      }
      if (earned <= best) continue;
      best = earned;
      found.outcomes[at] = mine;
    }
    found.values[at] = best;
  }
  return found;
}

}  // namespace ramify
