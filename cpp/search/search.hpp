// The engine: one search over one game or model. Descend, expand, back up; everything else is a setting.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <exception>
#include <functional>
#include <iterator>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "base/error.hpp"
#include "base/thread_pool.hpp"
#include "search/any_search.hpp"
#include "search/backup.hpp"
#include "search/chance.hpp"
#include "search/gumbel.hpp"
#include "search/mixed.hpp"
#include "search/solve.hpp"
#include "search/dynamics.hpp"
#include "search/priors.hpp"
#include "search/root.hpp"
#include "search/select.hpp"
#include "search/slots.hpp"
#include "search/wide.hpp"

// Steps of every turn of a descent: together they cost less than the calls between them would.
#define RAMIFY_HOT [[gnu::always_inline]] inline

namespace ramify {

template <class D>
class Search final : public AnySearch {
 public:
  using Cursor = typename D::Cursor;

  Search(D dynamics, Cursor root, const Settings& settings, std::size_t observation_size)
      : dynamics_(std::move(dynamics)),
        settings_(settings),
        observation_size_(observation_size),
        root_cursor_(std::move(root)),
        graph_(settings.graph && !D::kLatent, settings.max_nodes, settings.threads,
               {settings.solver, mixes(settings), settings.error_scale > 0.0,
                settings.opponent_weights == OpponentWeights::kConditional && !mixes(settings),
                tells_parents(dynamics_, settings)}) {
    constexpr int kMost = D::kMerges ? std::numeric_limits<std::int16_t>::max() : kMaxActions;  // see Rules::outcomes
    if (num_actions() > kMost)
      throw InvalidInput("a search supports at most " + std::to_string(kMost) + " actions, not " +
                         std::to_string(num_actions()));
    if (D::kLatent && settings.solver)
      throw InvalidInput("solver=True needs the rules of a game: nothing can be proven with a latent model");
    if (D::kLatent && settings.error_scale > 0.0)
      throw InvalidInput("error_scale needs the errors of values, which a latent model does not predict");
    if (D::kLatent && settings.rollout_share > 0.0)
      throw InvalidInput("rollout_share needs the rules of a game: no game can be played on in a latent model");
    if (!kPlans && settings.rollout_share > 0.0 && settings.rollout_plans)
      throw InvalidInput("rollout_by='planner' needs a game that knows a planner, as pyrat does");
    if (D::kLatent) settings_.graph = settings_.canonical = false;
    if constexpr (D::kChance) refuse_chance();
    if (!settings_.bundle) settings_.bundle = threaded() ? kBundle : 1;
    plain_ = is_plain(settings);
    swift_ = plain_ && !settings_.graph && settings.normalize == Normalize::kNone && settings.fpu != FirstPlay::kReduction;
    tells_ = graph_.extras().parents;
    if (settings.solver) zero_sum_ = dynamics_.stakes(root_cursor_).zero_sum;
    if constexpr (D::kLatent) slots_.open(dynamics_.slots(), threaded());
    for (int i = 0; i < settings.threads; ++i) workers_.push_back(std::make_unique<Worker>(i, root_cursor_, num_actions()));
    new_root(settings.solver ? dynamics_.stakes(root_cursor_) : Stakes{});
  }

  // Starts again from another root of the same model.
  void restart(D dynamics, Cursor root)
    requires(D::kLatent)
  {
    cancel();
    dynamics_ = std::move(dynamics);
    root_cursor_ = std::move(root);
    noised_ = false;
    new_root({});
  }
  void release_slots() override {
    if constexpr (D::kLatent) {
      cancel();
      slots_.close();
    }
  }

  void begin(std::uint64_t seed, std::int64_t simulations, bool full) override {
    cancel_paused();
    noise_ = Rng(seed, 0x6e6f697365);
    chance_seed_ = combine(mix(seed), 0x64696365);
    for (auto& worker : workers_) {
      worker->stats = SearchStats{};
      worker->rng = Rng(seed, combine(0x6d6978, static_cast<std::uint64_t>(worker->index)));
    }
    bounds_ = Bounds{};
    graph_.grow_again();  // there may be memory by now
    full_ = full;
    wanted_ = simulations;
    for (Race& race : races_) race.clear();
    if (graph_.node(root_).status == Status::kReady) write_root_priors();
  }

