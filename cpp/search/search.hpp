// The engine: one search over one game or model. Descend, expand, back up; everything else is a setting.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "search/any_search.hpp"
#include "search/backup.hpp"
#include "search/dynamics.hpp"
#include "search/priors.hpp"
#include "search/root.hpp"
#include "search/select.hpp"

namespace ramify {

template <class D>
class Search final : public AnySearch {
 public:
  using Cursor = typename D::Cursor;

  Search(D dynamics, Cursor root, const Settings& settings, std::size_t observation_size)
      : dynamics_(std::move(dynamics)),
        settings_(settings),
        graph_(settings.graph && !D::kLatent, settings.max_nodes, settings.threads),
        observation_size_(observation_size),
        root_cursor_(std::move(root)) {
    if (num_actions() > kMaxActions)
      throw InvalidInput("a search can tell " + std::to_string(kMaxActions) + " actions apart, not " +
                         std::to_string(num_actions()));
    if (D::kLatent) settings_.graph = settings_.canonical = false;
    for (int i = 0; i < settings.threads; ++i) workers_.push_back(std::make_unique<Worker>(i, root_cursor_, num_actions()));
    new_root();
  }

  void begin(std::uint64_t seed) override {
    noise_ = Rng(seed, 0x6e6f697365);
    for (auto& worker : workers_) worker->stats = SearchStats{};
    bounds_ = Bounds{};
    if (graph_.node(root_).status == Status::kReady) write_root_priors();
  }

  int collect(int leaves, std::int64_t simulations) override;
  void write(const BatchView& batch, int row) override;
  void absorb(const EvaluationView& evaluation, int row) override;
  void cancel() override;
  std::int64_t run_native(const NativeEvaluator& evaluator, std::int64_t simulations, double seconds) override;
  Report report(std::span<const Joint> path) const override;
  std::vector<Joint> last_path() const override;
  std::vector<Joint> principal_variation() const override;
  bool advance(Joint joint) override;
  SearchStats stats() const override;
  Key root_key() const override { return dynamics_.key(root_cursor_); }
  bool needs_python() const override {
    if constexpr (requires { Cursor::kNeedsPython; }) return true;
    else return false;
  }

 private:
  struct Step {
    NodeId node;
    std::uint32_t edge;
  };
  // A leaf that awaits its evaluation, with all that is needed to write its row and to back it up.
  struct Leaf {
    Cursor cursor;
    NodeId node;
    std::vector<Step> path;
  };
  enum class Arrival { kLeaf, kDone, kCollision };

  // What one thread needs to descend; nothing here is shared.
  struct Worker {
    Worker(int index, const Cursor& cursor, int num_actions)
        : index(index), cursor(cursor), actions(2 * static_cast<std::size_t>(num_actions)),
          merge(D::kMerges ? static_cast<std::size_t>(num_actions) : 0), priors(static_cast<std::size_t>(num_actions)),
          outcome_priors(D::kMerges ? static_cast<std::size_t>(num_actions) : 0) {}
    int index;
    Cursor cursor;
    int symmetry = 0;
    NodeId node = 0;  // where the descent arrived
    std::vector<Step> path;
    std::vector<Leaf> leaves;
    std::size_t num_leaves = 0;  // leaves in use; the others are kept for their memory
    std::size_t absorbed = 0;    // of these, already evaluated
    std::vector<std::vector<Step>> collided;
    std::vector<Action> actions;
    std::vector<std::int16_t> merge;
    std::vector<float> priors, outcome_priors;
    SearchStats stats;
  };

  // Least and greatest edge value seen in this run, per player, for min-max normalisation.
  struct Bounds {
    float low[2] = {HUGE_VALF, HUGE_VALF};
    float high[2] = {-HUGE_VALF, -HUGE_VALF};
  };

  int num_actions() const { return dynamics_.num_actions(); }
  bool threaded() const { return settings_.threads > 1; }

  void new_root() {
    graph_.clear();
    root_ = graph_.create(0, 0);
    root_priors_.clear();
    next_slot_ = 0;
  }
  void write_root_priors() {
    if (settings_.noise_fraction > 0.0 || noised_) write_priors(graph_, settings_, graph_.node(root_), root_priors_, noise_);
    noised_ = settings_.noise_fraction > 0.0;
  }

