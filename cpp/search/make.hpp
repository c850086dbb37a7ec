// Searches by the game's own type, for a registry that does not know it.
#pragma once

#include <memory>

#include "games/any.hpp"
#include "search/search.hpp"

namespace ramify {

template <Rules R>
std::unique_ptr<AnySearch> make_search(const AnyState& state, const Settings& settings) {
  const auto& typed = static_cast<const StateOf<R>&>(state);
  const auto& game = static_cast<const GameOf<R>&>(*state.game());
  using Dynamics = RulesDynamics<R>;
  return std::make_unique<Search<Dynamics>>(Dynamics(game.rules(), game.symmetries()), typed.position(), settings,
                                            game.observation_size());
}

}  // namespace ramify
