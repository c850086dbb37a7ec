// Up: a leaf gets its priors and values, and its path the news. Part of search/search.hpp, which includes it.
#pragma once

#include "search/search.hpp"

namespace ramify {

template <class D>
void Search<D>::fill_uniform(const Graph& graph, Node& node) {
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    std::uint32_t* words = graph.words(node, p);
    const std::uint32_t code = encode_prior(1.0f / static_cast<float>(node.outcomes[p])) << 16;
    for (std::uint32_t i = 0; i < node.outcomes[p]; ++i) words[i] = code | (words[i] & 0xffffu);
  }
}

template <class D>
void Search<D>::fill_player(Worker& worker, const Leaf& leaf, Node& node, int player, LogitRow logits, int row) {
  Action* actions = worker.actions.data();
  std::uint32_t* words = graph_.words(node, player);
  int n = node.outcomes[player];
  if constexpr (D::kMerges) n = legal_of(leaf.node, leaf.cursor, player, actions);
  else
    for (int i = 0; i < n; ++i) actions[i] = word_action(words[i]);  // as `prepare` found them
  if (!softmax(logits, actions, n, worker.priors.data()))
    throw EvaluatorError("row " + std::to_string(row) + ": a logit of a legal action of player " +
                         std::to_string(player) + " is not finite");
  const float* priors = worker.priors.data();
  if constexpr (D::kMerges) {
    std::fill(worker.outcome_priors.begin(), worker.outcome_priors.end(), 0.0f);
    const Action* legal = actions;
    const int legal_count = n;
    actions += num_actions();
    n = outcomes_of(worker, leaf.node, leaf.cursor, player, actions, worker.merge.data());
    for (int i = 0; i < legal_count; ++i) {
      const int outcome = worker.merge[static_cast<std::size_t>(legal[i])];
      if (outcome < 0) throw InvalidInput("legal action " + std::to_string(legal[i]) + " has no outcome in outcomes()");
      worker.outcome_priors[static_cast<std::size_t>(outcome)] += priors[i];
    }
    priors = worker.outcome_priors.data();
    if (n != node.outcomes[player])
      throw InvalidInput("player " + std::to_string(player) + " has " + std::to_string(n) + " outcomes, but had " +
                         std::to_string(node.outcomes[player]) + " before: equal keys must have equal actions");
  }
  for (int i = 0; i < n; ++i) words[i] = make_word(priors[i], actions[i]);
  if (leaf.node == root_)
    root_priors_.set(player, std::vector<Action>(actions, actions + n), std::vector<float>(priors, priors + n));
}

template <class D>
void Search<D>::fill_priors(Worker& worker, const Leaf& leaf, LogitRow logits, std::size_t stride, int row) {
  Node& node = graph_.node(leaf.node);
  for (int p = 0; p < 2; ++p)
    if (acts(node.acting, p)) fill_player(worker, leaf, node, p, logits.from(static_cast<std::size_t>(p) * stride), row);
}

template <class D>
void Search<D>::check_values(const float* values, int row) const {
  for (int p = 0; p < 2; ++p)
    if (!std::isfinite(values[p]))
      throw EvaluatorError("row " + std::to_string(row) + ": the value of player " + std::to_string(p) + " is not finite");
}

// The weight of an evaluation with these expected squares of its values' errors, one or one per player.
template <class D>
float Search<D>::weight_of(const float* errors, int count, int row) const {
  constexpr double kLeast = 1e-6;  // a weight of 0 would leave a node without a value
  double sum = 0.0;
  for (int p = 0; p < count; ++p) {
    const auto error = static_cast<double>(errors[2 * p]);
    if (!std::isfinite(error) || error < 0.0)
      throw EvaluatorError("row " + std::to_string(row) + ": the expected squared error of a value is " +
                           std::to_string(error) + ": it must be finite and not negative");
    sum += error;
  }
  return static_cast<float>(std::max(kLeast, settings_.error_scale / (settings_.error_scale + std::sqrt(sum / count))));
}

template <class D>
void Search<D>::set_weight(NodeId id, float weight) {
  if (weighted()) graph_.weights(graph_.node(id)) = {weight, weight};
}

