#include "search/alphabeta.hpp"

#include <algorithm>
#include <cmath>
#include <new>
#include <string>

#include "base/error.hpp"

namespace ramify {

Score to_score(double value) {
  constexpr double kMost = 1e5;
  if (!(std::abs(value) <= kMost))
    throw InvalidInput("alpha-beta needs rewards and heuristics from -100000 to 100000, not " + std::to_string(value));
  return std::llround(value * 0x1p28) * kUnit;
}

// calloc: the pages of a large table cost nothing until they are used.
BoundTable::BoundTable(std::int64_t positions)
    : pairs_(static_cast<std::uint64_t>((positions + 1) / 2)),
      memory_(pairs_ ? static_cast<Remembered*>(std::calloc(2 * pairs_, sizeof(Remembered))) : nullptr) {
  if (pairs_ && !memory_) throw std::bad_alloc();
}

const Remembered* BoundTable::find(Key key) const {
  const Remembered* both = pair(key);
  for (int i = 0; i < 2; ++i)
    if (both[i].key == key && both[i].bound != Bound::kNone) return &both[i];
  return nullptr;
}

void BoundTable::put(const Remembered& entry) {
  Remembered* both = pair(entry.key);
  if (both[0].bound != Bound::kNone && both[0].key != entry.key) {
    if (both[0].depth > entry.depth) {
      both[1] = entry;
      return;
    }
    both[1] = both[0];
  }
  both[0] = entry;
}

ActionMemory::ActionMemory(int num_actions, int depth) : killers_(static_cast<std::size_t>(depth), {kNone, kNone}) {
  for (auto& counts : counts_) counts.resize(static_cast<std::size_t>(num_actions));
}

void ActionMemory::refuted(int player, Action action, int depth, int ply) {
  auto& killers = killers_[static_cast<std::size_t>(ply)];
  if (killers[0] != action) killers = {action, killers[0]};
  auto& counts = counts_[player];
  if ((counts[static_cast<std::size_t>(action)] += depth * depth) > kMost)
    for (std::int32_t& count : counts) count /= 2;
}

std::int32_t ActionMemory::bonus(int player, Action action, int ply) const {
  const auto& killers = killers_[static_cast<std::size_t>(ply)];
  return counts_[player][static_cast<std::size_t>(action)] + (action == killers[0] || action == killers[1] ? kKiller : 0);
}

void narrow(std::vector<Choice>& choices, std::size_t begin, int width) {
  if (choices.size() - begin <= static_cast<std::size_t>(width)) return;
  const auto first = choices.begin() + static_cast<std::ptrdiff_t>(begin);
  std::nth_element(first, first + width, choices.end(), [](const Choice& a, const Choice& b) {
    return a.order != b.order ? a.order > b.order : a.action < b.action;
  });
  choices.erase(first + width, choices.end());
}

}  // namespace ramify
