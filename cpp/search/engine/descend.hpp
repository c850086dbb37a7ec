// Down: from the root to a leaf, choosing and linking edges. Part of search/search.hpp, which includes it.
#pragma once

#include "search/search.hpp"

namespace ramify {

template <class D>
void Search<D>::set_ranges(const Cursor& cursor, Ranges& ranges) const {
  if (settings_.normalize == Normalize::kNone) return;
  for (int p = 0; p < 2; ++p) {
    if (settings_.normalize == Normalize::kRemaining) {
      const float remaining = dynamics_.remaining(cursor);
      ranges[p] = {0.0, remaining, remaining > 0.0f};
    } else {
      double low = load(bounds_.low[p]), high = load(bounds_.high[p]);
      if (D::kExchanges && settings_.canonical) {  // nodes do not tell the players apart: one range for both
        low = std::min(low, static_cast<double>(load(bounds_.low[1 - p])));
        high = std::max(high, static_cast<double>(load(bounds_.high[1 - p])));
      }
      ranges[p] = {low, high - low, high > low};
    }
  }
}

template <class D>
RAMIFY_HOT Joint Search<D>::joint_of(const Node& node, const Edges& edges, std::uint32_t edge, int symmetry) const {
  if (is_chance(node)) {
    const ChanceWords chance = graph_.chance(node);
    return chance_joint(chance.outcome[std::find(chance.edge, chance.edge + chance.count, edge) - chance.edge]);
  }
  Joint joint;
  const std::int32_t* to_actual = dynamics_.to_actual(symmetry);
  const std::size_t other = dynamics_.swaps(symmetry);
  const auto [first, second] = outcome_pair(node, edges, edge);
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    const Action stored = word_action(graph_.words(node, p)[p ? second : first]);
    joint.of[static_cast<std::size_t>(p) ^ other] = to_actual ? to_actual[stored] : stored;
  }
  return joint;
}

// The point of [0, 1) at which draw `number` of a chance event lies. From a random start, every draw goes on by the golden
// ratio: points that are spread more evenly than independent ones, at every number of draws. The start depends on the event
// alone, by the key of its position or of the way to it: see link.
template <class D>
double Search<D>::chance_point(const Node& node, std::uint32_t number) const {
  const double start = Rng(chance_seed_, node.key).uniform();
  const double point = start + 0.6180339887498949 * static_cast<double>(number);
  return point - std::floor(point);
}

// Chooses the edge of a chance event: draws one by the probabilities of its outcomes, or where the event widens, goes on with
// a known one. Which ones are visited how often changes nothing in the event's value: what is proven need not be visited
// again, and a full graph offers what it has.
template <class D>
std::uint32_t Search<D>::choose_chance(Worker& worker, Node& node) {
  if (settings_.graph) refresh_edges(graph_, settings_, node);
  const ChanceWords chance = graph_.chance(node);
  const Edges edges = node.opened ? graph_.edges(node) : Edges{};
  const auto opened = [&](std::uint32_t i) { return chance.edge[i] != ChanceWords::kNoEdge; };
  const auto live = [&](std::uint32_t i) {
    return !settings_.solver || !opened(i) || !edge_proof(graph_, settings_, node, edges, chance.edge[i]).proven;
  };
  const std::uint32_t drawn = draws_among(settings_, chance.count, node.visits);
  const bool goes_on = draws_among(settings_, chance.count, node.visits + 1) == drawn;
  const double point = chance_point(node, goes_on ? node.visits : drawn);
  std::uint32_t place = goes_on ? outcome_owed(chance, edges, live) : kUntried;
  if (place == kUntried) place = outcome_at(chance, point, live);
  if (place == kUntried) place = outcome_at(chance, point, [](std::uint32_t) { return true; });
  const auto known = [&](std::uint32_t i) { return opened(i) && leads_on(graph_, edges, chance.edge[i]); };
  if (graph_.full() && !known(place)) place = outcome_at(chance, point, known);
  if (place == kUntried) return kUntried;
  return opened(place) ? chance.edge[place] : graph_.open_outcome(worker.index, node, place);
}

