// What the bindings of searches and of pools share of learned models.
#pragma once

#include <memory>
#include <string>

#include "bind/search.hpp"
#include "search/latent.hpp"

namespace ramify {

// Slots as Python holds them; the searches that use them keep them too.
struct BoundSlots {
  std::shared_ptr<Slots> slots = std::make_shared<Slots>();
};

// `slots` is a BoundSlots, or None for slots of its own.
LatentModel to_latent_model(int num_actions, const std::string& order, nb::handle slots);
// The same from num_actions, acting and slots in a dictionary.
LatentModel to_latent_model(const nb::dict& model);
std::unique_ptr<RealGame> real_python_game(const nb::object& state);

}  // namespace ramify
