// Evaluators of the core: uniform priors, games played on at random or by a greedy player, plans. Part of search/search.hpp, which includes it.
#pragma once

#include <bit>

#include "search/search.hpp"

namespace ramify {

// The actions among which a rollout draws, in worker.actions; returns their number.
template <class D>
int Search<D>::playable(Worker& worker, const NativeRun& run, const Cursor& cursor, int player) const {
  if constexpr (kGreedy)
    if (run.evaluator.greedy) return dynamics_.rules().greedy(cursor, player, worker.actions.data());
  return dynamics_.legal(cursor, player, worker.actions.data());
}

// Gives the actions of the greedy player a share of the prior; what is left stays uniform.
template <class D>
void Search<D>::fill_greedy(Worker& worker, Node& node, float share)
  requires(kGreedy)
{
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    const int best = dynamics_.rules().greedy(worker.cursor, p, worker.actions.data());
    const Action* const end = worker.actions.data() + best;
    std::uint32_t* words = graph_.words(node, p);
    const float rest = (1.0f - share) / static_cast<float>(node.outcomes[p]);
    for (std::uint32_t i = 0; i < node.outcomes[p]; ++i) {
      const Action action = word_action(words[i]);
      const bool chosen = std::find<const Action*>(worker.actions.data(), end, action) != end;
      words[i] = make_word(chosen ? rest + share / static_cast<float>(best) : rest, action);
    }
  }
}

// Half of the share goes to the actions of the plan, half to those of the greedy player; what is left stays uniform.
template <class D>
void Search<D>::fill_planned(Worker& worker, Node& node, float share, const Plan& plan) {
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    const std::uint64_t planned = plan.actions[static_cast<std::size_t>(p)];
    std::uint64_t greedy = planned;
    if constexpr (kGreedy) {
      greedy = 0;
      for (int k = dynamics_.rules().greedy(worker.cursor, p, worker.actions.data()) - 1; k >= 0; --k)
        greedy |= std::uint64_t{1} << worker.actions[static_cast<std::size_t>(k)];
    }
    std::uint32_t* words = graph_.words(node, p);
    for (std::uint32_t i = 0; i < node.outcomes[p]; ++i) {
      const Action action = word_action(words[i]);
      float prior = (1.0f - share) / static_cast<float>(node.outcomes[p]);
      for (const std::uint64_t chosen : {planned, greedy})
        if (chosen >> action & 1) prior += share / 2 / static_cast<float>(std::popcount(chosen));
      words[i] = make_word(prior, action);
    }
  }
}

// Draws chance events of a random game until a player acts or it is over; what they pay belongs to the turn before.
template <class D>
void Search<D>::draw_chance(Worker& worker, Cursor& cursor, RandomGame& game) {
  for (std::int64_t events = 0; dynamics_.acting(cursor) == kChance; ++events) {
    if constexpr (D::kNeedsPython)
      if (events >= kMostTurns) dynamics_.rules().refuse_events(cursor, kMostTurns);
    dynamics_.chance(cursor, worker.event);
    const Rewards rewards = dynamics_.apply(cursor, chance_joint(worker.event.at(game.rng.uniform())));
    for (int p = 0; p < 2; ++p) game.paid[p] += game.weight * static_cast<double>(rewards[static_cast<std::size_t>(p)]);
  }
}

// Plays the game under way on to its end. False if the clock stops it: every call makes some progress, and one that is
// late gives a game a few thousand plies.
template <class D>
RAMIFY_HOT bool Search<D>::play_on(Worker& worker, const NativeRun& run, Cursor& cursor, RandomGame& game) {
  constexpr std::int64_t kLook = D::kNeedsPython ? 1 : 1024;  // plies between looks at the clock
  constexpr std::int64_t kLong = 4096;
  const auto stops = [&] {  // asked after every ply
    return game.plies % kLook == 0 && std::chrono::steady_clock::now() >= run.deadline &&
           (!run.late || game.plies - game.began >= kLong);
  };
  if constexpr (kRandomly)
    if (!run.evaluator.greedy && settings_.discount == 1.0) {
      while (dynamics_.acting(cursor) != kOver) {
        int turns = 0;
        const Rewards rewards = dynamics_.rules().play_randomly(cursor, game.rng, static_cast<int>(kLook - game.plies % kLook), turns);
        for (int p = 0; p < 2; ++p) game.paid[p] += static_cast<double>(rewards[static_cast<std::size_t>(p)]);
        game.plies += turns;
        if (stops()) return false;
      }
      return true;
    }
  for (Acting acting = dynamics_.acting(cursor); acting != kOver; acting = dynamics_.acting(cursor)) {
    Joint joint;
    for (int p = 0; p < 2; ++p)
      if (acts(acting, p)) {
        const int n = playable(worker, run, cursor, p);
        if constexpr (D::kNeedsPython)
          if (n <= 0) throw InvalidInput("player " + std::to_string(p) + " acts but has no legal action");
        joint.of[static_cast<std::size_t>(p)] = worker.actions[game.rng.below(static_cast<std::uint32_t>(n))];
      }
    const Rewards rewards = dynamics_.apply(cursor, joint);
    for (int p = 0; p < 2; ++p) game.paid[p] += game.weight * static_cast<double>(rewards[static_cast<std::size_t>(p)]);
    if constexpr (D::kChance) draw_chance(worker, cursor, game);
    game.weight *= settings_.discount;
    ++game.plies;
    if constexpr (D::kNeedsPython)  // native games end by their rules
      if (game.plies - game.began >= kMostTurns && dynamics_.acting(cursor) != kOver)
        dynamics_.rules().refuse_endless(cursor, kMostTurns);
    if (stops()) return false;
  }
  return true;
}

