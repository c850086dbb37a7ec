#include "search/mccfr.hpp"

#include <algorithm>

#include "base/rng.hpp"

namespace ramify {
namespace {

class Sampler {
 public:
  Sampler(const GameGraph& graph, std::uint64_t seed, Budget& budget)
      : graph_(graph),
        rng_(seed),
        budget_(budget),
        regrets_(graph.actions.size(), 0.0),
        sums_(graph.actions.size(), 0.0),
        visits_(graph.positions.size()) {}

  // One traversal: `player` learns, the other's strategy enters its average.
  void traverse(int player) {
    ++now_;
    enter(0, player);
    while (!stack_.empty()) {
      Frame& frame = stack_.back();
      const GameGraph::Position& position = graph_.positions[frame.at];
      if (frame.next == position.outcomes(player)) {
        learn(frame.at, player);
        stack_.pop_back();
        continue;
      }
      const std::uint32_t child = graph_.children[edge(frame.at, player, frame.next++)];
      if (child != GameGraph::kEnd && visits_[child].when != now_) enter(child, player);
    }
  }

  std::vector<double> averages() const {
    std::vector<double> found = sums_;
    for (const GameGraph::Position& position : graph_.positions)
      for (const int player : {0, 1}) normalise(found.data() + position.choices(player), position.outcomes(player));
    return found;
  }

 private:
  struct Visit {
    std::int64_t when = 0;  // the traversal of the fields below
    std::int32_t drawn = 0;  // outcome of the player who does not learn
    double value = 0.0;      // to the one who does
  };
  struct Frame {
    std::uint32_t at;
    int next;  // outcome of the player who learns
  };

  static void normalise(double* weights, int count) {
    double sum = 0.0;
    for (int i = 0; i < count; ++i) sum += weights[i];
    for (int i = 0; i < count; ++i) weights[i] = sum > 0.0 ? weights[i] / sum : 1.0 / count;
  }

  // Regret matching: in proportion to positive regrets, uniform without any.
  const std::vector<double>& strategy(const GameGraph::Position& position, int player) {
    const double* regrets = regrets_.data() + position.choices(player);
    strategy_.assign(regrets, regrets + position.outcomes(player));
    for (double& regret : strategy_) regret = std::max(regret, 0.0);
    normalise(strategy_.data(), position.outcomes(player));
    return strategy_;
  }

  std::uint64_t edge(std::uint32_t at, int player, int mine) const {
    const GameGraph::Position& position = graph_.positions[at];
    const int theirs = visits_[at].drawn;
    return player == 0 ? position.edge(mine, theirs) : position.edge(theirs, mine);
  }

  void enter(std::uint32_t at, int player) {
    budget_.spend();
    const GameGraph::Position& position = graph_.positions[at];
    const std::vector<double>& played = strategy(position, 1 - player);
    double* sums = sums_.data() + position.choices(1 - player);
    for (std::size_t j = 0; j < played.size(); ++j) sums[j] += played[j];
    visits_[at] = {now_, draw(played), 0.0};
    stack_.push_back({at, 0});
  }

  std::int32_t draw(const std::vector<double>& played) {
    if (played.size() == 1) return 0;
    double left = rng_.uniform();
    for (std::size_t j = 0; j + 1 < played.size(); ++j)
      if ((left -= played[j]) < 0.0) return static_cast<std::int32_t>(j);
    // Rounding may leave a little: to the last outcome that is played at all.
    const auto last = std::find_if(played.rbegin(), played.rend(), [](double p) { return p > 0.0; });
    return static_cast<std::int32_t>(played.rend() - last) - 1;
  }

  void learn(std::uint32_t at, int player) {
    const GameGraph::Position& position = graph_.positions[at];
    const int count = position.outcomes(player);
    const std::vector<double>& played = strategy(position, player);
    earned_.resize(static_cast<std::size_t>(count));
    double value = 0.0;
    for (int mine = 0; mine < count; ++mine) {
      const std::uint64_t taken = edge(at, player, mine);
      const std::uint32_t child = graph_.children[taken];
      const auto k = static_cast<std::size_t>(mine);
      earned_[k] = graph_.payoff(taken, player, false) + (child == GameGraph::kEnd ? 0.0 : visits_[child].value);
      value += played[k] * earned_[k];
    }
    double* regrets = regrets_.data() + position.choices(player);
    for (std::size_t k = 0; k < earned_.size(); ++k) regrets[k] += earned_[k] - value;
    visits_[at].value = value;
  }

  const GameGraph& graph_;
  Rng rng_;
  Budget& budget_;
  std::vector<double> regrets_, sums_;  // by choice
  std::vector<Visit> visits_;           // by position
  std::vector<Frame> stack_;
  std::vector<double> strategy_, earned_;
  std::int64_t now_ = 0;
};

}  // namespace

std::vector<double> mccfr(const GameGraph& graph, std::int64_t iterations, std::uint64_t seed, Budget& budget) {
  Sampler sampler(graph, seed, budget);
  for (std::int64_t k = 0; k < iterations; ++k)
    for (const int player : {0, 1}) sampler.traverse(player);
  return sampler.averages();
}

}  // namespace ramify