  // --- down ---
  Arrival descend_safely(Worker& worker);
  Arrival descend(Worker& worker);
  std::uint32_t choose_edge(Worker& worker, Node& node);
  NodeId link(Worker& worker, Node& node, std::uint32_t edge, const Rewards& rewards);
  Arrival enter(Worker& worker, NodeId child, std::uint32_t edge_visits, bool& stop);
  Joint joint_of(const Node& node, std::uint32_t edge, int symmetry) const;
  void set_ranges(const Cursor& cursor, Ranges& ranges) const;
  static bool on_path(const std::vector<Step>& path, NodeId node) {
    return std::any_of(path.begin(), path.end(), [node](const Step& step) { return step.node == node; });
  }
  bool claim(Node& node);
  void prepare(Worker& worker, Node& node);
  void keep_leaf(Worker& worker);

  // --- up ---
  void fill_uniform(Node& node);
  void fill_priors(Worker& worker, const Leaf& leaf, const float* logits, int row);
  void fill_player(Worker& worker, const Leaf& leaf, Node& node, int player, const float* logits, int row);
  void finish_leaf(Worker& worker, NodeId id, const float* values, const std::vector<Step>& path);
  void back_up(const std::vector<Step>& path, SearchStats& stats);
  void cancel_step(const Step& step);
  void cancel_path(const std::vector<Step>& path);
  void cancel_collisions();
  void absorb_worker(Worker& worker, const EvaluationView& evaluation, int row);
  void check_values(const float* values, int row) const;
  void evaluate_native(Worker& worker, const NativeEvaluator& evaluator);
  void roll_out(Worker& worker, const NativeEvaluator& evaluator, float* values);
  int collect_worker(Worker& worker, int leaves, std::int64_t simulations);
  template <class Work>
  void in_all_threads(Work work);

  // Walks along known edges; null if the search has not been there.
  const Node* follow(std::span<const Joint> path, Cursor& cursor, int& symmetry) const;
  const Node* move(Cursor& cursor, Joint joint, const Node& node, std::uint32_t edge, int& symmetry) const;
  std::uint32_t find_edge(const Node& node, Joint joint, int symmetry) const;
  std::uint32_t most_visited(const Node& node) const;
  void turn_words(Node& node, int symmetry);

  D dynamics_;
  Settings settings_;
  Graph graph_;
  std::size_t observation_size_;
  Cursor root_cursor_;
  NodeId root_ = 0;
  RootPriors root_priors_;
  bool noised_ = false;
  Rng noise_{0};
  Bounds bounds_;
  std::mutex bounds_mutex_;
  std::atomic<std::int32_t> next_slot_{0};
  std::vector<std::unique_ptr<Worker>> workers_;
  std::unique_ptr<ThreadPool> pool_;
};

// --- down ------------------------------------------------------------------------------------------------------------

template <class D>
void Search<D>::set_ranges(const Cursor& cursor, Ranges& ranges) const {
  if (settings_.normalize == Normalize::kNone) return;
  for (int p = 0; p < 2; ++p) {
    if (settings_.normalize == Normalize::kRemaining) {
      const float remaining = dynamics_.remaining(cursor);
      ranges[p] = {0.0, remaining, remaining > 0.0f};
    } else {
      const double low = load(bounds_.low[p]), high = load(bounds_.high[p]);
      ranges[p] = {low, high - low, high > low};
    }
  }
}

template <class D>
Joint Search<D>::joint_of(const Node& node, std::uint32_t edge, int symmetry) const {
  Joint joint;
  const std::int32_t* to_actual = dynamics_.to_actual(symmetry);
  const auto [first, second] = outcome_pair(node, graph_.edges(node), edge);
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    const Action stored = word_action(graph_.words(node, p)[p ? second : first]);
    joint.of[static_cast<std::size_t>(p)] = to_actual ? to_actual[stored] : stored;
  }
  return joint;
}

