// Searches over a learned model: of one position, or of a game that is played with them.
#pragma once

#include <memory>
#include <vector>

#include "games/any.hpp"
#include "search/any_search.hpp"
#include "search/dynamics.hpp"
#include "search/settings.hpp"
#include "search/slots.hpp"

namespace ramify {

// What the core has to know of a model.
struct LatentModel {
  int num_actions = 0;
  ActingOrder order = ActingOrder::kAlternating;
  std::shared_ptr<Slots> slots;
};

// What is known of the position from which the model is searched.
struct LatentRoot {
  Acting acting = kFirst;
  std::vector<Action> legal[2];    // empty: all
  std::vector<float> observation;  // empty: somebody else writes it into the batch
};

std::unique_ptr<AnySearch> make_latent_search(const LatentModel& model, LatentRoot root, const Settings& settings);

// The game that is really played: the rules are asked who acts, what is legal and what can be seen, once a move.
class RealGame {
 public:
  virtual ~RealGame() = default;
  virtual Acting acting() const = 0;
  virtual std::vector<Action> legal(int player) const = 0;
  virtual Rewards apply(Joint joint) = 0;
  virtual void observe(int player, float* out) const = 0;
  virtual std::size_t observation_size() const = 0;
  virtual Key key() const = 0;
  virtual bool needs_python() const { return false; }
};
std::unique_ptr<RealGame> real_game(std::unique_ptr<AnyState> state);

// A search that plays a game with a model. Every move begins a new tree, whose root the model encodes from what is seen
// of the real position: its row has no parent, and an observation. Nothing of the tree before is kept.
std::unique_ptr<AnySearch> make_latent_play(const LatentModel& model, std::unique_ptr<RealGame> game,
                                            const Settings& settings);

}  // namespace ramify
