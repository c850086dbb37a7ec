// Leaves collected, written, absorbed and cancelled in batches. Part of search/search.hpp, which includes it.
#pragma once

#include "search/search.hpp"

namespace ramify {

template <class D>
template <class Work>
void Search<D>::in_all_threads(Work work) {
  if (!threaded()) return work(*workers_[0]);
  if (!pool_) pool_ = std::make_unique<ThreadPool>(settings_.threads);
  pool_->run([&](int index) { work(*workers_[static_cast<std::size_t>(index)]); });
}

// Calls work(worker, leaves, first row) for every thread's leaves of a batch, in these threads.
template <class D>
template <class Work>
void Search<D>::by_worker(int batch, int row, Work work) {
  const auto b = static_cast<std::size_t>(batch);
  if (!threaded()) {
    Worker& worker = *workers_[0];
    if (b < worker.batches.size() && worker.batches[b].count) work(worker, worker.batches[b], row);
    return;
  }
  std::vector<int> first;
  int with_leaves = 0;
  for (auto& worker : workers_) {
    first.push_back(row);
    if (b >= worker->batches.size()) continue;
    row += static_cast<int>(worker->batches[b].rows());
    with_leaves += worker->batches[b].count > 0;
  }
  const auto share = [&](Worker& worker) {
    if (b < worker.batches.size() && worker.batches[b].count)
      work(worker, worker.batches[b], first[static_cast<std::size_t>(worker.index)]);
  };
  if (with_leaves > 1) return in_all_threads(share);
  for (auto& worker : workers_) share(*worker);
}

template <class D>
int Search<D>::leaves(int batch) const {
  const auto b = static_cast<std::size_t>(batch);
  std::size_t total = 0;
  for (const auto& worker : workers_) total += b < worker->batches.size() ? worker->batches[b].count : 0;
  return static_cast<int>(total);
}

// Chooses the root's edges for several descents of a batch at once. Threads meet at the root: what they do there they do
// seldom, and for many descents.
template <class D>
void Search<D>::hand_out(Worker& worker, std::int64_t wanted) {
  constexpr double kMost = 32;
  Node& root = graph_.node(root_);
  if (load(root.status) != Status::kReady) return;
  worker.cursor = root_cursor_;
  worker.symmetry = 0;  // the root is kept in the orientation of its position
  worker.path.clear();
  NodeLock lock(root, threaded());
  const double room = std::min(kMost, settings_.max_in_flight * root.visits / settings_.threads);
  const std::int64_t most = std::min(wanted, static_cast<std::int64_t>(room));
  worker.handed.reserve(static_cast<std::size_t>(most));  // a turn that was taken must not get lost
  worker.news.reserve(static_cast<std::size_t>(most));
  for (std::int64_t left = most; left > 0; --left) {
    const Turn turn = take_turn(worker, root);
    if (turn.edge == kUntried) break;
    worker.handed.push_back(turn);
  }
  std::reverse(worker.handed.begin(), worker.handed.end());  // taken from the back
}

// Gives back the visits of descents that were not made.
template <class D>
void Search<D>::take_back(Worker& worker) {
  for (const Turn& turn : worker.handed) cancel_step({root_, turn.edge});
  worker.handed.clear();
}

template <class D>
void Search<D>::keep_leaf(Worker& worker, Leaves& leaves) {
  try {
    if constexpr (D::kLatent) take_slot(graph_.node(worker.node));
    if (leaves.count == leaves.list.size()) leaves.list.push_back({worker.cursor, 0, {}});
    Leaf& leaf = leaves.list[leaves.count];
    leaf.cursor = worker.cursor;
    leaf.node = worker.node;
    leaf.path = worker.path;
    look_up(leaf);
    play_leaf(worker, leaf);
    leaves.cached += leaf.cached;
  } catch (...) {  // the copy of a game written in Python may raise
    abandon(worker.path, worker.node);
    throw;
  }
  ++leaves.count;
}

// Makes the way to a leaf in flight less attractive until the batch is collected, so that the next descents look
// elsewhere: more visits (one of them by this descent), and a loss in as many of them for whoever chose the way. The loss
// is kept to trees whose values depend on nothing but edges: elsewhere others would read it and keep it (another parent
// of a shared node, the bounds of min-max, the sums of regret matching).
template <class D>
void Search<D>::collide(Worker& worker) {
  constexpr std::uint32_t kMost = 1 << 16;
  std::uint32_t visits = 1;
  try {
    std::uint32_t& before = worker.crowded[worker.node];
    visits = std::clamp<std::uint32_t>(before, 1, kMost);
    before += visits;
    worker.collided.push_back({worker.path, visits});
  } catch (...) {
    cancel_path(worker.path);
    throw;
  }
  const float loss = loss_scale();
  for (const Step& step : worker.path) {
    Node& node = graph_.node(step.node);
    NodeLock lock(node, threaded());
    const Edges edges = graph_.edges(node);
    graph_.note_change(node, edges, step.edge);
    edges.visits[step.edge] += visits - 1;
    node.visits += visits - 1;
    if (!defers() || edges.child[step.edge] & kPending) continue;
    Node& child = graph_.node(child_of(edges, step.edge));
    const float share = static_cast<float>(visits) / static_cast<float>(edges.visits[step.edge]);
    for (int p = 0; p < 2; ++p)
      if (acts(node.acting, p)) store(child.value[p], load(child.value[p]) - loss * share);
    update_edge(graph_, settings_, node, edges, step.edge);
  }
}

// What a loss costs, on the scale of the values.
template <class D>
float Search<D>::loss_scale() const {
  return settings_.normalize == Normalize::kRemaining ? dynamics_.remaining(root_cursor_) : 1.0f;
}

// Where many leaves are in flight, descents meet them again and again. A collision puts as many visits on its way as all
// collisions with the same leaf before it, so that a leaf is met a few times, not once for every visit that selection
// would give it until another way scores higher. A batch that finds no leaf in spite of that ends.
template <class D>
void Search<D>::collect_leaves(Worker& worker, Leaves& leaves, int most, std::int64_t simulations) {
  constexpr int kPatience = 1024;  // descents that need no evaluation, before the caller may look at clock and Ctrl-C
  constexpr int kInARow = 32;      // collisions without a leaf between them
  int in_a_row = 0, collided = 0, done = 0;
  while (static_cast<int>(leaves.count) < most && simulations > 0 && !proven()) {
    if (threaded() && worker.handed.empty())
      hand_out(worker, std::min<std::int64_t>(simulations, most - static_cast<int>(leaves.count)));
    const Arrival arrival = descend_safely(worker, false);
    if (arrival == Arrival::kCollision) {
      ++worker.stats.collisions;
      collide(worker);
      if (worker.path.empty() || ++in_a_row > kInARow || ++collided > most) break;
      continue;
    }
    --simulations;
    if (arrival == Arrival::kLeaf) {
      in_a_row = 0;
      keep_leaf(worker, leaves);
    } else {
      back_up(worker, worker.path);
      if (++done >= kPatience) break;
    }
  }
  take_back(worker);
}

// As much as memory allows: what was collected before it ran out stays.
template <class D>
void Search<D>::collect_safely(Worker& worker, int batch, int most, std::int64_t simulations) {
  try {
    const auto b = static_cast<std::size_t>(batch);
    if (worker.batches.size() <= b) worker.batches.resize(b + 1);
    collect_leaves(worker, worker.batches[b], most, simulations);
  } catch (const std::bad_alloc& error) {
    take_back(worker);
    stop_growing(error);
  } catch (...) {
    take_back(worker);
    throw;
  }
}

template <class D>
int Search<D>::collect(int batch, int leaves, std::int64_t simulations) {
  if (this->leaves(batch)) throw std::logic_error("batch " + std::to_string(batch) + " of this search is still in flight");
  const auto allowed = settings_.max_in_flight * static_cast<double>(graph_.node(root_).visits) - in_flight_;
  if (in_flight_ && allowed < 1.0) return 0;
  leaves = std::max(1, static_cast<int>(std::min<double>(leaves, allowed)));
  const int threads = std::min<int>({settings_.threads, leaves, static_cast<int>(std::min<std::int64_t>(simulations, 1 << 20))});
  try {
    if (threads <= 1) {
      collect_safely(*workers_[0], batch, leaves, simulations);
    } else {
      in_all_threads([&](Worker& worker) {
        if (worker.index >= threads) return;
        collect_safely(worker, batch, (leaves + worker.index) / threads, (simulations + worker.index) / threads);
      });
    }
  } catch (...) {
    cancel();
    throw;
  }
  cancel_collisions();
  const int collected = this->leaves(batch);
  in_flight_ += collected;
  return collected;
}

template <class D>
void Search<D>::cancel_collisions() {
  for (auto& worker : workers_) {
    for (const Collision& collision : worker->collided) {
      if (!defers()) {
        cancel_path(collision.path, collision.visits);
        continue;
      }
      for (const Step& step : collision.path) {
        Node& node = graph_.node(step.node);
        const Edges edges = graph_.edges(node);
        graph_.note_change(node, edges, step.edge);
        edges.visits[step.edge] -= collision.visits;
        node.visits -= collision.visits;
      }
      touch(collision.path);
    }
    worker->collided.clear();
    worker->crowded.clear();
  }
  settle();
}

// One link of the chain from the search to the path of its leaf after another. The path is fetched whole, since it has to be
// backed up, and the next descent has most of it in common.
template <class D>
void Search<D>::fetch(int step, int batch) const {
  if (step == 0) return fetch_until(this, graph_.hot_end());
  if (step == 1) {
    __builtin_prefetch(workers_.data());
    graph_.fetch_parts();
    return dynamics_.fetch(root_cursor_, 0);
  }
  const Worker& worker = *workers_[0];
  if (step == 2) {
    fetch_until(&worker, &worker.event);
    graph_.prefetch(root_);
    return dynamics_.fetch(root_cursor_, 1);
  }
  const auto b = static_cast<std::size_t>(batch);
  if (b >= worker.batches.size()) return;
  const Leaves& leaves = worker.batches[b];
  if (step == 3) {
    fetch_object(leaves);
    graph_.fetch_all(graph_.node(root_));
    const void* const scratch[] = {worker.path.data(), worker.actions.data(), worker.merge.data(), worker.priors.data(),
                                   worker.outcome_priors.data()};
    for (const void* const memory : scratch) __builtin_prefetch(memory);
    return;
  }
  if (!leaves.count) return;
  const Leaf& leaf = leaves.list[0];
  if (step == 4) return fetch_object(leaf);
  if (step == 5) {
    fetch_bytes(leaf.path.data(), sizeof(Step) * leaf.path.size());
    return graph_.prefetch(leaf.node);
  }
  if (step == 6) {
    for (const Step& one : leaf.path) graph_.prefetch(one.node);
    return graph_.fetch_all(graph_.node(leaf.node));
  }
  for (const Step& one : leaf.path) graph_.fetch_all(graph_.node(one.node));
}

template <class D>
void Search<D>::write(int batch, const BatchView& view, int row) {
  by_worker(batch, row, [&](Worker& worker, Leaves& leaves, int first) {
    for (std::size_t i = 0; i < leaves.count; ++i)
      if (!leaves.list[i].cached) write_leaf(worker, leaves.list[i], view, static_cast<std::size_t>(first++));
  });
}

template <class D>
void Search<D>::write_leaf(Worker& worker, const Leaf& leaf, const BatchView& view, std::size_t row) {
  const auto actions = static_cast<std::size_t>(num_actions());
  const Acting acting = dynamics_.acting(leaf.cursor);
  for (int p = 0; p < 2; ++p) {
    const std::size_t place = 2 * row + static_cast<std::size_t>(p);
    view.acting[place] = acts(acting, p);
    if (!view.legal) continue;
    std::fill_n(view.legal + place * actions, actions, std::uint8_t{0});
    if (acts(acting, p)) write_legal(worker, leaf, p, view.legal + place * actions);
  }
  if constexpr (D::kLatent) {
    view.parents[row] = leaf.cursor.parent;
    view.slots[row] = slot_of(graph_.node(leaf.node));
    for (int p = 0; p < 2; ++p) view.actions[2 * row + static_cast<std::size_t>(p)] = leaf.cursor.joint[p];
    if (leaf.cursor.parent < 0) dynamics_.write_root_observation(view, row);
  } else {
    view.keys[row] = dynamics_.key(leaf.cursor);
    dynamics_.observe(leaf.cursor, acting == kSecond ? 1 : 0, view.observations + row * observation_size_);
  }
}

// The legal actions are those of the node's outcomes, unless several actions share an outcome.
template <class D>
void Search<D>::write_legal(Worker& worker, const Leaf& leaf, int player, std::uint8_t* legal) {
  if (D::kMerges || restricted(leaf.node, player)) {  // the evaluator is shown the position as it is
    const int n = dynamics_.legal(leaf.cursor, player, worker.actions.data());
    for (int i = 0; i < n; ++i) legal[worker.actions[static_cast<std::size_t>(i)]] = 1;
  } else {
    const Node& node = graph_.node(leaf.node);
    const std::uint32_t* words = graph_.words(node, player);
    for (std::uint32_t i = 0; i < node.outcomes[player]; ++i) legal[word_action(words[i])] = 1;
  }
}

// What the players got on the edge into a leaf, as a learned model predicts it.
template <class D>
Rewards Search<D>::rewards_of(const EvaluationView& evaluation, const Cursor& cursor, std::size_t row)
  requires(D::kLatent)
{
  if (!evaluation.mover_rewards) return {evaluation.rewards[2 * row], evaluation.rewards[2 * row + 1]};
  const float reward = evaluation.rewards[row];
  return cursor.joint[0] >= 0 ? Rewards{reward, -reward} : Rewards{-reward, reward};
}

template <class D>
void Search<D>::absorb_leaf(Worker& worker, const Leaf& leaf, const EvaluationView& evaluation, int row) {
  const auto actions = static_cast<std::size_t>(num_actions()), r = static_cast<std::size_t>(row);
  const std::size_t players = evaluation.per_player ? 2 : 1, stride = evaluation.errors ? 2 : 1;
  const float* given = evaluation.values + r * players * stride;
  float values[2], weight = 1.0f;
  if (evaluation.per_player) {
    fill_priors(worker, leaf, evaluation.logits.from(2 * r * actions), actions, row);
    values[0] = given[0], values[1] = given[stride];
  } else {
    fill_priors(worker, leaf, evaluation.logits.from(r * actions), 0, row);
    const bool second = graph_.node(leaf.node).acting == kSecond;
    values[second] = given[0], values[!second] = -given[0];
  }
  check_values(values, row);
  if (weighted()) weight = weight_of(given + 1, static_cast<int>(players), row);
  set_weight(leaf.node, weight);
  remember(worker, leaf, values, weight);
  if constexpr (D::kLatent)
    if (!leaf.path.empty() && evaluation.rewards) {
      const Rewards rewards = rewards_of(evaluation, leaf.cursor, r);
      if (!std::isfinite(rewards[0]) || !std::isfinite(rewards[1]))
        throw EvaluatorError("row " + std::to_string(row) + ": a reward is not finite");
      Node& parent = graph_.node(leaf.path.back().node);
      NodeLock lock(parent, threaded());
      graph_.set_reward(worker.index, parent, leaf.path.back().edge, rewards);
    }
  ++worker.stats.evaluations;
  mix_rollout(leaf, values);
  finish_leaf(worker, leaf.cursor, leaf.node, values, leaf.path);
}

template <class D>
void Search<D>::absorb_leaves(Worker& worker, Leaves& leaves, const EvaluationView& evaluation, int row) {
  worker.defers = leaves.count > 1 && defers();
  if (threaded() && !worker.defers) {  // the root hears of all of them at once
    worker.news.reserve(leaves.count);
    worker.saves_news = true;
  }
  for (std::size_t i = 0; i < leaves.count; ++i) {
    const Leaf& leaf = leaves.list[i];
    try {
      if (leaf.cached) absorb_cached(worker, leaf);
      else absorb_leaf(worker, leaf, evaluation, row++);
    } catch (const std::bad_alloc& error) {  // this leaf is lost, what was found is not
      stop_growing(error);
      abandon(leaf.path, leaf.node);
    }
    ++leaves.absorbed;  // what a later failure in this batch leaves alone
  }
}

template <class D>
void Search<D>::absorb(int batch, const EvaluationView& evaluation, int row) {
  const int absorbed = leaves(batch);
  if (weighted() && rows(batch) && !evaluation.errors) {
    cancel();
    throw InvalidInput("error_scale needs an evaluator that predicts the errors of its values, such as a network with the head "
                       "value_error: Network(module, errors=True)");
  }
  try {
    by_worker(batch, row, [&](Worker& worker, Leaves& leaves, int first) {
      try {
        absorb_leaves(worker, leaves, evaluation, first);
      } catch (...) {
        tell_root(worker);
        throw;
      }
      tell_root(worker);
    });
  } catch (...) {
    back_up_batch(batch);
    cancel();
    throw;
  }
  back_up_batch(batch);
  for (auto& worker : workers_)
    if (static_cast<std::size_t>(batch) < worker->batches.size()) worker->batches[static_cast<std::size_t>(batch)].clear();
  in_flight_ -= absorbed;
}

// Backs up the leaves of a batch that were absorbed, if that was deferred: every node above them once.
template <class D>
void Search<D>::back_up_batch(int batch) {
  const auto b = static_cast<std::size_t>(batch);
  for (auto& worker : workers_) {
    if (!std::exchange(worker->defers, false) || b >= worker->batches.size()) continue;
    for (std::size_t i = 0; i < worker->batches[b].absorbed; ++i) touch(worker->batches[b].list[i].path);
  }
  settle();
}

template <class D>
void Search<D>::cancel() {
  cancel_collisions();  // there are some only if collecting failed half-way
  cancel_paused();
  for (auto& worker : workers_)
    for (Leaves& leaves : worker->batches) {
      for (std::size_t i = leaves.absorbed; i < leaves.count; ++i) abandon(leaves.list[i].path, leaves.list[i].node);
      leaves.clear();
    }
  in_flight_ = 0;
}

}  // namespace ramify