// Selects an edge and opens it if it is new. A full graph is searched on along the edges that it has; kUntried if this
// node has none.
template <class D>
std::uint32_t Search<D>::choose_edge(Worker& worker, Node& node) {
  Ranges ranges;
  set_ranges(worker.cursor, ranges);
  const Pick pick = select(graph_, settings_, node, ranges);
  const bool known = pick.edge != kUntried && (graph_.edges(node).child[pick.edge] & ~kPending);
  if (!known && graph_.full()) return select_known(graph_, settings_, node, ranges);
  return pick.edge == kUntried ? graph_.open(worker.index, node, pick.pair, pick.fpu) : pick.edge;
}

// Finds or makes the child of an edge taken for the first time; 0 if there is no room.
template <class D>
NodeId Search<D>::link(Worker& worker, Node& node, std::uint32_t edge, const Rewards& rewards) {
  const bool over = !D::kLatent && dynamics_.acting(worker.cursor) == kOver;
  SharedKey shared{0, 0};
  if constexpr (!D::kLatent)
    if (!over && settings_.graph) shared = dynamics_.shared_key(worker.cursor, settings_);
  NodeLock lock(node, threaded());
  const std::uint32_t known = graph_.edges(node).child[edge] & ~kPending;
  if (known) return known;  // another thread was faster
  bool found = false;
  const NodeId child = over ? graph_.terminal() : graph_.share(worker.index, shared.key, found);
  if (!child) return 0;
  worker.stats.transpositions += found;
  graph_.set_reward(worker.index, node, edge, rewards);
  const bool ready = load(graph_.node(child).status) >= Status::kReady;
  graph_.edges(node).child[edge] = child | (ready ? 0 : kPending);
  return child;
}

