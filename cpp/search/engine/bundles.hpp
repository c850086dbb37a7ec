// Many descents in one go, for threads that search one graph with an evaluator of the core. Part of search/search.hpp, which
// includes it.
//
// What makes threads slow is not locks but the memory that all of them write: the nodes near the root, whose cache lines travel
// from core to core at every visit, on the way down and on the way up. So a thread takes a bundle of visits at the root,
// divides it among the root's edges, and divides what an edge gets at its child again. A node is written twice for a
// bundle, however many of its visits pass through it: when they are divided, and when all of them have been made. Where
// an edge gets a single visit, an ordinary descent goes on.
#pragma once

#include "search/search.hpp"

namespace ramify {

// How many visits an edge gets before selection looks again: a small share of those that it has, so that what it gets in all
// differs little from what it would get one by one. Where both choose, where chance decides and where a rule counts every
// visit: one.
template <class D>
std::uint32_t Search<D>::visits_at_once(const Node& node, const Turn& turn) const {
  if (!turn.child || settings_.selection != Selection::kPuct || settings_.short_circuit || node.joint() || is_chance(node)) return 1;
  return std::max(1u, static_cast<std::uint32_t>(turn.before * std::min(kShare, settings_.max_in_flight / settings_.threads)));
}

// Divides visits among the edges of the node at which the worker is, and counts them as under way. Returns how many cannot be
// made. Those for which a full graph has no edge count as made, as those of a descent that ends there.
template <class D>
std::uint32_t Search<D>::divide(Worker& worker, Level& level, std::uint32_t left) {
  level.shares.clear();
  try {
    level.shares.reserve(left);  // visits that are counted must not get lost
    Node& node = graph_.node(level.node);
    {
      NodeLock lock(node, threaded());
      while (left > 0) {
        const Turn turn = take_turn(worker, node);
        if (turn.edge == kUntried) break;
        const std::uint32_t visits = std::min(left, visits_at_once(node, turn));
        graph_.edges(node).visits[turn.edge] += visits - 1;
        node.visits += visits - 1;
        level.shares.push_back({turn, visits, visits, false});
        left -= visits;
      }
    }
    worker.stats.full += left;
    if (is_chance(node) && load(node.status) != Status::kReady) return left;  // it has no value to give
    for (; left > 0; --left) count_simulation(worker, worker.path.size());
  } catch (...) {
    fail(worker);
  }
  return left;
}

// Fetches from memory what shares need that are made some places later: the child of one, and the words and edges of another
// one's child, which has come by now. Descents one after another would wait for each of these reads in turn.
template <class D>
RAMIFY_HOT void Search<D>::fetch_ahead(const Level& level, std::size_t place) const {
  constexpr std::size_t kComing = 4;  // places between child and blocks
  const std::size_t count = level.shares.size();
  if (place < count)
    if (const NodeId child = level.shares[place].turn.child) graph_.prefetch(child);
  if (place < kComing || place - kComing >= count) return;
  const Turn& turn = level.shares[place - kComing].turn;
  if (turn.child) graph_.fetch_blocks(graph_.node(turn.child), turn.before);
}

// Makes descents from the node at which the worker is; returns how many were not made.
template <class D>
std::uint32_t Search<D>::spread(Worker& worker, const NativeRun& run, std::uint32_t visits) {
  constexpr std::size_t kAhead = 6;  // shares that are fetched from memory before they are made
  const std::size_t depth = worker.path.size();
  while (worker.levels.size() <= depth) worker.levels.push_back(std::make_unique<Level>(worker.cursor));
  Level& level = *worker.levels[depth];
  level.cursor = worker.cursor;
  level.symmetry = worker.symmetry;
  level.passed = worker.passed;
  level.node = worker.node;
  std::uint32_t unused = divide(worker, level, visits);
  bool proven_now = false;
  for (std::size_t place = 0; place < level.shares.size() + kAhead; ++place) {
    fetch_ahead(level, place);
    if (place < kAhead) continue;
    Share& share = level.shares[place - kAhead];
    if (!worker.stops && !proven_now) {
      try {
        share.unused = make_share(worker, run, level, share);
        proven_now = settings_.solver && proves(worker, level);
      } catch (...) {
        fail(worker);
      }
      share.answered = share.unused < share.visits && !worker.paused;
      worker.path.resize(depth);
      worker.stops |= must_stop(worker, run);
    }
    unused += share.unused;
  }
  gather(worker, level);
  return unused;
}

// Anything may fail, for want of memory or by a mistake of the game: the bundle ends, and what it has found stays.
template <class D>
void Search<D>::fail(Worker& worker) {
  worker.failure = std::current_exception();
  worker.stops = true;
}

// With the solver: whether the node is proven by now, so that it needs no more visits.
template <class D>
bool Search<D>::proves(Worker& worker, const Level& level) {
  Node& node = graph_.node(level.node);
  const NodeLock lock(node, threaded());
  const bool news = update_proof(graph_, settings_, node, zero_sum_), proven = is_proven(graph_.proof(node));
  if (news && proven && settings_.graph) worker.solved.push_back(level.node);
  return proven;
}

// Whether a bundle has to end before all of its visits are made.
template <class D>
bool Search<D>::must_stop(Worker& worker, const NativeRun& run) const {
  if (worker.paused || proven()) return true;
  if (!threaded()) return false;  // what one thread finds must not depend on the clock: see run_bundle
  if (worker.stats.simulations < worker.next_look) return false;
  worker.next_look = worker.stats.simulations + kLook;
  return std::chrono::steady_clock::now() >= run.deadline;
}

// Goes along the edge of a share, and on to a leaf unless several visits have to be divided at the child first.
template <class D>
typename Search<D>::Arrival Search<D>::go_along(Worker& worker, const NativeRun& run, const Share& share, bool divides, bool& stop) {
  bool claimed = false;
  try {
    Arrival arrival = follow(worker, graph_.node(worker.node), share.turn, stop);
    if (!stop && !divides) arrival = go_down(worker);
    claimed = arrival == Arrival::kLeaf;
    if (claimed) prepare(worker, graph_.node(worker.node), run.lists_late);
    return arrival;
  } catch (...) {
    abandon(worker.path, claimed ? worker.node : 0, worker.base);
    throw;
  }
}

// Makes the visits of one edge; returns how many were not made.
template <class D>
std::uint32_t Search<D>::make_share(Worker& worker, const NativeRun& run, const Level& level, const Share& share) {
  constexpr std::size_t kDeepest = 512;  // levels of a bundle: a thread's stack has an end
  worker.cursor = level.cursor;
  worker.symmetry = level.symmetry;
  worker.passed = level.passed;
  worker.node = level.node;
  worker.path.push_back({level.node, share.turn.edge});
  worker.base = worker.path.size();
  const bool divides = share.visits > 1 && worker.base < kDeepest;
  bool stop = false;
  const Arrival arrival = go_along(worker, run, share, divides, stop);
  if (!stop && divides) return spread(worker, run, share.visits);
  switch (arrival) {
    case Arrival::kNoRoom: return share.visits;
    case Arrival::kCollision:  // somebody else's leaf
      ++worker.stats.collisions;
      give_up(worker);
      return share.visits;
    case Arrival::kLeaf:
      evaluate_native(worker, run);  // or leaves it half-way: then its visit stays
      return share.visits - 1;
    case Arrival::kDone: break;
  }
  back_up(worker, worker.path);
  if (!stop || settings_.solver) return share.visits - 1;  // what is proven needs no more
  for (std::uint32_t more = 1; more < share.visits; ++more) {  // the edge leads to the end of all of them
    enter(worker, worker.node, share.turn.before, stop);
    count_simulation(worker, worker.path.size());
  }
  return 0;
}

// Takes back the visits that were not made, and brings the node what the others have found.
template <class D>
void Search<D>::gather(Worker& worker, const Level& level) {
  if (level.shares.empty()) return;
  Node& node = graph_.node(level.node);
  {
    NodeLock lock(node, threaded());
    const Edges edges = graph_.edges(node);
    const float before[2] = {node.value[0], node.value[1]};
    const bool learns = mixes(settings_) && node.joint();
    for (const Share& share : level.shares) {
      const std::uint32_t edge = share.turn.edge;
      graph_.note_change(node, edges, edge);
      edges.visits[edge] -= share.unused;
      node.visits -= share.unused;
      if (!share.answered && edges.child[edge] & kPending) continue;
      take_news(node, edges, edge);
      if (share.answered && learns) learn(graph_, settings_, node, edges, edge);
    }
    revalue(node, edges);
    if (tells_ && (before[0] != node.value[0] || before[1] != node.value[1]))
      graph_.make_stale(node, worker.path.empty() ? 0 : worker.path.back().node);  // the one above gathers it
  }
  if (!worker.solved.empty()) spread_proofs(worker);
}

// One bundle of at most so many descents; returns how many counted. Bundles of all threads together are no more than
// max_in_flight allows, and so small searches make one descent at a time; a single thread, which does not need them to keep
// out of the way of others, makes smaller ones. It ends every bundle that it has begun, whatever the clock says, and begins
// them at counts that do not depend on it: the clock interrupts searches all the time, and one with a seed has one result.
template <class D>
std::int64_t Search<D>::run_bundle(Worker& worker, NativeRun run, std::int64_t most) {
  Node& root = graph_.node(root_);
  const std::int64_t before = worker.stats.simulations;
  most = std::min<std::int64_t>(most, settings_.bundle - before % settings_.bundle);
  if (!threaded()) run.deadline = std::chrono::steady_clock::time_point::max();
  double room;
  {
    const NodeLock lock(root, threaded());
    room = root.visits * (threaded() ? settings_.max_in_flight / settings_.threads : std::min(kShare, settings_.max_in_flight));
  }
  start_at_root(worker);
  if (!threaded()) worker.far_below = 0;  // shares are fetched without hints, which would take memory
  worker.stops = false;
  worker.next_look = before + kLook;
  try {
    spread(worker, run, static_cast<std::uint32_t>(std::clamp<double>(room, 1.0, static_cast<double>(most))));
  } catch (...) {
    worker.failure = std::current_exception();
  }
  worker.base = 0;
  const std::int64_t made = worker.stats.simulations - before;
  if (!worker.failure) return made;
  try {
    std::rethrow_exception(std::exchange(worker.failure, nullptr));
  } catch (const std::bad_alloc& error) {
    stop_growing(error);
    return std::max<std::int64_t>(made, 1);  // or a run without memory would never end
  }
}

}  // namespace ramify
