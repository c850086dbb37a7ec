#include "search/latent.hpp"

#include <stdexcept>
#include <utility>

#include "search/search.hpp"

namespace ramify {
namespace {

using LatentSearch = Search<LatentDynamics>;

// Both players act inside the model if and only if both act in the position that it stands for.
void check_acting(ActingOrder order, Acting acting) {
  const bool both = order == ActingOrder::kBoth;
  if (acting == kOver || both == (acting == kBoth)) return;
  throw InvalidInput(both ? "in this position one player acts, but in the learned model both always act at once"
                          : "in this position both players act at once, but in the learned model never: a learned model "
                            "needs players who always act in turn, or always at once, or a single player");
}

LatentDynamics dynamics_of(const LatentModel& model, LatentRoot root) {
  check_acting(model.order, root.acting);
  LatentDynamics dynamics(model.num_actions, model.order, model.slots);
  dynamics.set_root_legal(std::move(root.legal[0]), std::move(root.legal[1]));
  dynamics.set_root_observation(std::move(root.observation));
  return dynamics;
}

LatentDynamics::Cursor cursor_of(Acting acting) {
  LatentDynamics::Cursor cursor;
  cursor.acting = acting;
  return cursor;
}

LatentRoot root_of(const RealGame& game) {
  LatentRoot root;
  root.acting = game.acting();
  for (int p = 0; p < 2; ++p)
    if (acts(root.acting, p)) root.legal[p] = game.legal(p);
  return root;
}

class NativeGame final : public RealGame {
 public:
  explicit NativeGame(std::unique_ptr<AnyState> state)
      : state_(std::move(state)), observation_size_(state_->game()->observation_size()) {}
  Acting acting() const override { return state_->acting(); }
  std::vector<Action> legal(int player) const override { return state_->actions(player); }
  Rewards apply(Joint joint) override {
    std::vector<Action> actions;
    for (int p = 0; p < 2; ++p)
      if (acts(state_->acting(), p)) actions.push_back(joint[p]);
    return state_->apply(actions);
  }
  void observe(int player, float* out) const override { state_->observe(player, out); }
  std::size_t observation_size() const override { return observation_size_; }
  Key key() const override { return state_->key(); }

 private:
  std::unique_ptr<AnyState> state_;
  std::size_t observation_size_;
};

class LatentPlay final : public AnySearch {
 public:
  LatentPlay(const LatentModel& model, std::unique_ptr<RealGame> game, const Settings& settings)
      : model_(model),
        game_(std::move(game)),
        tree_(dynamics_of(model, root_of(*game_)), cursor_of(game_->acting()), settings, 0) {}

  Rewards play(Joint joint, bool) override {
    const Rewards rewards = game_->apply(joint);
    if (game_->acting() == kOver) tree_.release_slots();
    else tree_.restart(dynamics_of(model_, root_of(*game_)), cursor_of(game_->acting()));
    return rewards;
  }
  bool advance(Joint joint) override {
    play(joint, false);
    return false;
  }
  Acting root_acting() const override { return game_->acting(); }
  std::vector<Action> root_legal(int player) override { return game_->legal(player); }
  Key root_key() const override { return game_->key(); }
  bool needs_python() const override { return game_->needs_python(); }

  void write(int batch, const BatchView& view, int row) override {
    tree_.write(batch, view, row);
    if (view.parents[row] >= 0) return;
    if (!view.observations || view.observation_size != game_->observation_size())
      throw std::logic_error("the batch has no room for the observations of this game");
    game_->observe(game_->acting() == kSecond ? 1 : 0, view.observations + static_cast<std::size_t>(row) * view.observation_size);
  }

  void restrict_root(std::vector<Action> first, std::vector<Action> second) override {
    tree_.restrict_root(std::move(first), std::move(second));
  }
  void use_cache(std::shared_ptr<EvaluationCache>) override {}  // latent states have no keys
  int rows(int batch) const override { return tree_.rows(batch); }
  void begin(std::uint64_t seed, std::int64_t simulations, bool full) override { tree_.begin(seed, simulations, full); }
  int collect(int batch, int leaves, std::int64_t simulations) override { return tree_.collect(batch, leaves, simulations); }
  void absorb(int batch, const EvaluationView& evaluation, int row) override { tree_.absorb(batch, evaluation, row); }
  void cancel() override { tree_.cancel(); }
  void fetch(int step, int batch) const override { tree_.fetch(step, batch); }
  int in_flight() const override { return tree_.in_flight(); }
  std::int64_t run_native(const NativeEvaluator& evaluator, std::int64_t simulations, double seconds) override {
    return tree_.run_native(evaluator, simulations, seconds);
  }
  Report report(std::span<const Joint> path) const override { return tree_.report(path); }
  std::vector<Joint> last_path() const override { return tree_.last_path(); }
  std::vector<Joint> principal_variation() const override { return tree_.principal_variation(); }
  void release_slots() override { tree_.release_slots(); }
  bool proven() const override { return false; }
  std::vector<double> second_moments() const override { return tree_.second_moments(); }
  SearchStats stats() const override { return tree_.stats(); }
  std::int64_t simulations() const override { return tree_.simulations(); }
  void visit_cursors(const std::function<void(const void*)>&) const override {}  // pools are not collected

 private:
  LatentModel model_;
  std::unique_ptr<RealGame> game_;
  LatentSearch tree_;
};

}  // namespace

std::unique_ptr<RealGame> real_game(std::unique_ptr<AnyState> state) {
  return std::make_unique<NativeGame>(std::move(state));
}

std::unique_ptr<AnySearch> make_latent_search(const LatentModel& model, LatentRoot root, const Settings& settings) {
  const Acting acting = root.acting;
  return std::make_unique<LatentSearch>(dynamics_of(model, std::move(root)), cursor_of(acting), settings, 0);
}

std::unique_ptr<AnySearch> make_latent_play(const LatentModel& model, std::unique_ptr<RealGame> game,
                                            const Settings& settings) {
  return std::make_unique<LatentPlay>(model, std::move(game), settings);
}

}  // namespace ramify
