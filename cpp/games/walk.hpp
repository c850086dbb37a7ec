// Walking through any game: random play and counting. Used by benchmarks and tests.
#pragma once

#include <cstdint>
#include <vector>

#include "base/rng.hpp"
#include "games/rules.hpp"

namespace ramify {

template <Rules R>
std::int64_t random_turns(const R& rules, std::uint64_t seed, int games) {
  std::vector<Action> legal(static_cast<std::size_t>(rules.num_actions()));
  std::int64_t turns = 0;
  for (int game = 0; game < games; ++game) {
    Rng rng(seed, static_cast<std::uint64_t>(game));
    auto state = rules.initial(rng.next());
    for (Acting acting = rules.acting(state); acting != kOver; acting = rules.acting(state), ++turns) {
      if constexpr (HasChance<R>)
        for (ChanceEvent event; acting == kChance; acting = rules.acting(state)) {
          rules.chance(state, event);
          rules.apply(state, chance_joint(event.at(rng.uniform())));
        }
      if (acting == kOver) break;
      Joint joint;
      for (int player = 0; player < 2; ++player)
        if (acts(acting, player)) {
          const int count = rules.actions(state, player, legal.data());
          joint.of[static_cast<std::size_t>(player)] = legal[rng.below(static_cast<std::uint32_t>(count))];
        }
      rules.apply(state, joint);
    }
  }
  return turns;
}

constexpr int kMostPerft = 128;  // the recursion must fit on the stack of any thread; no tree that deep is ever counted

// Leaves of the tree of that depth, counted one by one; outcomes of chance count as different ways, and take no depth. A game
// may bring its own (same numbers, fewer checks).
template <Rules R>
std::uint64_t perft(const R& rules, const typename R::State& state, int depth) {
  if constexpr (requires { rules.perft(state, depth); }) {
    return rules.perft(state, depth);
  } else {
    if (depth == 0) return 1;
    const Acting acting = rules.acting(state);
    if constexpr (HasChance<R>)
      if (acting == kChance) {
        ChanceEvent event;
        rules.chance(state, event);
        std::uint64_t leaves = 0;
        for (const Action outcome : event.outcomes) {
          auto child = state;
          rules.apply(child, chance_joint(outcome));
          leaves += perft(rules, child, depth);
        }
        return leaves;
      }
    std::vector<Action> first(static_cast<std::size_t>(rules.num_actions()), kNone), second = first;
    const int n0 = acts(acting, 0) ? rules.actions(state, 0, first.data()) : acting != kOver;
    const int n1 = acts(acting, 1) ? rules.actions(state, 1, second.data()) : acting != kOver;
    std::uint64_t leaves = 0;
    for (int i = 0; i < n0; ++i)
      for (int j = 0; j < n1; ++j) {
        auto child = state;
        rules.apply(child, Joint{{first[static_cast<std::size_t>(i)], second[static_cast<std::size_t>(j)]}});
        leaves += perft(rules, child, depth - 1);
      }
    return leaves;
  }
}

}  // namespace ramify