// Where both choose and every pair ends the game: opens all of them, which proves the node. Not at the root, whose visits
// are looked at. Nearly always the first pair tells that there is nothing to do.
template <class D>
void Search<D>::look_ahead_jointly(Worker& worker, const Cursor& cursor, Node& node) {
  constexpr std::uint32_t kMost = 64;  // pairs
  const std::uint32_t n0 = node.outcomes[0], n1 = node.outcomes[1];
  if (node.opened || n0 * n1 > kMost) return;
  std::array<Rewards, kMost> last;
  for (std::uint32_t k = 0; k < n0 * n1; ++k) {
    Cursor next = cursor;
    last[k] = dynamics_.apply(next, {{word_action(graph_.words(node, 0)[k / n1]), word_action(graph_.words(node, 1)[k % n1])}});
    if (dynamics_.acting(next) != kOver) return;
    check_zero_sum(last[k]);
  }
  constexpr float kNothing[2] = {0.0f, 0.0f};
  try {
    for (std::uint32_t k = 0; k < n0 * n1; ++k) {
      const std::uint32_t edge = graph_.open(worker.index, node, make_pair_word(k / n1, k % n1), kNothing);
      graph_.edges(node).child[edge] = graph_.terminal();
      graph_.set_reward(worker.index, node, edge, last[k]);
      update_edge(graph_, settings_, node, graph_.edges(node), edge);
    }
  } catch (const std::bad_alloc& error) {  // visits may find the rest
    graph_.stop_growing(error);
  }
  update_proof(graph_, settings_, node, zero_sum_);
}

// Opens the edges that end the game, so that a proof need not wait for visits: all of them, or one that wins everything.
template <class D>
void Search<D>::look_ahead(Worker& worker, const Cursor& cursor, Node& node) {
  if (node.opened) return;
  const int player = node.chooser();
  std::uint32_t* words = graph_.words(node, player);
  std::vector<std::pair<std::uint32_t, Rewards>> last;
  for (std::uint32_t i = 0; i < node.outcomes[player]; ++i) {
    Joint joint;
    for (int p = 0; p < 2; ++p)
      if (acts(node.acting, p)) joint.of[static_cast<std::size_t>(p)] = word_action(p == player ? words[i] : *graph_.words(node, p));
    Cursor next = cursor;
    const Rewards rewards = dynamics_.apply(next, joint);
    if (dynamics_.acting(next) != kOver) continue;
    check_zero_sum(rewards);
    const bool wins = rewards[static_cast<std::size_t>(player)] >= graph_.proof(node).most[player];
    if (wins) last.clear();
    last.emplace_back(words[i], rewards);
    if (wins) break;
  }
  constexpr float kNothing[2] = {0.0f, 0.0f};
  for (const auto& [word, rewards] : last) {
    const auto place = static_cast<std::uint32_t>(std::find(words, words + node.outcomes[player], word) - words);
    try {
      const std::uint32_t edge = graph_.open(worker.index, node, place, kNothing);
      graph_.set_reward(worker.index, node, edge, rewards);
      graph_.edges(node).child[edge] = graph_.terminal();
      update_edge(graph_, settings_, node, graph_.edges(node), edge);
    } catch (const std::bad_alloc& error) {  // visits may find it yet
      graph_.stop_growing(error);
      break;
    }
  }
  update_proof(graph_, settings_, node, zero_sum_);
}

template <class D>
void Search<D>::finish_leaf(Worker& worker, const Cursor& cursor, NodeId id, const float* values,
                            const std::vector<Step>& path) {
  Node& node = graph_.node(id);
  node.visits = 1;
  if (settings_.solver && !node.joint()) look_ahead(worker, cursor, node);
  else if (settings_.solver && id != root_) look_ahead_jointly(worker, cursor, node);
  for (int p = 0; p < 2; ++p) {
    node.evaluation[p] = values[p];
    store(node.value[p], settings_.solver ? clip(graph_.proof(node), p, values[p]) : values[p]);
  }
  if (node.words) graph_.settle_next(node);
  if (id == root_) {
    if (!root_priors_.known()) root_priors_ = read_priors(graph_, node);
    write_root_priors();
  }
  store(node.status, Status::kReady);
  if (settings_.solver && settings_.graph && is_proven(graph_.proof(node))) worker.solved.push_back(id);
  back_up(worker, path);
}

