#include "games/any.hpp"

#include <algorithm>

#include "base/params.hpp"

namespace ramify {
namespace {

std::string joined(const std::vector<Action>& actions, const AnyState& state, int player) {
  constexpr std::size_t kShown = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(actions.size(), kShown); ++i)
    out += (i ? ", " : "") + std::to_string(actions[i]) + " (" + state.action_name(player, actions[i]) + ")";
  return actions.size() > kShown ? out + ", ..." : out;
}

}  // namespace

std::size_t AnyGame::observation_size() const {
  std::size_t size = 1;
  for (int side : observation_shape()) size *= static_cast<std::size_t>(side);
  return size;
}

Joint AnyState::checked(std::span<const Action> given) const {
  const Acting now = acting();
  if (now == kOver) throw IllegalAction("the game is over, so no action is legal in\n" + text());
  const std::size_t wanted = now == kBoth ? 2 : 1;
  if (given.size() != wanted)
    throw IllegalAction(std::string(wanted == 2 ? "both players act" : "one player acts") + " here, so apply takes " +
                        std::to_string(wanted) + (wanted == 2 ? " actions" : " action") + ", not " +
                        std::to_string(given.size()) + ", in\n" + text());
  Joint joint;
  std::size_t next = 0;
  for (int player = 0; player < 2; ++player) {
    if (!acts(now, player)) continue;
    const Action action = given[next++];
    const std::vector<Action> legal = actions(player);
    if (!std::binary_search(legal.begin(), legal.end(), action))
      throw IllegalAction("action " + std::to_string(action) + " is not legal for player " + std::to_string(player) +
                          " (legal: " + joined(legal, *this, player) + ") in\n" + text());
    joint.of[static_cast<std::size_t>(player)] = action;
  }
  return joint;
}

Rewards AnyState::apply(std::span<const Action> actions) {
  const Rewards rewards = apply_unchecked(checked(actions));
  for (std::size_t p = 0; p < 2; ++p) returns_[p] += rewards[p];
  return rewards;
}

Action AnyState::action(int player, const std::string& name) const {
  const std::vector<Action> legal = actions(player);
  std::vector<std::string> names;
  names.reserve(legal.size());
  for (Action action : legal) {
    names.push_back(action_name(player, action));
    if (names.back() == name) return action;
  }
  const std::string close = nearest(name, names);
  throw IllegalAction("'" + name + "' names no legal action of player " + std::to_string(player) +
                      (close.empty() ? "" : "; did you mean '" + close + "'?") + " (legal: " + joined(legal, *this, player) + ") in\n" + text());
}

std::map<std::string, GameEntry>& game_registry() {
  static auto& registry = *new std::map<std::string, GameEntry>;  // never destroyed: threads may still search at exit
  return registry;
}

}  // namespace ramify