  void restrict_root(std::vector<Action> first, std::vector<Action> second) override;
  void use_cache(std::shared_ptr<EvaluationCache> cache) override;
  int collect(int batch, int leaves, std::int64_t simulations) override;
  void write(int batch, const BatchView& view, int row) override;
  void absorb(int batch, const EvaluationView& evaluation, int row) override;
  void cancel() override;
  void fetch(int step, int batch) const override;
  int in_flight() const override { return in_flight_; }
  int rows(int batch) const override;
  std::int64_t run_native(const NativeEvaluator& evaluator, std::int64_t simulations, double seconds) override;
  Report report(std::span<const Joint> path) const override;
  std::vector<Joint> last_path() const override;
  std::vector<Joint> principal_variation() const override;
  bool advance(Joint joint) override { return move_root(joint, true).second; }
  Acting root_acting() const override { return dynamics_.acting(root_cursor_); }
  std::vector<Action> root_legal(int player) override {
    std::vector<Action> actions(static_cast<std::size_t>(num_actions()));
    actions.resize(static_cast<std::size_t>(dynamics_.legal(root_cursor_, player, actions.data())));
    return actions;
  }
  Rewards play(Joint joint, bool keep) override { return move_root(joint, keep).first; }
  SearchStats stats() const override;
  std::int64_t simulations() const override {
    std::int64_t made = 0;
    for (const auto& worker : workers_) made += worker->stats.simulations;
    return made;
  }
  bool proven() const override {
    if (plain_ || !settings_.solver) return false;
    const Node& root = graph_.node(root_);
    return load(root.status) == Status::kReady && is_proven(graph_.proof(root));
  }
  std::vector<double> second_moments() const override;
  Key root_key() const override { return dynamics_.key(root_cursor_); }
  bool needs_python() const override { return D::kNeedsPython; }
  void visit_cursors(const std::function<void(const void*)>& visit) const override;

 private:
  struct Step {
    NodeId node;
    std::uint32_t edge;
  };
  // An edge that a descent has chosen: what there is to know of it without another look at its node.
  struct Turn {
    std::uint32_t edge;
    std::uint32_t before;  // visits before this one
    NodeId child;          // 0: not linked yet
    Joint joint;
  };
  // A leaf that awaits its evaluation, with all that is needed to write its row and to back it up.
  struct Leaf {
    Cursor cursor;
    NodeId node;
    std::vector<Step> path;
    Key key = 0;  // with a cache: its key there, and the generation in which it was looked up
    std::uint32_t generation = 0;
    bool cached = false;  // its priors were found there, and these values: it has no row
    float values[2] = {0.0f, 0.0f};
    float weight = 1.0f;  // likewise
    float played[2] = {0.0f, 0.0f};  // with rollout_share: the result of a game played on from here
  };
  // One thread's leaves of one batch.
  struct Leaves {
    std::vector<Leaf> list;
    std::size_t count = 0;     // leaves in use; the others are kept for their memory
    std::size_t absorbed = 0;  // of these, already evaluated
    std::size_t cached = 0;    // of these, without a row: their evaluation is in the cache

    std::size_t rows() const { return count - cached; }
    void clear() { count = absorbed = cached = 0; }
  };
  // A descent that met a leaf in flight. Its visits stay on the path while the batch is collected: see collide.
  struct Collision {
    std::vector<Step> path;
    std::uint32_t visits;
  };
  // A random game under way: all of it but the position.
  struct RandomGame {
    Rng rng{0};
    double paid[2] = {0.0, 0.0};  // what the games before and this one have brought so far
    double weight = 1.0;
    std::int64_t plies = 0;  // of all games
    std::int64_t began = 0;  // plies before this game
  };
  // Random games from a leaf, as far as they have come.
  struct Rollouts {
    int games = 0;                 // finished
    double sums[2] = {0.0, 0.0};   // of what these brought
    std::optional<Cursor> cursor;  // of the game under way, where the clock has stopped one
    RandomGame game;
  };
  // A leaf whose random games the clock has cut short; they go on with the next run.
  struct Paused {
    Leaf leaf;
    Rollouts rollouts;
  };
  // What the evaluation of leaves within one call of run_native has to know.
  struct NativeRun {
    const NativeEvaluator& evaluator;
    std::chrono::steady_clock::time_point deadline;
    bool late;  // nothing is known of the root, and no time is left
    // Leaves get no words before their second visit (see prepare): not where look_ahead or priors need the actions at once.
    bool lists_late;
  };
  static constexpr bool kGreedy = requires(const D& d, const Cursor& cursor, Action* to) { d.rules().greedy(cursor, 0, to); };
  static constexpr bool kPlans = requires(const D& d, const Cursor& cursor) { d.rules().plan(cursor, 1.0); };
  static constexpr bool kRandomly =
      requires(const D& d, Cursor& cursor, Rng& rng, int& turns) { d.rules().play_randomly(cursor, rng, 1, turns); };
  enum class Arrival { kLeaf, kDone, kCollision, kNoRoom };