// The mean of random games from a leaf; false if the clock stops them before all are played.
template <class D>
bool Search<D>::roll_out(Worker& worker, const NativeRun& run, const Cursor& leaf, Rollouts& rollouts, float* values) {
  RandomGame game = rollouts.game;  // a copy, which stays in registers
  while (rollouts.games < run.evaluator.rollouts) {
    const bool fresh = !rollouts.cursor;
    Cursor cursor = fresh ? Cursor(leaf) : Cursor(std::move(*rollouts.cursor));
    rollouts.cursor.reset();
    if (fresh) {
      game.rng = Rng(combine(run.evaluator.seed, dynamics_.key(leaf)), static_cast<std::uint64_t>(rollouts.games));
      game.weight = 1.0;
      game.began = game.plies;
      for (int p = 0; p < 2; ++p) game.paid[p] = rollouts.sums[p];
    }
    if (!play_on(worker, run, cursor, game)) {
      if (!run.late) {
        rollouts.cursor.emplace(std::move(cursor));
        rollouts.game = game;
        return false;
      }
      if (rollouts.games) break;
      throw EvaluatorError("a rollout did not end within " + std::to_string(game.plies) +
                           " plies before the time limit: rollouts need a game in which random play ends");
    }
    ++rollouts.games;
    for (int p = 0; p < 2; ++p) rollouts.sums[p] = game.paid[p];
    if (run.late) break;
  }
  for (int p = 0; p < 2; ++p) values[p] = static_cast<float>(rollouts.sums[p] / rollouts.games);
  return true;
}

// With rollout_share: plays a game on from a leaf that awaits its evaluation, by the greedy player if the game knows one; or plans.
template <class D>
void Search<D>::play_leaf(Worker& worker, Leaf& leaf) {
  if constexpr (!D::kLatent) {
    if (settings_.rollout_share <= 0.0) return;
    if constexpr (kPlans)
      if (settings_.rollout_plans) {
        const Plan plan = dynamics_.rules().plan(leaf.cursor, settings_.discount);
        std::copy_n(plan.values.begin(), 2, leaf.played);
        return;
      }
    const NativeEvaluator evaluator{1, 0, kGreedy};
    const NativeRun run{evaluator, std::chrono::steady_clock::time_point::max(), false, false};
    Rollouts rollouts;
    roll_out(worker, run, leaf.cursor, rollouts, leaf.played);
  }
}

template <class D>
void Search<D>::mix_rollout(const Leaf& leaf, float (&values)[2]) const {
  const auto share = static_cast<float>(settings_.rollout_share);
  if (share <= 0.0f) return;
  for (int p = 0; p < 2; ++p) values[p] += share * (leaf.played[p] - values[p]);
}

// Evaluates a leaf whose priors are there already; false if the clock stops it.
template <class D>
bool Search<D>::finish_native(Worker& worker, const NativeRun& run, const Cursor& cursor, NodeId id,
                              const std::vector<Step>& path, Rollouts& rollouts) {
  float values[2] = {0.0f, 0.0f};
  if constexpr (!D::kLatent)
    if (run.evaluator.rollouts > 0 && !roll_out(worker, run, cursor, rollouts, values)) return false;
  ++worker.stats.evaluations;
  finish_leaf(worker, cursor, id, values, path);
  return true;
}

// Evaluates the leaf at which a descent arrived; false if it is left half-way, to be resumed.
template <class D>
bool Search<D>::evaluate_native(Worker& worker, const NativeRun& run) {
  Node& node = graph_.node(worker.node);
  if (node.words) fill_uniform(graph_, node);
  if constexpr (kGreedy)
    if (run.evaluator.prior > 0.0f && !run.evaluator.planner) fill_greedy(worker, node, run.evaluator.prior);
  try {
    if constexpr (D::kLatent) take_slot(node);
    if constexpr (kPlans)
      if (run.evaluator.planner) {
        const Plan plan = dynamics_.rules().plan(worker.cursor, settings_.discount);
        if (run.evaluator.prior > 0.0f) fill_planned(worker, node, run.evaluator.prior, plan);
        ++worker.stats.evaluations;
        finish_leaf(worker, worker.cursor, worker.node, plan.values.data(), worker.path);
        return true;
      }
    Rollouts rollouts;
    if (finish_native(worker, run, worker.cursor, worker.node, worker.path, rollouts)) return true;
    worker.paused.emplace(Paused{{worker.cursor, worker.node, worker.path}, std::move(rollouts)});
    return false;
  } catch (...) {  // a game written in Python may raise: then the descent is undone
    abandon(worker.path, worker.node, worker.base);
    throw;
  }
}

