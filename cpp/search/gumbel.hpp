// Gumbel search: at the root a few outcomes, drawn without replacement, are compared by sequential halving; below it
// visits follow an improved policy. docs/methods/gumbel.md derives it; every player who chooses has a race of its own.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "search/graph.hpp"
#include "search/root.hpp"
#include "search/select.hpp"
#include "search/settings.hpp"

namespace ramify {

// Sequential halving of `considered` outcomes: how many visits an outcome must have to be given the next one. Kept as a few
// phases, not visit by visit, because more visits may be asked for than are ever made.
class VisitSchedule {
 public:
  VisitSchedule() = default;
  VisitSchedule(int considered, std::int64_t visits);
  std::uint32_t at(std::int64_t visit) const;  // 0 <= visit < visits

 private:
  struct Phase {
    std::int64_t begin;  // its first visit
    std::int64_t made;   // visits that every outcome left has had by then
    int left;            // outcomes visited in turn
  };
  std::vector<Phase> phases_;
};

// One player's race at the root.
class Race {
 public:
  // Draws the Gumbel numbers of outcomes with these clean priors (in the order of `actions`, ascending).
  void begin(const Settings& settings, std::vector<Action> actions, const std::vector<float>& priors,
             std::vector<std::uint32_t> visits_before, std::int64_t visits, Rng& rng);
  bool running() const { return !actions_.empty(); }
  void clear() { *this = {}; }

  const std::vector<float>& numbers() const { return gumbel_; }
  const std::vector<std::uint32_t>& before() const { return before_; }

  // The word to visit next.
  std::uint32_t choose(const Settings& settings, const Node& node, int player, const std::uint32_t* words,
                       const OutcomeCounts& counts) const;
  // Of the outcomes with the most visits in this run, the place among `actions` of the best one.
  std::size_t winner(const Settings& settings, const Node& node, int player, const std::uint32_t* words,
                     const OutcomeCounts& counts) const;

 private:
  // The word with the best sum of noise, logit and weighed value among those with so many visits in this run.
  std::uint32_t best_of(const Settings& settings, const Node& node, int player, const std::uint32_t* words,
                        const OutcomeCounts& counts, std::uint32_t visits) const;

  std::vector<Action> actions_;
  std::vector<float> gumbel_, logits_;
  std::vector<std::uint32_t> before_;  // visits that a graph kept from earlier brings along
  std::int64_t visits_ = 0;  // of this race, in all
  VisitSchedule schedule_;
};

// Below the root: the word that the improved policy has visited least, for its weight.
std::uint32_t choose_interior(const Settings& settings, const Node& node, int player, const std::uint32_t* words,
                              const OutcomeCounts& counts);

// The edge to take, by both players' races at the root and by the improved policies below it (races null).
Pick select_gumbel(const Graph& graph, const Settings& settings, const Node& node, const Race* races);

}  // namespace ramify