  // What one edge of a node gets of a bundle's visits; see engine/bundles.hpp.
  struct Share {
    Turn turn;
    std::uint32_t visits;
    std::uint32_t unused;  // of these, not made
    bool answered;         // what was made is backed up as far as the child
  };
  // A node through which a bundle goes, and its shares.
  struct Level {
    explicit Level(const Cursor& cursor) : cursor(cursor) {}
    Cursor cursor;
    int symmetry = 0;
    std::uint64_t passed = 0;
    NodeId node = 0;
    std::vector<Share> shares;
  };

  // What one thread needs to descend; nothing here is shared.
  struct alignas(64) Worker {
    Worker(int index, const Cursor& cursor, int num_actions)
        : index(index), cursor(cursor), actions(2 * static_cast<std::size_t>(num_actions) + kApart),
          merge(D::kMerges ? static_cast<std::size_t>(num_actions) + kApart : 0),
          priors(static_cast<std::size_t>(num_actions) + kApart),
          outcome_priors(D::kMerges ? static_cast<std::size_t>(num_actions) + kApart : 0) {}
    static constexpr std::size_t kApart = 32;  // unused numbers: or arrays of two threads might share a cache line
    int index;
    Cursor cursor;
    int symmetry = 0;
    NodeId node = 0;  // where the descent arrived
    std::vector<Step> path;
    std::uint32_t far_below = 0;  // visits: see Graph
    bool saves_news = false;
    bool defers = false;  // backup is left to back_up_batch
    bool stops = false;   // the bundle ends here, for what reason ever
    std::size_t base = 0;  // steps of the path that belong to a bundle, which counts and backs up their visits itself
    std::uint64_t passed = 0;     // traces of its nodes, in a graph
    std::vector<Leaves> batches;  // by number
    std::vector<Collision> collided;
    std::unordered_map<NodeId, std::uint32_t> crowded;  // visits of collisions with each leaf; see collide
    std::vector<Turn> handed;  // first edges of descents to come, the next one last; see hand_out
    std::vector<std::uint32_t> news;  // edges of the root that it has not heard from yet; see tell_root
    std::vector<NodeId> solved;  // nodes proven whose parents have not heard of it; see spread_proofs
    std::vector<Action> actions;
    std::vector<std::int16_t> merge;
    std::vector<float> priors, outcome_priors;
    Rng rng{0};
    SearchStats stats;
    // What descents for an evaluator outside of the core do without, from here on; see fetch.
    ChanceEvent event;
    std::vector<std::unique_ptr<Level>> levels;  // of the bundle
    std::int64_t next_look = 0;                  // at the clock: after so many simulations
    std::exception_ptr failure;                  // why the bundle ends, if something has failed
    std::optional<Paused> paused;
  };

  // Least and greatest edge value seen in this run, per player, for min-max normalisation.
  struct Bounds {
    float low[2] = {HUGE_VALF, HUGE_VALF};
    float high[2] = {-HUGE_VALF, -HUGE_VALF};
  };

  int num_actions() const { return dynamics_.num_actions(); }
  // Whether the backups of a batch may be made together: values then depend on the edges alone, not on the order of
  // visits, and every node has one path from the root.
  bool defers() const { return plain_ && !settings_.graph && settings_.normalize != Normalize::kMinMax; }
  static bool is_plain(const Settings& s) {
    return !s.solver && s.selection == Selection::kPuct && s.forced_playouts == 0.0 && s.error_scale == 0.0;
  }
  // Whether nodes are told of children that have changed on other ways. Otherwise each looks at all of its children at every
  // visit: in threads, which would have to lock the parents, where proofs, mixing or weights change values elsewhere, where
  // there is chance, and with a discount, where a look at what is as it was still rounds sums anew.
  static bool tells_parents(const D& dynamics, const Settings& s) {
    return is_plain(s) && s.graph && !D::kLatent && s.threads == 1 && s.discount == 1.0 && !dynamics.has_chance();
  }
  RAMIFY_HOT bool is_swift(const Node& node) const { return !D::kBothAct && swift_ && use_wide && acts_alone(node.acting); }
  bool threaded() const { return settings_.threads > 1; }
  bool weighted() const { return settings_.error_scale > 0.0; }