template <class D>
RAMIFY_HOT void Search<D>::take_news(const Node& node, const Edges& edges, std::uint32_t edge) {
  update_edge(graph_, settings_, node, edges, edge);
  if (settings_.normalize == Normalize::kMinMax) widen_bounds(edges, edge);
}

template <class D>
void Search<D>::widen_bounds(const Edges& edges, std::uint32_t edge) {
  const auto within = [&](int p) { return load(bounds_.low[p]) <= edges.q[p][edge] && edges.q[p][edge] <= load(bounds_.high[p]); };
  if (within(0) && within(1)) return;  // nearly always
  const std::lock_guard<std::mutex> guard(bounds_mutex_);
  for (int p = 0; p < 2; ++p) {
    const float q = edges.q[p][edge];
    store(bounds_.low[p], std::min(bounds_.low[p], q));
    store(bounds_.high[p], std::max(bounds_.high[p], q));
  }
}

template <class D>
RAMIFY_HOT void Search<D>::count_simulation(Worker& worker, std::size_t turns) {
  ++worker.stats.simulations;
  worker.stats.turns += static_cast<std::int64_t>(turns);
  worker.stats.max_depth = std::max(worker.stats.max_depth, static_cast<std::int32_t>(turns));
}

template <class D>
void Search<D>::back_up(Worker& worker, const std::vector<Step>& path) {
  count_simulation(worker, path.size());
  if (worker.defers) return;
  bool news = settings_.solver;  // whether something more is proven of the child
  if (tells_ && !path.empty()) {  // of the leaf
    const Step& last = path.back();
    graph_.make_stale(graph_.node(child_of(graph_.edges(graph_.node(last.node)), last.edge)), last.node);
  }
  auto end = path.rend() - static_cast<std::ptrdiff_t>(worker.base);
  if (worker.saves_news && !path.empty()) {  // the root hears of it later
    worker.news.push_back(path.front().edge);
    --end;
  }
  for (auto step = path.rbegin(); step != end; ++step) {
    Node& node = graph_.node(step->node);
    NodeLock lock(node, threaded());
    if (is_swift(node)) [[likely]] {
      const Edges edges = graph_.lone_edges(node);
      const Node& child = graph_.node(child_of(edges, step->edge));
      if (node.hinted) [[unlikely]] graph_.note_hint(node, step->edge, child);
      const auto [first, second] = worth(edges, step->edge, child, settings_.discount);
      update_value_wide(node, edges.child, edge_capacity(node.opened), step->edge, first, second);
      continue;
    }
    const Edges edges = graph_.edges(node);
    take_news(node, edges, step->edge);
    if (plain_) [[likely]] {
      if (tells_) average_and_tell(node, edges, step + 1 == path.rend() ? 0 : (step + 1)->node);
      else average(node, edges);
      continue;
    }
    if (mixes(settings_) && node.joint()) learn(graph_, settings_, node, edges, step->edge);
    if (news || (settings_.solver && settings_.graph)) news = update_proof(graph_, settings_, node, zero_sum_);
    revalue(node, edges);
    if (news && settings_.graph && is_proven(graph_.proof(node))) worker.solved.push_back(step->node);
  }
  if (!worker.solved.empty()) spread_proofs(worker);
}

// Notes that something has changed at the end of a path. The nodes of paths that meet are recomputed once, by `settle`.
template <class D>
void Search<D>::touch(const std::vector<Step>& path) {
  if (touched_.size() < path.size()) touched_.resize(path.size());
  for (std::size_t depth = path.size(); depth-- > 0;) {
    touched_[depth].push_back(path[depth]);
    Node& node = graph_.node(path[depth].node);
    if (node.touched) return;  // and with it all above
    node.touched = true;
  }
}

