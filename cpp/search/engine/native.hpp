// Evaluators of the core: uniform priors, random games. Part of search/search.hpp, which includes it.
#pragma once

#include "search/search.hpp"

namespace ramify {

template <class D>
void Search<D>::roll_out(Worker& worker, const NativeEvaluator& evaluator, float* values) {
  double sum[2] = {0.0, 0.0};
  for (int game = 0; game < evaluator.rollouts; ++game) {
    Rng rng(combine(evaluator.seed, dynamics_.key(worker.cursor)), static_cast<std::uint64_t>(game));
    Cursor cursor = worker.cursor;
    double weight = 1.0;
    for (Acting acting = dynamics_.acting(cursor); acting != kOver; acting = dynamics_.acting(cursor)) {
      Joint joint;
      for (int p = 0; p < 2; ++p)
        if (acts(acting, p)) {
          const int n = dynamics_.legal(cursor, p, worker.actions.data());
          joint.of[static_cast<std::size_t>(p)] = worker.actions[rng.below(static_cast<std::uint32_t>(n))];
        }
      const Rewards rewards = dynamics_.apply(cursor, joint);
      for (int p = 0; p < 2; ++p) sum[p] += weight * static_cast<double>(rewards[static_cast<std::size_t>(p)]);
      weight *= settings_.discount;
    }
  }
  for (int p = 0; p < 2; ++p) values[p] = static_cast<float>(sum[p] / evaluator.rollouts);
}

template <class D>
void Search<D>::evaluate_native(Worker& worker, const NativeEvaluator& evaluator) {
  Node& node = graph_.node(worker.node);
  fill_uniform(node);
  float values[2] = {0.0f, 0.0f};
  if constexpr (D::kLatent) node.key = static_cast<Key>(next_slot_++);
  try {
    if constexpr (!D::kLatent)
      if (evaluator.rollouts > 0) roll_out(worker, evaluator, values);
    finish_leaf(worker, worker.cursor, worker.node, values, worker.path);
  } catch (...) {  // a game written in Python may raise: then the descent is undone
    abandon(worker.path, worker.node);
    throw;
  }
}

// One descent, or in threads as many as the root hands out at once, but no more than `most`; returns how many counted.
template <class D>
std::int64_t Search<D>::run_some(Worker& worker, const NativeEvaluator& evaluator, std::int64_t most) {
  std::int64_t counted = 0;
  try {
    if (threaded()) hand_out(worker, most);
    worker.saves_news = !worker.handed.empty();
    do {
      if (proven()) break;
      const Arrival arrival = descend_safely(worker);
      if (arrival == Arrival::kCollision) {  // only between threads: somebody else's leaf
        ++worker.stats.collisions;
        cancel_path(worker.path);
        continue;
      }
      if (arrival == Arrival::kLeaf) evaluate_native(worker, evaluator);
      else back_up(worker, worker.path);
      ++counted;
    } while (!worker.handed.empty());
  } catch (const std::bad_alloc& error) {
    take_back(worker);
    tell_root(worker);
    stop_growing(error);
    return counted + 1;  // or a run without memory would never end
  } catch (...) {
    take_back(worker);
    tell_root(worker);
    throw;
  }
  take_back(worker);  // of a root that was proven meanwhile
  tell_root(worker);
  return counted;
}

template <class D>
std::int64_t Search<D>::run_native(const NativeEvaluator& evaluator, std::int64_t simulations, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kShare = 64;  // descents a thread takes at a time, between looks at the clock
  const auto deadline = Clock::now() + std::chrono::duration<double>(std::min(seconds, 1e9));
  std::atomic<std::int64_t> left{simulations}, done{0};
  in_all_threads([&](Worker& worker) {
    do {  // at least once: a run that is late already still makes progress
      const std::int64_t share = std::min(kShare, left.fetch_sub(kShare));
      if (share <= 0) return;
      std::int64_t here = 0;
      while (here < share && !proven()) here += run_some(worker, evaluator, share - here);
      done.fetch_add(here);
      if (here < share) return;
    } while (Clock::now() < deadline);
  });
  return done.load();
}

}  // namespace ramify