  // What a search cannot do where there is chance.
  void refuse_chance() const {
    if (dynamics_.acting(root_cursor_) == kChance)
      throw InvalidInput("chance decides in this state: a search starts where a player acts; draw_chance() leads there");
    if (dynamics_.has_chance() && weighted())
      throw InvalidInput("error_scale is not available in games with chance events");
  }
  static bool is_chance(const Node& node) { return D::kChance && node.acting == kChance; }
  void new_root(const Stakes& stakes) {
    graph_.clear();
    root_ = graph_.create(0, 0);
    if (settings_.solver) begin_proof(graph_.proof(graph_.node(root_)), stakes, settings_.discount, true);
    root_priors_.clear();
    slots_.clear();
  }
  // A latent node's key is its slot + 1, or 0 while it has none.
  static std::int32_t slot_of(const Node& node) { return static_cast<std::int32_t>(node.key) - 1; }
  void take_slot(Node& node) { node.key = static_cast<Key>(slots_.take()) + 1; }
  void give_slot(Node& node) {
    if (node.key) slots_.give(slot_of(node));
    node.key = 0;
  }
  void write_root_priors() {
    const bool noised = full_ && (settings_.noise_fraction > 0.0 || settings_.root_temperature != 1.0);
    if (noised || noised_) write_priors(graph_, settings_, graph_.node(root_), root_priors_, noised ? &noise_ : nullptr);
    noised_ = noised;
  }

  // --- down ---
  Arrival descend_safely(Worker& worker, bool lists_late);
  Arrival descend(Worker& worker);
  void start_at_root(Worker& worker);
  Arrival go_down(Worker& worker);
  Arrival follow(Worker& worker, Node& node, const Turn& turn, bool& stop);
  [[gnu::noinline]] void fetch_below(int thread, Node& node, std::uint32_t edge);
  void give_up(Worker& worker);
  std::uint32_t choose_edge(Worker& worker, Node& node);
  std::uint32_t choose_chance(Worker& worker, Node& node);
  void check_kind(const Node& child, bool chance) const;
  Pick pick_edge(Worker& worker, Node& node, const Ranges& ranges);
  Pick pick_by_rule(Worker& worker, const Node& node, const Ranges& ranges);
  void begin_races(const Node& root);
  Turn take_turn(Worker& worker, Node& node);
  Turn take_turn_alone(Worker& worker, Node& node, int player, std::uint32_t count);
  void hand_out(Worker& worker, std::int64_t wanted);
  void take_back(Worker& worker);
  NodeId link(Worker& worker, Node& node, std::uint32_t edge, Rewards rewards);
  Arrival enter(Worker& worker, NodeId child, std::uint32_t edge_visits, bool& stop);
  Joint joint_of(const Node& node, const Edges& edges, std::uint32_t edge, int symmetry) const;
  Joint joint_of(const Node& node, std::uint32_t edge, int symmetry) const {
    return joint_of(node, graph_.edges(node), edge, symmetry);
  }
  double chance_point(const Node& node, std::uint32_t number) const;
  void set_ranges(const Cursor& cursor, Ranges& ranges) const;
  static bool on_path(const Worker& worker, NodeId node) {
    return (worker.passed & trace(node)) &&
           std::any_of(worker.path.begin(), worker.path.end(), [node](const Step& step) { return step.node == node; });
  }
  // One bit of 64 for each node: what is not among those of a path need not be looked for on it.
  static std::uint64_t trace(NodeId node) { return std::uint64_t{1} << (node * 0x9e3779b1u >> 26); }
  bool claim(Node& node);
  void check_zero_sum(const Rewards& rewards) const;
  void orient(Worker& worker, Node& node);
  void prepare(Worker& worker, Node& node, bool lists_late);
  void list_outcomes(Graph& graph, Worker& worker, NodeId id, const Cursor& cursor, bool uniform) const;
  void list_late(Graph& graph, Worker& worker, NodeId id, const Cursor& cursor, int symmetry) const;
  int outcomes_of(Worker& worker, NodeId id, const Cursor& cursor, int player, Action* actions, std::int16_t* index) const;
  int legal_of(NodeId id, const Cursor& cursor, int player, Action* actions) const;
  bool restricted(NodeId id, int player) const { return id == root_ && !root_actions_[player].empty(); }
  void shape(Graph& graph, Worker& worker, Node& node, const int (&counts)[2]) const;
  void keep_leaf(Worker& worker, Leaves& leaves);
  void collide(Worker& worker);
  float loss_scale() const;
  void abandon(const std::vector<Step>& path, NodeId leaf, std::size_t first = 0);
  void stop_growing(const std::bad_alloc& error);

