// How a game enters the module: the same for every game, one translation unit each.
#pragma once

#include "games/any.hpp"

namespace ramify {

template <Rules R>
void register_game() {
  game_registry()[std::string(R::name)] = {&GameOf<R>::make};
}

void register_all_games();

}  // namespace ramify
