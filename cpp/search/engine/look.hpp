// Looking at a search, and moving its root on. Part of search/search.hpp, which includes it.
#pragma once

#include "search/search.hpp"

namespace ramify {

template <class D>
SearchStats Search<D>::stats() const {
  SearchStats total;
  for (const auto& worker : workers_) total.add(worker->stats);
  total.nodes = graph_.count();
  total.bytes = graph_.bytes();
  total.full_reason = graph_.full_reason();
  return total;
}

template <class D>
std::uint32_t Search<D>::find_edge(const Node& node, Joint joint, int symmetry) const {
  for (std::uint32_t e = 0; e < node.opened; ++e)
    if (joint_of(node, e, symmetry).of == joint.of) return e;
  return kUntried;
}

template <class D>
NodeId Search<D>::follow(std::span<const Joint> path, Cursor& cursor, int& symmetry) const {
  symmetry = 0;
  NodeId id = root_;
  for (const Joint& joint : path) {
    const Node& node = graph_.node(id);
    const std::uint32_t edge = node.status == Status::kReady ? find_edge(node, joint, symmetry) : kUntried;
    if (edge == kUntried) return 0;
    id = move(cursor, joint, node, edge, symmetry);
    if (!id) return 0;
  }
  return id;
}

// Of a leaf that has no words yet. A copy gets them, because the graph may have no room for more.
template <class D>
Report Search<D>::report_leaf(const Node& leaf, const Cursor& cursor, int symmetry, const Ranges& ranges) const {
  Graph aside(false, 0, 1, graph_.extras());
  const NodeId id = aside.create(0, leaf.key);
  aside.node(id) = leaf;
  list_late(aside, *workers_[0], id, cursor, symmetry);
  Report made = make_report(aside, settings_, aside.node(id), ranges, dynamics_.to_actual(symmetry));
  if (dynamics_.swaps(symmetry)) exchange_players(made);
  return made;
}

template <class D>
Report Search<D>::report(std::span<const Joint> path) const {
  Cursor cursor = root_cursor_;
  int symmetry = 0;
  const NodeId id = follow(path, cursor, symmetry);
  if (!id) return {};
  const Node* node = &graph_.node(id);
  Ranges ranges;
  set_ranges(cursor, ranges);
  if (node->status == Status::kReady && !node->words) return report_leaf(*node, cursor, symmetry, ranges);
  if (settings_.graph) refresh_edges(graph_, settings_, *node);
  Report made = make_report(graph_, settings_, *node, ranges, dynamics_.to_actual(symmetry));
  if (dynamics_.swaps(symmetry)) exchange_players(made);
  if (path.empty())
    for (int p = 0; p < 2; ++p) {
      made.gumbel[p] = races_[p].numbers();
      made.before[p].assign(races_[p].before().begin(), races_[p].before().end());
      if (races_[p].running())
        made.winner[p] = static_cast<int>(races_[p].winner(settings_, *node, p, graph_.words(*node, p),
                                                           count_outcomes(graph_, settings_, *node, p)));
    }
  return made;
}

// Mean squares of nodes, found once each: mean of (reward + discount * what came of the child)^2 over visits. A descent
// that meets its own path again ends there with the node's value, so along an edge that closes a ring the child's square
// is that of its value.
template <class D>
std::vector<double> Search<D>::second_moments() const {
  using Squares = std::array<double, 2>;
  const Squares open{std::nan(""), std::nan("")};  // of a node whose children are being looked at
  std::unordered_map<NodeId, Squares> known{{graph_.terminal(), {0.0, 0.0}}};
  const auto edge_square = [&](const Edges& edges, std::uint32_t e, int p) {
    const NodeId id = child_of(edges, e);
    const int below = player_below(edges, e, p);
    const double reward = edges.reward[p] ? static_cast<double>(edges.reward[p][e]) : 0.0;
    const double g = discount_into(graph_.node(id), settings_.discount);
    const double value = static_cast<double>(graph_.node(id).value[below]);
    const double square = known.at(id)[static_cast<std::size_t>(below)];
    return reward * reward + 2.0 * reward * g * value + g * g * (std::isnan(square) ? value * value : square);
  };
  struct Visit {
    NodeId id;
    bool again;  // its children are known
  };
  std::vector<Visit> stack{{root_, false}};
  while (!stack.empty()) {  // children first
    const auto [id, again] = stack.back();
    stack.pop_back();
    const Node& node = graph_.node(id);
    const Edges edges = node.opened ? graph_.edges(node) : Edges{};
    if (!again) {
      if (!known.emplace(id, open).second) continue;  // another way led here first
      stack.push_back({id, true});
      for (std::uint32_t e = 0; e < node.opened; ++e)
        if (!(edges.child[e] & kPending) && !known.count(child_of(edges, e))) stack.push_back({child_of(edges, e), false});
      continue;
    }
    Squares squares;
    for (int p = 0; p < 2; ++p) {
      const auto own = static_cast<double>(node.evaluation[p]);
      double visits = is_chance(node) ? 0.0 : 1.0, sum = visits * own * own;
      const auto add = [&](std::uint32_t e, double weight) {
        if (edges.child[e] & kPending) return;
        sum += weight * edge_square(edges, e, p);
        visits += weight;
      };
      if (is_chance(node)) {
        for_weights(settings_, graph_.chance(node), edges, add);
      } else {
        for (std::uint32_t e = 0; e < node.opened; ++e) add(e, edges.visits[e]);
      }
      squares[static_cast<std::size_t>(p)] = sum / visits;
    }
    known[id] = squares;
  }
  const Report shape = report({});
  const Node& root = graph_.node(root_);
  const std::size_t n1 = shape.actions[1].size(), cells = shape.actions[0].size() * n1;
  std::vector<double> moments(2 * cells, std::nan(""));
  for (std::uint32_t e = 0; e < root.opened; ++e) {
    const Edges edges = graph_.edges(root);
    if (edges.child[e] & kPending || !edges.visits[e]) continue;
    const Joint joint = joint_of(root, e, 0);
    const std::size_t at = place_of(shape.actions[0], joint[0]) * n1 + place_of(shape.actions[1], joint[1]);
    for (int p = 0; p < 2; ++p) moments[static_cast<std::size_t>(p) * cells + at] = edge_square(edges, e, p);
  }
  return moments;
}

template <class D>
std::vector<Joint> Search<D>::last_path() const {
  std::vector<Joint> joints;
  Cursor cursor = root_cursor_;
  int symmetry = 0;
  for (const Step& step : workers_[0]->path) {
    joints.push_back(joint_of(graph_.node(step.node), step.edge, symmetry));
    move(cursor, joints.back(), graph_.node(step.node), step.edge, symmetry);
  }
  return joints;
}

// Follows a known edge; keeps track of the orientation in which the child is stored.
template <class D>
NodeId Search<D>::move(Cursor& cursor, Joint joint, const Node& node, std::uint32_t edge, int& symmetry) const {
  const NodeId child = child_of(graph_.edges(node), edge);
  if (!child) return 0;
  dynamics_.apply(cursor, joint);
  if constexpr (!D::kLatent)
    if (settings_.canonical && child != graph_.terminal())
      symmetry = dynamics_.shared_key(cursor, settings_).symmetry;
  return child;
}

// Ties go to the chooser's better value, then to the higher prior and the lower action, as in SearchResult.action; where
// both choose, to the lower outcomes.
template <class D>
std::uint32_t Search<D>::most_visited(const Node& node) const {
  if (settings_.graph) refresh_edges(graph_, settings_, node);
  const Edges edges = graph_.edges(node);
  const int player = node.chooser();
  const std::uint32_t* words = graph_.words(node, player);
  const auto rank = [&](std::uint32_t e) {
    return node.joint() ? std::tuple(edges.visits[e], 0.0f, ~edges.pair[e])
                        : std::tuple(edges.visits[e], edges.q[player][e], words[e]);
  };
  std::uint32_t best = 0;
  for (std::uint32_t e = 1; e < node.opened; ++e)
    if (rank(e) > rank(best)) best = e;
  return edges.visits[best] ? best : kUntried;
}

template <class D>
std::vector<Joint> Search<D>::principal_variation() const {
  constexpr std::size_t kLongest = 256;
  std::vector<Joint> line;
  Cursor cursor = root_cursor_;
  int symmetry = 0;
  const Node* node = &graph_.node(root_);
  while (node->status == Status::kReady && !is_chance(*node) && node->opened && line.size() < kLongest) {
    const std::uint32_t best = most_visited(*node);
    if (best == kUntried) break;
    line.push_back(joint_of(*node, best, symmetry));
    node = &graph_.node(move(cursor, line.back(), *node, best, symmetry));
  }
  return line;
}

// The child of a node by these actions, or this outcome of chance; 0 if the search knows none.
template <class D>
NodeId Search<D>::child_after(NodeId id, Joint joint) const {
  if (!id || load(graph_.node(id).status) != Status::kReady) return 0;
  const std::uint32_t edge = find_edge(graph_.node(id), joint, 0);
  return edge == kUntried ? 0 : child_of(graph_.edges(graph_.node(id)), edge);
}

// Draws the chance events that follow what was played, as the game itself does; `child` goes along.
template <class D>
Rewards Search<D>::draw_at_root(Cursor& cursor, NodeId& child) const {
  Rewards paid{0.0f, 0.0f};
  if constexpr (D::kChance)
    while (dynamics_.acting(cursor) == kChance) {
      const Action outcome = dynamics_.peek_chance(cursor);
      child = child_after(child, chance_joint(outcome));
      const Rewards rewards = dynamics_.apply_outcome(cursor, outcome);
      for (std::size_t p = 0; p < 2; ++p) paid[p] += rewards[p];
    }
  return paid;
}

// What becomes the root needs its words, which it may not have yet; 0 if the node was never evaluated, or there is no memory.
template <class D>
NodeId Search<D>::prepare_root(NodeId id, const Cursor& cursor, int symmetry) {
  if (!id || graph_.node(id).status != Status::kReady) return 0;
  try {
    if (!graph_.node(id).words) list_late(graph_, *workers_[0], id, cursor, symmetry);
    return id;
  } catch (const std::bad_alloc&) {
    return 0;
  }
}

// Plays at the root: what was paid, and whether anything of the graph was kept. Whatever the game may raise comes before
// the first change, so that a failure leaves everything as it was; a graph that finds no memory to be copied to starts
// afresh.
template <class D>
std::pair<Rewards, bool> Search<D>::move_root(Joint joint, bool keep) {
  if constexpr (D::kLatent) {
    throw InvalidInput("advance() is not available with a latent model: run() on the next state instead");
  } else {
    cancel_paused();
    const std::uint32_t edge = keep ? find_edge(graph_.node(root_), joint, 0) : kUntried;
    NodeId child = edge == kUntried ? 0 : child_of(graph_.edges(graph_.node(root_)), edge);
    Cursor next = root_cursor_;
    Rewards rewards = dynamics_.apply(next, joint);
    const Rewards drawn = draw_at_root(next, child);
    for (std::size_t p = 0; p < 2; ++p) rewards[p] += drawn[p];
    const Stakes stakes = settings_.solver ? dynamics_.stakes(next) : Stakes{};
    const int symmetry = settings_.canonical ? dynamics_.shared_key(next, settings_).symmetry : 0;
    child = prepare_root(child, next, symmetry);
    root_cursor_ = std::move(next);
    for (auto& actions : root_actions_) actions.clear();
    noised_ = false;
    if (child) {
      try {
        if (symmetry) turn_words(graph_.node(child), symmetry);
        root_ = graph_.keep(root_, child);
        root_priors_ = read_priors(graph_, graph_.node(root_));
        if (std::isfinite(stakes.secured[0])) {  // as a root it needs a proof by its edges, which say how to play
          begin_proof(graph_.proof(graph_.node(root_)), stakes, settings_.discount, true);
          update_proof(graph_, settings_, graph_.node(root_), zero_sum_);
        }
        return {rewards, true};
      } catch (const std::bad_alloc&) {  // the old graph is half moved: only what is new can be trusted
      }
    }
    new_root(stakes);
    return {rewards, false};
  }
}

// A node that becomes the root is kept in the orientation of its position from then on.
template <class D>
void Search<D>::turn_words(Node& node, int symmetry) {
  const std::int32_t* to_actual = dynamics_.to_actual(symmetry);
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    std::uint32_t* words = graph_.words(node, p);
    for (std::uint32_t i = 0; i < node.outcomes[p]; ++i)
      words[i] = (words[i] & 0xffff0000u) | (0xffffu - static_cast<std::uint32_t>(to_actual[word_action(words[i])]));
  }
  if (dynamics_.swaps(symmetry)) graph_.exchange_players(node);
  graph_.settle_next(node);
}

// All cursors that a game written in Python has to know of; such games make no bundles, whose levels have some too.
template <class D>
void Search<D>::visit_cursors(const std::function<void(const void*)>& visit) const {
  visit(&root_cursor_);
  for (const auto& worker : workers_) {
    visit(&worker->cursor);
    for (const Leaves& leaves : worker->batches)
      for (const Leaf& leaf : leaves.list) visit(&leaf.cursor);
    if (!worker->paused) continue;
    visit(&worker->paused->leaf.cursor);
    if (worker->paused->rollouts.cursor) visit(&*worker->paused->rollouts.cursor);
  }
}

}  // namespace ramify
