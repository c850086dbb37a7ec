// Leaves collected, written, absorbed and cancelled together. Part of search/search.hpp, which includes it.
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

template <class D>
int Search<D>::collect_worker(Worker& worker, int leaves, std::int64_t simulations) {
  constexpr int kPatience = 1024;  // descents that need no evaluation, before the caller may look at clock and Ctrl-C
  int collided = 0, done = 0;
  const int before = static_cast<int>(worker.num_leaves);
  while (static_cast<int>(worker.num_leaves) - before < leaves && simulations > 0 && !proven()) {
    const Arrival arrival = descend_safely(worker);
    if (arrival == Arrival::kCollision) {
      // The visit stays on the path until the batch is collected, so that the next descent looks elsewhere.
      ++worker.stats.collisions;
      keep_collision(worker);
      if (worker.path.empty() || ++collided > leaves) break;
      continue;
    }
    --simulations;
    if (arrival == Arrival::kLeaf) {
      if constexpr (D::kLatent) graph_.node(worker.node).key = static_cast<Key>(next_slot_++);
      keep_leaf(worker);
    } else {
      back_up(worker, worker.path);
      if (++done >= kPatience) break;
    }
  }
  return static_cast<int>(worker.num_leaves) - before;
}

// As much as memory allows: what was collected before it ran out stays.
template <class D>
void Search<D>::collect_safely(Worker& worker, int leaves, std::int64_t simulations) {
  try {
    collect_worker(worker, leaves, simulations);
  } catch (const std::bad_alloc& error) {
    stop_growing(error);
  }
}

template <class D>
int Search<D>::collect(int leaves, std::int64_t simulations) {
  const auto root_visits = static_cast<double>(graph_.node(root_).visits);
  leaves = std::max(1, static_cast<int>(std::min<double>(leaves, settings_.max_in_flight * root_visits)));
  const int threads = std::min<int>({settings_.threads, leaves, static_cast<int>(std::min<std::int64_t>(simulations, 1 << 20))});
  if (threads <= 1) {
    collect_safely(*workers_[0], leaves, simulations);
  } else {
    in_all_threads([&](Worker& worker) {
      if (worker.index >= threads) return;
      collect_safely(worker, (leaves + worker.index) / threads, (simulations + worker.index) / threads);
    });
  }
  cancel_collisions();
  int rows = 0;
  bool any = false;
  for (auto& worker : workers_) {
    rows += rows_of(*worker);
    any = any || worker->num_leaves > 0;
  }
  if (any && !rows) absorb({}, 0);
  return rows;
}

template <class D>
void Search<D>::cancel_collisions() {
  for (auto& worker : workers_) {
    for (const auto& path : worker->collided) cancel_path(path);
    worker->collided.clear();
  }
}

template <class D>
void Search<D>::write(const BatchView& batch, int row) {
  const auto actions = static_cast<std::size_t>(num_actions());
  for (auto& worker : workers_)
    for (std::size_t i = 0; i < worker->num_leaves; ++i) {
      const Leaf& leaf = worker->leaves[i];
      if (leaf.cached) continue;
      const auto r = static_cast<std::size_t>(row++);
      const Acting acting = dynamics_.acting(leaf.cursor);
      for (int p = 0; p < 2; ++p) {
        batch.acting[2 * r + static_cast<std::size_t>(p)] = acts(acting, p);
        if (!batch.legal) continue;
        std::uint8_t* legal = batch.legal + (2 * r + static_cast<std::size_t>(p)) * actions;
        std::fill(legal, legal + actions, std::uint8_t{0});
        if (!acts(acting, p)) continue;
        const int n = dynamics_.legal(leaf.cursor, p, worker->actions.data());
        for (int k = 0; k < n; ++k) legal[worker->actions[static_cast<std::size_t>(k)]] = 1;
      }
      if constexpr (D::kLatent) {
        batch.parents[r] = leaf.cursor.parent;
        batch.slots[r] = static_cast<std::int32_t>(graph_.node(leaf.node).key);
        for (int p = 0; p < 2; ++p) batch.actions[2 * r + static_cast<std::size_t>(p)] = leaf.cursor.joint[p];
      } else {
        batch.keys[r] = dynamics_.key(leaf.cursor);
        dynamics_.observe(leaf.cursor, acting == kSecond ? 1 : 0, batch.observations + r * observation_size_);
      }
    }
}

template <class D>
void Search<D>::absorb_leaf(Worker& worker, const Leaf& leaf, const EvaluationView& evaluation, int row) {
  const auto actions = static_cast<std::size_t>(num_actions()), r = static_cast<std::size_t>(row);
  float values[2];
  if (evaluation.per_player) {
    fill_priors(worker, leaf, evaluation.logits.from(2 * r * actions), actions, row);
    values[0] = evaluation.values[2 * r], values[1] = evaluation.values[2 * r + 1];
  } else {
    fill_priors(worker, leaf, evaluation.logits.from(r * actions), 0, row);
    const bool second = graph_.node(leaf.node).acting == kSecond;
    values[second] = evaluation.values[r], values[!second] = -evaluation.values[r];
  }
  check_values(values, row);
  remember(worker, leaf, values);
  if constexpr (D::kLatent)
    if (!leaf.path.empty()) {
      const float* rewards = evaluation.rewards + 2 * r;
      if (!std::isfinite(rewards[0]) || !std::isfinite(rewards[1]))
        throw EvaluatorError("row " + std::to_string(row) + ": a reward is not finite");
      Node& parent = graph_.node(leaf.path.back().node);
      NodeLock lock(parent, threaded());
      graph_.set_reward(worker.index, parent, leaf.path.back().edge, {rewards[0], rewards[1]});
    }
  ++worker.stats.evaluations;
  finish_leaf(worker, leaf.cursor, leaf.node, values, leaf.path);
}

template <class D>
void Search<D>::absorb_worker(Worker& worker, const EvaluationView& evaluation, int row) {
  for (std::size_t i = 0; i < worker.num_leaves; ++i) {
    const Leaf& leaf = worker.leaves[i];
    try {
      if (leaf.cached) absorb_cached(worker, leaf);
      else absorb_leaf(worker, leaf, evaluation, row++);
    } catch (const std::bad_alloc& error) {  // this leaf is lost, what was found is not
      stop_growing(error);
      abandon(leaf.path, leaf.node);
    }
    ++worker.absorbed;  // what a later failure in this batch leaves alone
  }
}

template <class D>
void Search<D>::absorb(const EvaluationView& evaluation, int row) {
  std::vector<int> first;
  for (auto& worker : workers_) {
    first.push_back(row);
    row += rows_of(*worker);
  }
  try {
    in_all_threads([&](Worker& worker) {
      absorb_worker(worker, evaluation, first[static_cast<std::size_t>(worker.index)]);
    });
  } catch (...) {
    cancel();
    throw;
  }
  for (auto& worker : workers_) worker->num_leaves = worker->absorbed = 0;
}

template <class D>
void Search<D>::cancel() {
  cancel_collisions();  // there are some only if collecting failed half-way
  cancel_paused();
  for (auto& worker : workers_) {
    for (std::size_t i = worker->absorbed; i < worker->num_leaves; ++i)
      abandon(worker->leaves[i].path, worker->leaves[i].node);
    worker->num_leaves = worker->absorbed = 0;
  }
}

}  // namespace ramify
