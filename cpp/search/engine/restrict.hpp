// A root with some of its actions alone. Part of search/search.hpp, which includes it.
#pragma once

#include "search/search.hpp"

namespace ramify {

template <class D>
void Search<D>::restrict_root(std::vector<Action> first, std::vector<Action> second) {
  std::vector<Action> given[2] = {std::move(first), std::move(second)};
  for (int p = 0; p < 2; ++p) {
    if (given[p].empty()) continue;
    std::sort(given[p].begin(), given[p].end());
    given[p].erase(std::unique(given[p].begin(), given[p].end()), given[p].end());
    const std::vector<Action> legal = acts(root_acting(), p) ? root_legal(p) : std::vector<Action>{};
    for (const Action action : given[p])
      if (!std::binary_search(legal.begin(), legal.end(), action))
        throw InvalidInput("action " + std::to_string(action) + " of player " + std::to_string(p) + " is not legal at the root");
  }
  cancel();
  for (int p = 0; p < 2; ++p) root_actions_[p] = std::move(given[p]);
  noised_ = false;
  for (Race& race : races_) race.clear();
  new_root(settings_.solver ? dynamics_.stakes(root_cursor_) : Stakes{});
}

// As dynamics_.legal, but of a restricted root only its actions.
template <class D>
int Search<D>::legal_of(NodeId id, const Cursor& cursor, int player, Action* actions) const {
  if (!restricted(id, player)) return dynamics_.legal(cursor, player, actions);
  std::copy(root_actions_[player].begin(), root_actions_[player].end(), actions);
  return static_cast<int>(root_actions_[player].size());
}

// As dynamics_.outcomes, but of a restricted root only those that its actions lead to. An outcome is named by an action of
// the list: by the one that names it otherwise, or else by the least.
template <class D>
int Search<D>::outcomes_of(Worker& worker, NodeId id, const Cursor& cursor, int player, Action* actions, std::int16_t* index) const {
  if (!restricted(id, player)) return dynamics_.outcomes(cursor, player, actions, index);
  if constexpr (D::kMerges) {
    index = worker.merge.data();
    const int all = dynamics_.outcomes(cursor, player, actions, index);
    std::vector<Action> named(static_cast<std::size_t>(std::max(all, 0)), kNone);
    for (const Action action : root_actions_[player]) {
      const int outcome = index[action];
      if (outcome < 0) throw InvalidInput("legal action " + std::to_string(action) + " has no outcome in outcomes()");
      Action& name = named[static_cast<std::size_t>(outcome)];
      if (name == kNone || action == actions[outcome]) name = action;
    }
    std::vector<Action> kept;
    std::copy_if(named.begin(), named.end(), std::back_inserter(kept), [](Action action) { return action != kNone; });
    std::sort(kept.begin(), kept.end());
    for (int a = 0; a < num_actions(); ++a) {
      const Action name = index[a] < 0 ? kNone : named[static_cast<std::size_t>(index[a])];
      index[a] = static_cast<std::int16_t>(name == kNone ? -1 : static_cast<int>(place_of(kept, name)));
    }
    std::copy(kept.begin(), kept.end(), actions);
    return static_cast<int>(kept.size());
  } else {
    return legal_of(id, cursor, player, actions);
  }
}

}  // namespace ramify