// Goes on with the leaf that was left half-way.
template <class D>
bool Search<D>::resume(Worker& worker, const NativeRun& run) {
  Paused& paused = *worker.paused;
  try {
    if (!finish_native(worker, run, paused.leaf.cursor, paused.leaf.node, paused.leaf.path, paused.rollouts)) return false;
  } catch (...) {
    cancel_paused();
    throw;
  }
  worker.paused.reset();
  return true;
}

template <class D>
void Search<D>::cancel_paused() {
  for (auto& worker : workers_) {
    if (!worker->paused) continue;
    cancel_path(worker->paused->leaf.path);
    store(graph_.node(worker->paused->leaf.node).status, Status::kNew);
    worker->paused.reset();
  }
}

// One descent; returns whether it counts.
template <class D>
std::int64_t Search<D>::run_one(Worker& worker, const NativeRun& run) {
  try {
    const Arrival arrival = descend_safely(worker, run.lists_late);
    if (arrival == Arrival::kCollision) {  // only between threads: somebody else's leaf
      ++worker.stats.collisions;
      cancel_path(worker.path);
      return 0;
    }
    if (arrival == Arrival::kLeaf) return evaluate_native(worker, run);
    back_up(worker, worker.path);
    return 1;
  } catch (const std::bad_alloc& error) {
    stop_growing(error);
    return 1;  // or a run without memory would never end
  }
}

// Takes some of the simulations that are left; 0 if there are none. Threads take many at a time, so that they seldom meet,
// and fewer towards the end, so that none has much to do when the others are done.
template <class D>
std::int64_t Search<D>::take_simulations(const NativeRun& run, std::atomic<std::int64_t>& left) const {
  std::int64_t most = D::kNeedsPython || run.late ? 1 : kLook;
  if (!threaded() && settings_.bundle > 1 && most > 1)
    most = std::max(most, left.load(std::memory_order_relaxed));  // bundles end where the clock may be looked at
  else if (threaded() && most > 1)
    most = std::clamp(left.load(std::memory_order_relaxed) / (8 * settings_.threads), kLook, std::int64_t{kBundle});
  return std::clamp<std::int64_t>(left.fetch_sub(most), 0, most);
}

template <class D>
std::int64_t Search<D>::run_worker(Worker& worker, const NativeRun& run, std::atomic<std::int64_t>& left) {
  using Clock = std::chrono::steady_clock;
  std::int64_t done = 0;
  if (worker.paused) {
    if (left.fetch_sub(1) <= 0 || !resume(worker, run)) return 0;
    ++done;
    if (Clock::now() >= run.deadline) return done;
  }
  do {  // at least once: a run that is late already still makes progress
    const std::int64_t share = take_simulations(run, left);
    std::int64_t here = 0;
    while (here < share && !proven()) {
      const bool bundled = bundles();
      const std::int64_t made = bundled ? run_bundle(worker, run, share - here) : run_one(worker, run);
      here += made;
      if (worker.paused || ((!made || bundled) && Clock::now() >= run.deadline)) break;
    }
    done += here;
    if (here < share || share == 0) return done;
  } while (Clock::now() < run.deadline);
  return done;
}

template <class D>
std::int64_t Search<D>::run_native(const NativeEvaluator& evaluator, std::int64_t simulations, double seconds) {
  using Clock = std::chrono::steady_clock;
  if constexpr (!kGreedy)
    if (evaluator.greedy) throw InvalidInput("greedy rollouts need a game that knows a greedy player, as pyrat does");
  if (!kPlans && evaluator.planner) throw InvalidInput("plans need a game that knows a planner, as pyrat does");
  if (weighted())
    throw InvalidInput("error_scale needs an evaluator that predicts the errors of its values: evaluators of the core do not");
  const auto allowed = std::chrono::duration<double>(std::clamp(seconds, 0.0, 1e9));
  const NativeRun run{evaluator, Clock::now() + std::chrono::duration_cast<Clock::duration>(allowed),
                      seconds <= 0.0 && load(graph_.node(root_).status) != Status::kReady,
                      !settings_.solver && evaluator.prior <= 0.0f};
  alignas(64) std::atomic<std::int64_t> left{simulations};  // apart from `run`, which all threads read all the time
  alignas(64) std::atomic<std::int64_t> done{0};
  in_all_threads([&](Worker& worker) { done += run_worker(worker, run, left); });
  return done.load();
}

}  // namespace ramify