  // --- up ---
  static void fill_uniform(const Graph& graph, Node& node);
  void fill_greedy(Worker& worker, Node& node, float share)
    requires(kGreedy);
  void fill_planned(Worker& worker, Node& node, float share, const Plan& plan);
  void fill_priors(Worker& worker, const Leaf& leaf, LogitRow logits, std::size_t stride, int row);
  void fill_player(Worker& worker, const Leaf& leaf, Node& node, int player, LogitRow logits, int row);
  void finish_leaf(Worker& worker, const Cursor& cursor, NodeId id, const float* values, const std::vector<Step>& path);
  void look_ahead(Worker& worker, const Cursor& cursor, Node& node);
  void look_ahead_jointly(Worker& worker, const Cursor& cursor, Node& node);
  void take_news(const Node& node, const Edges& edges, std::uint32_t edge);
  void widen_bounds(const Edges& edges, std::uint32_t edge);
  static void count_simulation(Worker& worker, std::size_t turns);
  void back_up(Worker& worker, const std::vector<Step>& path);
  void touch(const std::vector<Step>& path);
  void settle();
  void back_up_batch(int batch);
  void spread_proofs(Worker& worker);
  void tell_root(Worker& worker);
  void average(Node& node, const Edges& edges);
  void average_and_tell(Node& node, const Edges& edges, NodeId above);
  void revalue(Node& node, const Edges& edges);
  void cancel_step(const Step& step, std::uint32_t visits = 1);
  void cancel_path(const std::vector<Step>& path, std::uint32_t visits = 1, std::size_t first = 0);
  void cancel_collisions();
  void absorb_leaf(Worker& worker, const Leaf& leaf, const EvaluationView& evaluation, int row);
  static Rewards rewards_of(const EvaluationView& evaluation, const Cursor& cursor, std::size_t row)
    requires(D::kLatent);
  void absorb_leaves(Worker& worker, Leaves& leaves, const EvaluationView& evaluation, int row);
  void write_leaf(Worker& worker, const Leaf& leaf, const BatchView& view, std::size_t row);
  void write_legal(Worker& worker, const Leaf& leaf, int player, std::uint8_t* legal);
  void check_values(const float* values, int row) const;
  float weight_of(const float* errors, int count, int row) const;
  void set_weight(NodeId id, float weight);
  void absorb_cached(Worker& worker, const Leaf& leaf);
  void look_up(Leaf& leaf) const;
  void remember(Worker& worker, const Leaf& leaf, const float (&values)[2], float weight);
  // --- bundles ---
  static constexpr std::int64_t kLook = 64;      // descents between looks at the clock
  static constexpr int kBundle = 1024;           // the most descents of a bundle of threads
  static constexpr double kShare = 1.0 / 32;     // of the visits that an edge has: the most that it gets at once
  bool bundles() const { return settings_.bundle > 1 && !D::kNeedsPython && load(graph_.node(root_).status) == Status::kReady; }
  std::uint32_t visits_at_once(const Node& node, const Turn& turn) const;
  std::uint32_t divide(Worker& worker, Level& level, std::uint32_t left);
  std::uint32_t spread(Worker& worker, const NativeRun& run, std::uint32_t visits);
  std::uint32_t make_share(Worker& worker, const NativeRun& run, const Level& level, const Share& share);
  static void fail(Worker& worker);
  void fetch_ahead(const Level& level, std::size_t place) const;
  bool proves(Worker& worker, const Level& level);
  Arrival go_along(Worker& worker, const NativeRun& run, const Share& share, bool divides, bool& stop);
  void gather(Worker& worker, const Level& level);
  bool must_stop(Worker& worker, const NativeRun& run) const;
  std::int64_t run_bundle(Worker& worker, NativeRun run, std::int64_t most);
  std::int64_t run_one(Worker& worker, const NativeRun& run);
  std::int64_t take_simulations(const NativeRun& run, std::atomic<std::int64_t>& left) const;
  std::int64_t run_worker(Worker& worker, const NativeRun& run, std::atomic<std::int64_t>& left);
  bool evaluate_native(Worker& worker, const NativeRun& run);
  bool finish_native(Worker& worker, const NativeRun& run, const Cursor& cursor, NodeId id, const std::vector<Step>& path,
                     Rollouts& rollouts);
  bool resume(Worker& worker, const NativeRun& run);
  void cancel_paused();
  int playable(Worker& worker, const NativeRun& run, const Cursor& cursor, int player) const;
  bool roll_out(Worker& worker, const NativeRun& run, const Cursor& leaf, Rollouts& rollouts, float* values);
  void play_leaf(Worker& worker, Leaf& leaf);
  void mix_rollout(const Leaf& leaf, float (&values)[2]) const;
  void draw_chance(Worker& worker, Cursor& cursor, RandomGame& game);
  bool play_on(Worker& worker, const NativeRun& run, Cursor& cursor, RandomGame& game);
  void collect_leaves(Worker& worker, Leaves& leaves, int most, std::int64_t simulations);
  void collect_safely(Worker& worker, int batch, int most, std::int64_t simulations);
  int leaves(int batch) const;
  template <class Work>
  void in_all_threads(Work work);
  template <class Work>
  void by_worker(int batch, int row, Work work);