// Selects an edge and opens it if it is new. A full graph is searched on along the edges that it has; kUntried if this
// node has none.
template <class D>
RAMIFY_HOT std::uint32_t Search<D>::choose_edge(Worker& worker, Node& node) {
  if constexpr (D::kChance)
    if (is_chance(node)) return choose_chance(worker, node);
  Ranges ranges;
  set_ranges(worker.cursor, ranges);
  const Pick pick = pick_edge(worker, node, ranges);
  if (graph_.full() && (pick.edge == kUntried || !leads_on(graph_, graph_.edges(node), pick.edge)))
    return select_known(graph_, settings_, node, ranges);
  if (pick.edge != kUntried) return pick.edge;
  return graph_.open(worker.index, node, pick.pair, pick.fpu);
}

// The rule that the settings ask for, and what may overrule it.
template <class D>
RAMIFY_HOT Pick Search<D>::pick_edge(Worker& worker, Node& node, const Ranges& ranges) {
  if (settings_.graph && (!tells_ || node.stale)) {
    refresh_edges(graph_, settings_, node);
    node.stale = false;
  }
  if (plain_) [[likely]] return select(graph_, settings_, node, ranges);
  return pick_by_rule(worker, node, ranges);
}

template <class D>
Pick Search<D>::pick_by_rule(Worker& worker, const Node& node, const Ranges& ranges) {
  const bool at_root = worker.path.empty();
  Pick pick;
  if (settings_.selection == Selection::kGumbel) {
    if (at_root) begin_races(node);
    pick = select_gumbel(graph_, settings_, node, at_root ? races_ : nullptr);
  } else if (mixes(settings_) && node.joint()) {
    pick = sample_pair(graph_, settings_, node, worker.rng);
  } else {
    pick = select(graph_, settings_, node, ranges);
    if (at_root && full_ && settings_.forced_playouts > 0.0) pick = force(graph_, settings_, node, pick);
  }
  return settings_.solver ? avoid_refuted(graph_, settings_, node, ranges, pick, at_root) : pick;
}

// Starts the players' races at the root, once a run.
template <class D>
void Search<D>::begin_races(const Node& root) {
  for (int p = 0; p < 2; ++p) {
    if (races_[p].running() || root.outcomes[p] < 2) continue;
    const std::int64_t left = std::max<std::int64_t>(1, wanted_ - simulations());
    const OutcomeCounts counts = count_outcomes(graph_, settings_, root, p);
    const std::uint32_t* words = graph_.words(root, p);
    std::vector<std::uint32_t> before(root.outcomes[p]);
    const auto& actions = root_priors_.actions[p];
    for (std::uint32_t i = 0; i < root.outcomes[p]; ++i)
      before[place_of(actions, word_action(words[i]))] = counts.visits[i];
    races_[p].begin(settings_, actions, root_priors_.priors[p], std::move(before), left, noise_);
  }
}

// As take_turn of a swift search, where one player acts alone, the tried edges and the next one to try are `count`, few
// enough for one vector, and the graph has room: nearly all turns, so they are made in one go.
template <class D>
RAMIFY_HOT typename Search<D>::Turn Search<D>::take_turn_alone(Worker& worker, Node& node, int player, std::uint32_t count) {
  const float fpu = first_play(settings_, node, player, 0.0, Range{});
  const std::uint32_t* const words = graph_.words(node, player);
  std::uint32_t edge = 0;
  Edges edges;
  if (node.opened) {
    edges = graph_.lone_edges(node);
    edge = best_of_few(edges.q[player], edges.visits, words, node.opened, count, exploration(settings_, node), fpu);
  }
  if (edge == node.opened) {
    const float urgency[2] = {player ? 0.0f : fpu, player ? fpu : 0.0f};
    graph_.open(worker.index, node, edge, urgency);
    edges = graph_.lone_edges(node);
  }
  ++node.visits;
  Joint joint;
  const std::int32_t* to_actual = dynamics_.to_actual(worker.symmetry);
  const Action stored = word_action(words[edge]);
  joint.of[static_cast<std::size_t>(player) ^ static_cast<std::size_t>(dynamics_.swaps(worker.symmetry))] =
      to_actual ? to_actual[stored] : stored;
  return {edge, edges.visits[edge]++, child_of(edges, edge), joint};
}