template <class D>
bool Search<D>::claim(Node& node) {
  Status expected = Status::kNew, desired = Status::kInFlight;
  return __atomic_compare_exchange(&node.status, &expected, &desired, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}

template <class D>
typename Search<D>::Arrival Search<D>::descend(Worker& worker) {
  worker.path.clear();
  worker.cursor = root_cursor_;
  worker.symmetry = 0;
  worker.node = root_;
  if (load(graph_.node(root_).status) != Status::kReady)
    return claim(graph_.node(root_)) ? Arrival::kLeaf : Arrival::kCollision;
  if constexpr (D::kLatent) worker.cursor.slot = static_cast<std::int32_t>(graph_.node(root_).key);
  while (true) {
    Node& node = graph_.node(worker.node);
    std::uint32_t edge, before;
    NodeId child;
    Joint joint;
    {
      NodeLock lock(node, threaded());
      edge = choose_edge(worker, node);
      if (edge == kUntried) {
        ++worker.stats.full;
        return Arrival::kDone;
      }
      const Edges edges = graph_.edges(node);
      before = edges.visits[edge]++;
      ++node.visits;
      child = edges.child[edge] & ~kPending;
      joint = joint_of(node, edge, worker.symmetry);
    }
    worker.path.push_back({worker.node, edge});
    const Rewards rewards = dynamics_.apply(worker.cursor, joint);
    if (!child && !(child = link(worker, node, edge, rewards))) {
      cancel_step(worker.path.back());  // no room: as if this edge had not been chosen
      worker.path.pop_back();
      ++worker.stats.full;
      return Arrival::kDone;
    }
    bool stop = false;
    const Arrival arrival = enter(worker, child, before, stop);
    if (stop) return arrival;
  }
}

// A descent whose leaf, if it found one, is ready for its evaluation. A game written in Python may raise anywhere in
// between: then the descent is undone.
template <class D>
typename Search<D>::Arrival Search<D>::descend_safely(Worker& worker) {
  bool claimed = false;
  try {
    const Arrival arrival = descend(worker);
    claimed = arrival == Arrival::kLeaf;
    if (claimed) prepare(worker, graph_.node(worker.node));
    return arrival;
  } catch (...) {
    cancel_path(worker.path);
    if (claimed) store(graph_.node(worker.node).status, Status::kNew);
    throw;
  }
}

// Steps into a child; `stop` says that the descent ends there.
template <class D>
typename Search<D>::Arrival Search<D>::enter(Worker& worker, NodeId child, std::uint32_t edge_visits, bool& stop) {
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
  if (status != Status::kReady) {
    if (claim(node)) return Arrival::kLeaf;
    if (load(node.status) != Status::kReady) return Arrival::kCollision;
  }
  if (settings_.graph && on_path(worker.path, child)) {  // keys should forbid it; a game's author may have erred
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
  if constexpr (D::kLatent) worker.cursor.slot = static_cast<std::int32_t>(node.key);
  stop = false;
  return Arrival::kDone;
}

// Gives a claimed node its outcomes and the actions of its words; priors follow with the evaluation.
template <class D>
void Search<D>::prepare(Worker& worker, Node& node) {
  if (worker.symmetry) {  // the node is kept, and evaluated, in its canonical orientation
    worker.cursor = dynamics_.transform(worker.cursor, worker.symmetry);
    worker.symmetry = 0;
  }
  node.acting = dynamics_.acting(worker.cursor);
  Action* lists[2] = {worker.actions.data(), worker.actions.data() + num_actions()};
  for (int p = 0; p < 2; ++p) {
    int count = 1;
    if (acts(node.acting, p)) count = dynamics_.outcomes(worker.cursor, p, lists[p], nullptr);
    if (count <= 0) throw InvalidInput("player " + std::to_string(p) + " acts but has no legal action");
    node.outcomes[p] = static_cast<std::uint16_t>(count);
  }
  if (!node.words) graph_.give_words(worker.index, node);
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    std::uint32_t* words = graph_.words(node, p);
    for (std::uint32_t i = 0; i < node.outcomes[p]; ++i) words[i] = make_word(0.0f, lists[p][i]);
  }
}

template <class D>
void Search<D>::keep_leaf(Worker& worker) {
  if (worker.num_leaves == worker.leaves.size()) worker.leaves.push_back({worker.cursor, 0, {}});
  Leaf& leaf = worker.leaves[worker.num_leaves++];
  leaf.cursor = worker.cursor;
  leaf.node = worker.node;
  leaf.path = worker.path;
}

// --- up --------------------------------------------------------------------------------------------------------------

template <class D>
void Search<D>::fill_uniform(Node& node) {
  for (int p = 0; p < 2; ++p) {
    if (!acts(node.acting, p)) continue;
    std::uint32_t* words = graph_.words(node, p);
    const std::uint32_t code = encode_prior(1.0f / static_cast<float>(node.outcomes[p])) << 16;
    for (std::uint32_t i = 0; i < node.outcomes[p]; ++i) words[i] = code | (words[i] & 0xffffu);
  }
}

template <class D>
void Search<D>::fill_player(Worker& worker, const Leaf& leaf, Node& node, int player, const float* logits, int row) {
  Action* actions = worker.actions.data();
  int n = dynamics_.legal(leaf.cursor, player, actions);
  if (!softmax(logits, actions, n, worker.priors.data()))
    throw EvaluatorError("row " + std::to_string(row) + ": a logit of a legal action of player " +
                         std::to_string(player) + " is not finite");
  const float* priors = worker.priors.data();
  if constexpr (D::kMerges) {
    std::fill(worker.outcome_priors.begin(), worker.outcome_priors.end(), 0.0f);
    const Action* legal = actions;
    const int legal_count = n;
    actions += num_actions();
    n = dynamics_.outcomes(leaf.cursor, player, actions, worker.merge.data());
    for (int i = 0; i < legal_count; ++i)
      worker.outcome_priors[static_cast<std::size_t>(worker.merge[static_cast<std::size_t>(legal[i])])] += priors[i];
    priors = worker.outcome_priors.data();
  }
  std::uint32_t* words = graph_.words(node, player);
  for (int i = 0; i < n; ++i) words[i] = make_word(priors[i], actions[i]);
  if (leaf.node == root_)
    root_priors_.set(player, std::vector<Action>(actions, actions + n), std::vector<float>(priors, priors + n));
}

template <class D>
void Search<D>::fill_priors(Worker& worker, const Leaf& leaf, const float* logits, int row) {
  Node& node = graph_.node(leaf.node);
  for (int p = 0; p < 2; ++p)
    if (acts(node.acting, p)) fill_player(worker, leaf, node, p, logits + p * num_actions(), row);
}

template <class D>
void Search<D>::check_values(const float* values, int row) const {
  for (int p = 0; p < 2; ++p)
    if (!std::isfinite(values[p]))
      throw EvaluatorError("row " + std::to_string(row) + ": the value of player " + std::to_string(p) + " is not finite");
}

template <class D>
void Search<D>::finish_leaf(Worker& worker, NodeId id, const float* values, const std::vector<Step>& path) {
  Node& node = graph_.node(id);
  for (int p = 0; p < 2; ++p) {
    node.evaluation[p] = values[p];
    store(node.value[p], values[p]);
  }
  node.visits = 1;
  graph_.settle_next(node);
  if (id == root_) {
    if (!root_priors_.known()) root_priors_ = read_priors(graph_, node);
    write_root_priors();
  }
  store(node.status, Status::kReady);
  ++worker.stats.evaluations;
  back_up(path, worker.stats);
}

template <class D>
void Search<D>::back_up(const std::vector<Step>& path, SearchStats& stats) {
  ++stats.simulations;
  stats.max_depth = std::max(stats.max_depth, static_cast<std::int32_t>(path.size()));
  for (auto step = path.rbegin(); step != path.rend(); ++step) {
    Node& node = graph_.node(step->node);
    NodeLock lock(node, threaded());
    update_edge(graph_, settings_, node, step->edge);
    if (settings_.normalize == Normalize::kMinMax) {
      const std::lock_guard<std::mutex> guard(bounds_mutex_);
      for (int p = 0; p < 2; ++p) {
        const float q = graph_.edges(node).q[p][step->edge];
        store(bounds_.low[p], std::min(bounds_.low[p], q));
        store(bounds_.high[p], std::max(bounds_.high[p], q));
      }
    }
    update_value(graph_, node);
  }
}

// Takes back a visit, and what values made of it in the meantime.
template <class D>
void Search<D>::cancel_step(const Step& step) {
  Node& node = graph_.node(step.node);
  NodeLock lock(node, threaded());
  const Edges edges = graph_.edges(node);
  --edges.visits[step.edge];
  --node.visits;
  if (!(edges.child[step.edge] & kPending)) update_edge(graph_, settings_, node, step.edge);
  update_value(graph_, node);
}

template <class D>
void Search<D>::cancel_path(const std::vector<Step>& path) {
  for (auto step = path.rbegin(); step != path.rend(); ++step) cancel_step(*step);
}

// --- batches ---------------------------------------------------------------------------------------------------------

template <class D>
template <class Work>
void Search<D>::in_all_threads(Work work) {
  if (!threaded()) return work(*workers_[0]);
  if (!pool_) pool_ = std::make_unique<ThreadPool>(settings_.threads);
  pool_->run([&](int index) { work(*workers_[static_cast<std::size_t>(index)]); });
}

template <class D>
int Search<D>::collect_worker(Worker& worker, int leaves, std::int64_t simulations) {
  int collided = 0;
  const int before = static_cast<int>(worker.num_leaves);
  while (static_cast<int>(worker.num_leaves) - before < leaves && simulations > 0) {
    const Arrival arrival = descend_safely(worker);
    if (arrival == Arrival::kCollision) {
      // The visit stays on the path until the batch is collected, so that the next descent looks elsewhere.
      ++worker.stats.collisions;
      worker.collided.push_back(worker.path);
      if (worker.path.empty() || ++collided > leaves) break;
      continue;
    }
    --simulations;
    if (arrival == Arrival::kLeaf) {
      if constexpr (D::kLatent) graph_.node(worker.node).key = static_cast<Key>(next_slot_++);
      keep_leaf(worker);
    } else {
      back_up(worker.path, worker.stats);
    }
  }
  return static_cast<int>(worker.num_leaves) - before;
}

template <class D>
int Search<D>::collect(int leaves, std::int64_t simulations) {
  const auto root_visits = static_cast<double>(graph_.node(root_).visits);
  leaves = std::max(1, std::min(leaves, static_cast<int>(settings_.max_in_flight * root_visits)));
  const int threads = std::min<int>({settings_.threads, leaves, static_cast<int>(std::min<std::int64_t>(simulations, 1 << 20))});
  if (threads <= 1) {
    collect_worker(*workers_[0], leaves, simulations);
  } else {
    in_all_threads([&](Worker& worker) {
      if (worker.index >= threads) return;
      collect_worker(worker, (leaves + worker.index) / threads, (simulations + worker.index) / threads);
    });
  }
  cancel_collisions();
  int total = 0;
  for (auto& worker : workers_) total += static_cast<int>(worker->num_leaves);
  return total;
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
    for (std::size_t i = 0; i < worker->num_leaves; ++i, ++row) {
      const Leaf& leaf = worker->leaves[i];
      const auto r = static_cast<std::size_t>(row);
      const Acting acting = dynamics_.acting(leaf.cursor);
      for (int p = 0; p < 2; ++p) {
        batch.acting[2 * r + static_cast<std::size_t>(p)] = acts(acting, p);
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
void Search<D>::absorb_worker(Worker& worker, const EvaluationView& evaluation, int row) {
  const auto actions = static_cast<std::size_t>(num_actions());
  for (std::size_t i = 0; i < worker.num_leaves; ++i, ++row) {
    const Leaf& leaf = worker.leaves[i];
    const auto r = static_cast<std::size_t>(row);
    fill_priors(worker, leaf, evaluation.logits + 2 * r * actions, row);
    check_values(evaluation.values + 2 * r, row);
    if constexpr (D::kLatent)
      if (!leaf.path.empty()) {
        const float* rewards = evaluation.rewards + 2 * r;
        if (!std::isfinite(rewards[0]) || !std::isfinite(rewards[1]))
          throw EvaluatorError("row " + std::to_string(row) + ": a reward is not finite");
        Node& parent = graph_.node(leaf.path.back().node);
        NodeLock lock(parent, threaded());
        graph_.set_reward(worker.index, parent, leaf.path.back().edge, {rewards[0], rewards[1]});
      }
    finish_leaf(worker, leaf.node, evaluation.values + 2 * r, leaf.path);
    ++worker.absorbed;  // what a later failure in this batch leaves alone
  }
}

template <class D>
void Search<D>::absorb(const EvaluationView& evaluation, int row) {
  std::vector<int> first;
  for (auto& worker : workers_) {
    first.push_back(row);
    row += static_cast<int>(worker->num_leaves);
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
  for (auto& worker : workers_) {
    for (std::size_t i = worker->absorbed; i < worker->num_leaves; ++i) {
      cancel_path(worker->leaves[i].path);
      store(graph_.node(worker->leaves[i].node).status, Status::kNew);
    }
    worker->num_leaves = worker->absorbed = 0;
  }
}

// --- evaluators of the core ------------------------------------------------------------------------------------------

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
  else if (evaluator.rollouts > 0) {
    try {
      roll_out(worker, evaluator, values);
    } catch (...) {  // a game written in Python may raise: then the descent is undone
      cancel_path(worker.path);
      store(node.status, Status::kNew);
      throw;
    }
  }
  finish_leaf(worker, worker.node, values, worker.path);
}

template <class D>
std::int64_t Search<D>::run_native(const NativeEvaluator& evaluator, std::int64_t simulations, double seconds) {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kShare = 32;  // descents a thread takes at a time, between looks at the clock
  const auto deadline = Clock::now() + std::chrono::duration<double>(std::min(seconds, 1e9));
  std::atomic<std::int64_t> left{simulations}, done{0};
  in_all_threads([&](Worker& worker) {
    do {  // at least once: a run that is late already still makes progress
      const std::int64_t share = std::min(kShare, left.fetch_sub(kShare));
      if (share <= 0) return;
      for (std::int64_t i = 0; i < share;) {
        const Arrival arrival = descend_safely(worker);
        if (arrival == Arrival::kCollision) {  // only between threads: somebody else's leaf
          ++worker.stats.collisions;
          cancel_path(worker.path);
          continue;
        }
        if (arrival == Arrival::kLeaf) evaluate_native(worker, evaluator);
        else back_up(worker.path, worker.stats);
        ++i;
      }
      done.fetch_add(share);
    } while (Clock::now() < deadline);
  });
  return done.load();
}

// --- looking at it ---------------------------------------------------------------------------------------------------

template <class D>
SearchStats Search<D>::stats() const {
  SearchStats total;
  for (const auto& worker : workers_) total.add(worker->stats);
  total.nodes = graph_.count();
  total.bytes = graph_.bytes();
  return total;
}

template <class D>
std::uint32_t Search<D>::find_edge(const Node& node, Joint joint, int symmetry) const {
  for (std::uint32_t e = 0; e < node.opened; ++e)
    if (joint_of(node, e, symmetry).of == joint.of) return e;
  return kUntried;
}

template <class D>
const Node* Search<D>::follow(std::span<const Joint> path, Cursor& cursor, int& symmetry) const {
  symmetry = 0;
  const Node* node = &graph_.node(root_);
  for (const Joint& joint : path) {
    const std::uint32_t edge = node->status == Status::kReady ? find_edge(*node, joint, symmetry) : kUntried;
    if (edge == kUntried) return nullptr;
    node = move(cursor, joint, *node, edge, symmetry);
    if (!node) return nullptr;
  }
  return node;
}

template <class D>
Report Search<D>::report(std::span<const Joint> path) const {
  Cursor cursor = root_cursor_;
  int symmetry = 0;
  const Node* node = follow(path, cursor, symmetry);
  if (!node) return {};
  if (settings_.graph) refresh_edges(graph_, settings_, *node);
  Ranges ranges;
  set_ranges(cursor, ranges);
  return make_report(graph_, settings_, *node, ranges, dynamics_.to_actual(symmetry));
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
const Node* Search<D>::move(Cursor& cursor, Joint joint, const Node& node, std::uint32_t edge, int& symmetry) const {
  const NodeId child = graph_.edges(node).child[edge] & ~kPending;
  if (!child) return nullptr;
  dynamics_.apply(cursor, joint);
  if constexpr (!D::kLatent)
    if (settings_.canonical && child != graph_.terminal())
      symmetry = dynamics_.shared_key(cursor, settings_).symmetry;
  return &graph_.node(child);
}

// Ties go to the chooser's better value, then to the higher prior and the lower action, as in SearchResult.action.
template <class D>
std::uint32_t Search<D>::most_visited(const Node& node) const {
  if (settings_.graph) refresh_edges(graph_, settings_, node);
  const Edges edges = graph_.edges(node);
  const int player = node.chooser();
  const std::uint32_t* words = graph_.words(node, player);
  const auto rank = [&](std::uint32_t e) {
    return std::tuple(edges.visits[e], node.joint() ? 0.0f : edges.q[player][e], node.joint() ? 0u : words[e]);
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
  while (node->status == Status::kReady && node->opened && line.size() < kLongest) {
    const std::uint32_t best = most_visited(*node);
    if (best == kUntried) break;
    line.push_back(joint_of(*node, best, symmetry));
    node = move(cursor, line.back(), *node, best, symmetry);
  }
  return line;
}

template <class D>
bool Search<D>::advance(Joint joint) {
  if constexpr (D::kLatent) {
    throw InvalidInput("a search in a learned model cannot be advanced: encode the new observation and start anew");
  } else {
    const std::uint32_t edge = find_edge(graph_.node(root_), joint, 0);
    const NodeId child = edge == kUntried ? 0 : graph_.edges(graph_.node(root_)).child[edge] & ~kPending;
    dynamics_.apply(root_cursor_, joint);
    noised_ = false;
    if (!child || graph_.node(child).status != Status::kReady) {
      new_root();
      return false;
    }
    if (settings_.canonical) {
      const int symmetry = dynamics_.shared_key(root_cursor_, settings_).symmetry;
      if (symmetry) turn_words(graph_.node(child), symmetry);
    }
    root_ = graph_.compact(child);
    root_priors_ = read_priors(graph_, graph_.node(root_));
    return true;
  }
}

// A node that becomes the root is kept in the orientation of its position from then on.
template <class D>
void Search<D>::turn_words(Node& node, int symmetry) {
  const std::int32_t* to_actual = dynamics_.to_actual(symmetry);
  std::uint32_t* words = graph_.words(node, node.chooser());
  for (std::uint32_t i = 0; i < node.outcomes[node.chooser()]; ++i)
    words[i] = (words[i] & 0xffff0000u) | (0xffffu - static_cast<std::uint32_t>(to_actual[word_action(words[i])]));
  graph_.settle_next(node);
}

}  // namespace ramify