  Report report_leaf(const Node& leaf, const Cursor& cursor, int symmetry, const Ranges& ranges) const;
  // Walks along known edges; 0 if the search has not been there.
  NodeId follow(std::span<const Joint> path, Cursor& cursor, int& symmetry) const;
  NodeId move(Cursor& cursor, Joint joint, const Node& node, std::uint32_t edge, int& symmetry) const;
  std::uint32_t find_edge(const Node& node, Joint joint, int symmetry) const;
  std::uint32_t most_visited(const Node& node) const;
  void turn_words(Node& node, int symmetry);
  NodeId child_after(NodeId id, Joint joint) const;
  Rewards draw_at_root(Cursor& cursor, NodeId& child) const;
  NodeId prepare_root(NodeId id, const Cursor& cursor, int symmetry);
  std::pair<Rewards, bool> move_root(Joint joint, bool keep);

  // What every descent reads comes first, see fetch.
  D dynamics_;
  Settings settings_;
  std::size_t observation_size_;
  Cursor root_cursor_;
  NodeId root_ = 0;
  bool noised_ = false;
  bool full_ = true;  // a full search: with noise, temperature and forced playouts at the root
  bool zero_sum_ = false;
  bool plain_ = true;  // PUCT and nothing else: the rest need not be looked at, turn by turn
  bool tells_ = false;  // see tells_parents
  bool swift_ = true;  // and over a tree, on the scale of the values: where one player acts alone, edges are all there is to know
  int in_flight_ = 0;
  Bounds bounds_;
  std::shared_ptr<EvaluationCache> cache_;
  std::vector<std::vector<Step>> touched_;  // edges to take values over, by depth; see touch
  std::vector<std::unique_ptr<Worker>> workers_;
  Graph graph_;
  RootPriors root_priors_;
  std::vector<Action> root_actions_[2];  // of a restricted root, ascending; empty: all
  std::int64_t wanted_ = 0;              // simulations of this run
  Race races_[2];
  Rng noise_{0};
  std::uint64_t chance_seed_ = 0;
  std::mutex bounds_mutex_;
  SlotLease slots_;  // of latent states
  std::unique_ptr<ThreadPool> pool_;
};

}  // namespace ramify

#include "search/engine/descend.hpp"
#include "search/engine/expand.hpp"
#include "search/engine/batches.hpp"
#include "search/engine/caching.hpp"
#include "search/engine/bundles.hpp"
#include "search/engine/native.hpp"
#include "search/engine/look.hpp"
#include "search/engine/restrict.hpp"

#undef RAMIFY_HOT