// Chooses an edge and counts the visit that is under way from now on.
template <class D>
RAMIFY_HOT typename Search<D>::Turn Search<D>::take_turn(Worker& worker, Node& node) {
  if (!node.words) [[unlikely]] {  // its second visit, see list_late; a full graph has no use for the words of an untried node
    if (graph_.full()) return {kUntried, 0, 0, {}};
    list_late(graph_, worker, worker.node, worker.cursor, worker.symmetry);
  }
  if (is_swift(node)) [[likely]] {
    const int player = node.acting == kSecond;
    const std::uint32_t count = node.opened + (node.opened < node.outcomes[player]);
    if (count <= kWide && !graph_.full()) return take_turn_alone(worker, node, player, count);
  }
  const std::uint32_t edge = choose_edge(worker, node);
  if (edge == kUntried) return {edge, 0, 0, {}};
  ++node.visits;
  const Edges edges = graph_.edges(node);
  graph_.note_change(node, edges, edge);
  return {edge, edges.visits[edge]++, child_of(edges, edge), joint_of(node, edges, edge, worker.symmetry)};
}

// Finds or makes the child of an edge taken for the first time; 0 if there is no room.
template <class D>
NodeId Search<D>::link(Worker& worker, Node& node, std::uint32_t edge, Rewards rewards) {
  const Acting acting = D::kLatent ? kFirst : dynamics_.acting(worker.cursor);
  const bool over = acting == kOver, chance = D::kChance && acting == kChance;
  if constexpr (D::kChance)
    if (chance) dynamics_.chance(worker.cursor, worker.event);
  SharedKey shared{0, 0};
  if constexpr (!D::kLatent)
    if (!over && settings_.graph) shared = dynamics_.shared_key(worker.cursor, settings_);
  NodeLock lock(node, threaded());
  const NodeId known = child_of(graph_.edges(node), edge);
  if (known) return known;  // another thread was faster
  bool found = false;
  Stakes stakes;
  if (settings_.solver) {
    check_zero_sum(rewards);
    stakes = dynamics_.stakes(worker.cursor);
    if (dynamics_.swaps(shared.symmetry))
      for (Rewards* pair : {&stakes.least, &stakes.most, &stakes.secured}) std::swap((*pair)[0], (*pair)[1]);
  }
  const bool swapped = dynamics_.swaps(worker.symmetry);  // the node's own players, and then its child's
  if (swapped) std::swap(rewards[0], rewards[1]);
  if constexpr (D::kChance)  // a tree needs no keys, but chance is drawn by them: there the way is the key
    if (!settings_.graph && dynamics_.has_chance()) {
      const Joint way = joint_of(node, edge, worker.symmetry);
      shared.key = combine(combine(node.key, static_cast<Key>(way.of[0])), static_cast<Key>(way.of[1]));
    }
  const std::uint32_t mark = !over && swapped != dynamics_.swaps(shared.symmetry) ? kExchanged : 0;
  const NodeId child = over ? graph_.terminal() : graph_.share(worker.index, shared.key, found, [&](Node& fresh) {
    if (settings_.solver) begin_proof(graph_.proof(fresh), stakes, settings_.discount, false);
    if (chance) graph_.begin_chance(worker.index, fresh, worker.event);
  });
  if (!child) return 0;
  if (D::kChance && found) check_kind(graph_.node(child), chance);
  worker.stats.transpositions += found;
  graph_.set_reward(worker.index, node, edge, rewards);
  if (settings_.solver && settings_.graph && !over) {
    const NodeLock guard(graph_.node(child), threaded());
    graph_.add_parent(worker.index, graph_.node(child), worker.path.back().node);
  }
  if (tells_ && !over) {
    graph_.note_parent(worker.index, graph_.node(child), worker.path.back().node);
    node.stale |= found;
  }
  const bool ready = load(graph_.node(child).status) >= Status::kReady;
  const Edges edges = graph_.edges(node);
  graph_.note_change(node, edges, edge);
  edges.child[edge] = child | mark | (ready ? 0 : kPending);
  return child;
}