// Recomputes what was touched, from the deepest edges up. In one thread.
template <class D>
void Search<D>::settle() {
  for (std::size_t depth = touched_.size(); depth-- > 0;) {
    for (const Step& step : touched_[depth]) {
      const Node& node = graph_.node(step.node);
      const Edges edges = graph_.edges(node);
      const std::uint32_t child = edges.child[step.edge];
      if (!(child & kPending) || load(graph_.node(child_of(edges, step.edge)).status) == Status::kReady)
        update_edge(graph_, settings_, node, edges, step.edge);
    }
    for (const Step& step : touched_[depth]) {
      Node& node = graph_.node(step.node);
      if (!node.touched) continue;
      node.touched = false;
      average(node, graph_.edges(node));
    }
    touched_[depth].clear();
  }
}

// The node's value by its present edges.
template <class D>
RAMIFY_HOT void Search<D>::average(Node& node, const Edges& edges) {
  if (is_chance(node)) update_chance(graph_, settings_, node, edges);
  else update_value(graph_, node, edges);
}

// The same, and tells all parents but the one above if it has changed.
template <class D>
void Search<D>::average_and_tell(Node& node, const Edges& edges, NodeId above) {
  const float before[2] = {node.value[0], node.value[1]};
  average(node, edges);
  if (before[0] != node.value[0] || before[1] != node.value[1]) graph_.make_stale(node, above);
}

// The same by the rules of all settings, within what is proven.
template <class D>
void Search<D>::revalue(Node& node, const Edges& edges) {
  const bool mixed = mixes(settings_) && node.joint();
  if (mixed) update_mixed_value(graph_, node, edges);
  else if (!weighted()) average(node, edges);
  if (weighted()) update_weights(graph_, node, edges, !mixed);
  if (!settings_.solver) return;
  for (int p = 0; p < 2; ++p) store(node.value[p], clip(graph_.proof(node), p, node.value[p]));
}

// Tells all parents of nodes that were just proven, and theirs, as far as it proves more: a proof found on one way is
// good for all. Every node is proven once, so this costs no more than one look along each edge of the graph.
template <class D>
void Search<D>::spread_proofs(Worker& worker) {
  while (!worker.solved.empty()) {
    const NodeId child = worker.solved.back();
    worker.solved.pop_back();
    std::vector<NodeId> parents;
    {
      const NodeLock lock(graph_.node(child), threaded());
      graph_.for_parents(graph_.node(child), [&](NodeId parent) { parents.push_back(parent); });
    }
    for (const NodeId id : parents) {
      Node& node = graph_.node(id);
      if (load(node.status) != Status::kReady) continue;
      NodeLock lock(node, threaded());
      if (!update_proof(graph_, settings_, node, zero_sum_)) continue;
      refresh_edges(graph_, settings_, node);
      revalue(node, graph_.edges(node));
      if (is_proven(graph_.proof(node))) worker.solved.push_back(id);
    }
  }
}

// Brings the root what descents handed out together have found, with one look over its edges.
template <class D>
void Search<D>::tell_root(Worker& worker) {
  worker.saves_news = false;
  if (worker.news.empty()) return;
  Node& root = graph_.node(root_);
  NodeLock lock(root, threaded());
  const Edges edges = graph_.edges(root);
  for (const std::uint32_t edge : worker.news) {
    take_news(root, edges, edge);
    if (mixes(settings_) && root.joint()) learn(graph_, settings_, root, edges, edge);
  }
  worker.news.clear();
  if (settings_.solver) update_proof(graph_, settings_, root, zero_sum_);
  revalue(root, edges);
}

// Takes back a visit, and what values made of it in the meantime.
template <class D>
void Search<D>::cancel_step(const Step& step, std::uint32_t visits) {
  Node& node = graph_.node(step.node);
  NodeLock lock(node, threaded());
  const Edges edges = graph_.edges(node);
  graph_.note_change(node, edges, step.edge);
  edges.visits[step.edge] -= visits;
  node.visits -= visits;
  if (!(edges.child[step.edge] & kPending)) update_edge(graph_, settings_, node, edges, step.edge);
  revalue(node, edges);
  if (tells_) graph_.make_stale(node, 0);
}

// From the last step up to this one.
template <class D>
void Search<D>::cancel_path(const std::vector<Step>& path, std::uint32_t visits, std::size_t first) {
  for (std::size_t i = path.size(); i-- > first;) cancel_step(path[i], visits);
}

}  // namespace ramify
