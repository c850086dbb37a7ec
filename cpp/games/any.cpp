#include "games/any.hpp"

#include <algorithm>
#include <array>

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

Joint AnyState::checked_outcome(std::span<const Action> given) const {
  const std::vector<Action> outcomes = chance().outcomes;
  if (given.size() == 1 && std::find(outcomes.begin(), outcomes.end(), given[0]) != outcomes.end())
    return chance_joint(given[0]);
  constexpr std::size_t kShown = 12;
  std::string some, not_one;
  for (std::size_t i = 0; i < std::min(outcomes.size(), kShown); ++i) some += (i ? ", " : "") + std::to_string(outcomes[i]);
  for (const Action outcome : given) not_one += (not_one.empty() ? "" : ", ") + std::to_string(outcome);
  throw IllegalAction("chance decides here: its outcome must be one of " + some + (outcomes.size() > kShown ? ", ..." : "") +
                      ", not (" + not_one + "), in\n" + text());
}

Rewards AnyState::apply_only(std::span<const Action> actions) {
  const bool chance = game_->has_chance() && acting() == kChance;
  const Rewards rewards = apply_unchecked(chance ? checked_outcome(actions) : checked(actions));
  for (std::size_t p = 0; p < 2; ++p) returns_[p] += rewards[p];
  return rewards;
}

Rewards AnyState::draw_all() {
  Rewards paid{0.0f, 0.0f};
  while (acting() == kChance) {
    const Rewards rewards = apply_only(std::array{peek_chance()});
    for (std::size_t p = 0; p < 2; ++p) paid[p] += rewards[p];
  }
  return paid;
}

Rewards AnyState::apply(std::span<const Action> actions) {
  Rewards paid = apply_only(actions);
  if (!game_->has_chance()) return paid;
  const Rewards later = draw_all();
  for (std::size_t p = 0; p < 2; ++p) paid[p] += later[p];
  return paid;
}

void add_dice(const Dice& dice, Value::Dict& parts) {
  parts.emplace_back("chance_seed", static_cast<std::int64_t>(dice.seed));
  parts.emplace_back("chance_events", static_cast<std::int64_t>(dice.events));
}

Dice take_dice(Value::Dict& parts, const std::string& game) {
  Dice dice;
  const auto take = [&](const char* name, int bits, std::uint64_t& number) {
    const auto found = std::find_if(parts.begin(), parts.end(), [&](const auto& entry) { return entry.first == name; });
    if (found == parts.end()) return;
    const auto* given = std::get_if<std::int64_t>(&found->second.data);
    if (!given || *given < 0 || static_cast<std::uint64_t>(*given) >> bits)
      throw InvalidInput(game + ": " + name + " must be a whole number from 0 to 2**" + std::to_string(bits) + " - 1, not " +
                         describe(found->second));
    number = static_cast<std::uint64_t>(*given);
    parts.erase(found);
  };
  take("chance_seed", 63, dice.seed);
  take("chance_events", 62, dice.events);  // more will follow
  return dice;
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