// A node that was found by the key of a position must be of the same kind.
template <class D>
void Search<D>::check_kind(const Node& child, bool chance) const {
  const Status status = load(child.status);
  if ((status == Status::kUnvalued || (status == Status::kReady && child.acting == kChance)) == chance) return;
  throw InvalidInput("a chance event and a position in which a player acts have the same key: equal keys must have equal futures");
}

// With a discount, what one player wins is what the other loses only if that holds at every turn: proofs rely on it.
template <class D>
void Search<D>::check_zero_sum(const Rewards& rewards) const {
  if (!zero_sum_ || settings_.discount == 1.0) return;
  const float sum = rewards[0] + rewards[1], size = std::fabs(rewards[0]) + std::fabs(rewards[1]);
  if (std::fabs(sum) > 1e-6f * (1.0f + size))
    throw InvalidInput("the game declares zero_sum, but the rewards of a turn are " + std::to_string(rewards[0]) + " and " +
                       std::to_string(rewards[1]) + ": with a discount the solver needs rewards that sum to 0 in every turn");
}

template <class D>
bool Search<D>::claim(Node& node) {
  Status expected = Status::kNew, desired = Status::kInFlight;
  return __atomic_compare_exchange(&node.status, &expected, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

template <class D>
RAMIFY_HOT void Search<D>::start_at_root(Worker& worker) {
  worker.path.clear();
  worker.passed = 0;
  worker.far_below = graph_.far_below();
  worker.cursor = root_cursor_;
  worker.symmetry = 0;  // the root is kept in the orientation of its position
  worker.node = root_;
  if constexpr (D::kLatent)
    if (load(graph_.node(root_).status) == Status::kReady) worker.cursor.slot = slot_of(graph_.node(root_));
}

template <class D>
typename Search<D>::Arrival Search<D>::descend(Worker& worker) {
  start_at_root(worker);
  if (load(graph_.node(root_).status) == Status::kReady) return go_down(worker);
  return claim(graph_.node(root_)) ? Arrival::kLeaf : Arrival::kCollision;
}

// Descends from where the worker is.
template <class D>
typename Search<D>::Arrival Search<D>::go_down(Worker& worker) {
  [[maybe_unused]] std::int64_t events = 0;  // of chance, in a row
  while (true) {
    Node& node = graph_.node(worker.node);
    if constexpr (D::kNeedsPython && D::kChance) {
      events = is_chance(node) ? events + 1 : 0;
      if (events > kMostTurns) dynamics_.rules().refuse_events(worker.cursor, kMostTurns);
    }
    if (worker.path.size() == worker.path.capacity()) worker.path.reserve(2 * worker.path.size() + 16);  // or a turn gets lost
    Turn turn;
    if (worker.path.empty() && !worker.handed.empty()) {
      turn = worker.handed.back();
      worker.handed.pop_back();
    } else {
      NodeLock lock(node, threaded());
      turn = take_turn(worker, node);
    }
    if (turn.edge == kUntried) {
      ++worker.stats.full;
      if (!is_chance(node) || load(node.status) == Status::kReady) return Arrival::kDone;
      give_up(worker);  // a chance event without outcomes has no value to give
      return Arrival::kNoRoom;
    }
    worker.path.push_back({worker.node, turn.edge});
    bool stop = false;
    const Arrival arrival = follow(worker, node, turn, stop);
    if (stop) return arrival;
  }
}

// Fetches from memory what a child has beside itself, while the rules are applied and the child comes: see Hint.
template <class D>
void Search<D>::fetch_below(int thread, Node& node, std::uint32_t edge) {
  if (!is_swift(node)) return;
  const NodeLock lock(node, threaded());
  graph_.fetch_below(thread, node, edge);
}

// Goes along an edge that was chosen, the last of the path; `stop` says that the descent ends there.
template <class D>
RAMIFY_HOT typename Search<D>::Arrival Search<D>::follow(Worker& worker, Node& node, const Turn& turn, bool& stop) {
  if (settings_.graph) worker.passed |= trace(worker.node);
  NodeId child = turn.child;
  if (child) {
    graph_.prefetch(child);
    if (turn.before < worker.far_below) [[unlikely]] fetch_below(worker.index, node, turn.edge);
    if (child != graph_.terminal()) dynamics_.go_on(worker.cursor, turn.joint);
  } else if (!(child = link(worker, node, turn.edge, dynamics_.apply(worker.cursor, turn.joint)))) {
    give_up(worker);
    ++worker.stats.full;
    stop = true;
    return Arrival::kNoRoom;
  }
  return enter(worker, child, turn.before, stop);
}

// Takes back the visits of a descent that cannot go on.
template <class D>
void Search<D>::give_up(Worker& worker) {
  cancel_path(worker.path, 1, worker.base);
  worker.path.resize(worker.base);
}

// A descent whose leaf, if it found one, is ready for its evaluation. A game written in Python may raise anywhere in
// between: then the descent is undone. Where memory ends, the graph stops growing and is searched on along what there is.
template <class D>
typename Search<D>::Arrival Search<D>::descend_safely(Worker& worker, bool lists_late) {
  for (bool retried = false;;) {
    bool claimed = false;
    try {
      const Arrival arrival = descend(worker);
      if (arrival == Arrival::kNoRoom) continue;  // another thread took the last room
      claimed = arrival == Arrival::kLeaf;
      if (claimed) prepare(worker, graph_.node(worker.node), lists_late);
      return arrival;
    } catch (const std::bad_alloc& error) {
      abandon(worker.path, claimed ? worker.node : 0);
      worker.path.clear();
      stop_growing(error);
      if (std::exchange(retried, true)) {  // not even for a descent: it counts, or a run would never end
        ++worker.stats.full;
        return Arrival::kDone;
      }
    } catch (...) {
      abandon(worker.path, claimed ? worker.node : 0);
      throw;
    }
  }
}

// Undoes a descent: its visits, from a place of its path on, and its claim on a leaf (0: none) unless that is evaluated already.
template <class D>
void Search<D>::abandon(const std::vector<Step>& path, NodeId leaf, std::size_t first) {
  cancel_path(path, 1, first);
  if (!leaf) return;
  if constexpr (D::kLatent)
    if (load(graph_.node(leaf).status) == Status::kInFlight) give_slot(graph_.node(leaf));
  Status expected = Status::kInFlight, desired = Status::kNew;
  __atomic_compare_exchange(&graph_.node(leaf).status, &expected, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

// Memory has run out: what was found stays, and the graph as it is. Raises the error if nothing was found yet.
template <class D>
void Search<D>::stop_growing(const std::bad_alloc& error) {
  if (load(graph_.node(root_).status) != Status::kReady) throw;
  graph_.stop_growing(error);
}

// Steps into a child; `stop` says that the descent ends there.
template <class D>
RAMIFY_HOT typename Search<D>::Arrival Search<D>::enter(Worker& worker, NodeId child, std::uint32_t edge_visits, bool& stop) {
  Node& node = graph_.node(child);
  worker.node = child;
  stop = true;
  const Status status = load(node.status);
  if (status == Status::kTerminal) {
    ++worker.stats.terminals;
    return Arrival::kDone;
  }
  if constexpr (!D::kLatent)
    if (settings_.canonical) worker.symmetry = dynamics_.shared_key(worker.cursor, settings_).symmetry;
  if constexpr (D::kChance)
    if (status == Status::kUnvalued) {
      stop = settings_.graph && on_path(worker, child);
      if (!stop) return Arrival::kDone;
      const NodeLock lock(node, threaded());  // the way here leads through one of its outcomes
      refresh_edges(graph_, settings_, node);
      update_chance(graph_, settings_, node, graph_.edges(node));
      ++worker.stats.cycles;
      return Arrival::kDone;
    }
  if (status != Status::kReady) {
    if (claim(node)) return Arrival::kLeaf;
    if (load(node.status) != Status::kReady) return Arrival::kCollision;
  }
  if (!plain_ && settings_.solver && is_proven(graph_.proof(node))) {
    ++worker.stats.solved;
    return Arrival::kDone;
  }
  if (settings_.graph && on_path(worker, child)) {  // keys should forbid it; a game's author may have erred
    ++worker.stats.cycles;
    return Arrival::kDone;
  }
  if (settings_.short_circuit && settings_.graph) {
    const NodeLock lock(node, threaded());
    if (edge_visits < node.visits) {
      ++worker.stats.short_circuits;
      return Arrival::kDone;
    }
  }
  if constexpr (D::kLatent) worker.cursor.slot = slot_of(node);
  stop = false;
  return Arrival::kDone;
}

// Turns the position of a claimed node to the orientation in which the node is kept, and evaluated.
template <class D>
void Search<D>::orient(Worker& worker, Node& node) {
  if (worker.symmetry) {
    worker.cursor = dynamics_.transform(worker.cursor, worker.symmetry);
    worker.symmetry = 0;
  }
  node.acting = dynamics_.acting(worker.cursor);
}

// Makes a claimed node ready for its evaluation. Leaves of evaluators of the core, whose priors are uniform, get no words
// before their second visit, which most never see: see list_late.
template <class D>
void Search<D>::prepare(Worker& worker, Node& node, bool lists_late) {
  orient(worker, node);
  if (lists_late && !node.words && worker.node != root_) return;
  list_outcomes(graph_, worker, worker.node, worker.cursor, false);
}

// Gives a node its outcomes and the actions of its words. Priors are uniform, or follow with the evaluation.
template <class D>
void Search<D>::list_outcomes(Graph& graph, Worker& worker, NodeId id, const Cursor& cursor, bool uniform) const {
  Node& node = graph.node(id);
  int counts[2] = {1, 1};
  Action* lists[2] = {worker.actions.data(), worker.actions.data() + num_actions()};
  for (int p = 0; p < 2; ++p) {
    if (acts(node.acting, p)) counts[p] = outcomes_of(worker, id, cursor, p, lists[p], nullptr);
    if (counts[p] <= 0) throw InvalidInput("player " + std::to_string(p) + " acts but has no legal action");
  }
  shape(graph, worker, node, counts);
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    std::uint32_t* words = graph.words(node, p);
    const std::uint32_t n = node.outcomes[p];
    const std::uint32_t word = make_word(uniform ? 1.0f / static_cast<float>(n) : 0.0f, 0);  // of action 0
    const Action* const actions = lists[p];
    for (std::uint32_t i = 0; i < n; ++i) words[i] = word - static_cast<std::uint32_t>(actions[i]);
  }
}

// Gives a node that was evaluated without words what it would have had from the beginning, in this graph or in a copy of the
// node elsewhere. The cursor is at its position, which a symmetry turns to the orientation of the node.
template <class D>
void Search<D>::list_late(Graph& graph, Worker& worker, NodeId id, const Cursor& cursor, int symmetry) const {
  if (symmetry) list_outcomes(graph, worker, id, dynamics_.transform(cursor, symmetry), true);
  else list_outcomes(graph, worker, id, cursor, true);
  graph.settle_all(graph.node(id));
}

// Room for a node's outcomes. It may have some of an earlier attempt, which failed before its evaluation; nothing says
// that the game had the same outcomes then. Words come last: they say that the node has everything.
template <class D>
void Search<D>::shape(Graph& graph, Worker& worker, Node& node, const int (&counts)[2]) const {
  const std::uint32_t room = node.words ? word_count(node) : 0;
  const bool mixed = mixes(settings_);
  for (int p = 0; p < 2; ++p) node.outcomes[p] = static_cast<std::uint16_t>(counts[p]);
  node.opened = 0;
  node.tallied = false;
  if (word_count(node) > room) {
    store(node.words, 0);
    if (mixed) graph.mixing(node).block = 0;
  }
  if (mixed && node.joint() && !graph.mixing(node).block) graph.give_strategies(worker.index, node);
  if (!node.words) graph.give_words(worker.index, node);
}

}  // namespace ramify
