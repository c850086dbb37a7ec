// Settings, batches and reports on their way between Python and the core.
#include "bind/search.hpp"

#include <nanobind/stl/string.h>

#include "base/error.hpp"
#include "bind/python_rules.hpp"
#include "search/search.hpp"

namespace ramify {
namespace {

template <class E>
E option(const nb::dict& settings, const char* name, std::initializer_list<const char*> names) {
  const auto given = field<std::string>(settings, name);
  int index = 0;
  for (const char* option : names) {
    if (given == option) return static_cast<E>(index);
    ++index;
  }
  throw InvalidInput(std::string(name) + " cannot be '" + given + "'");
}

}  // namespace

Stakes read_stakes(const nb::object& game, bool solver) {
  const auto says = [&](const char* name) { return nb::cast<bool>(nb::bool_(nb::getattr(game, name, nb::bool_(false)))); };
  if (solver && says("chance"))
    throw InvalidInput("solver=True is not available in games with chance: the search would see future chance events");
  Stakes stakes;
  stakes.zero_sum = says("zero_sum");
  stakes.throughout = false;  // returns_range is about whole games
  const nb::object range = nb::getattr(game, "returns_range", nb::none());
  if (range.is_none()) return stakes;
  try {
    const auto least = nb::cast<float>(range[0]), most = nb::cast<float>(range[1]);
    if (!(least <= most)) throw InvalidInput("returns_range must be (least, most) with least <= most");
    stakes.least = {least, least};
    stakes.most = {most, most};
  } catch (const nb::cast_error&) {
    throw InvalidInput("returns_range must be two numbers (least, most), or None");
  }
  return stakes;
}

Settings to_settings(const nb::dict& d) {
  Settings s;
  if (!d["c_puct"].is_none()) s.c_puct = field<double>(d, "c_puct");
  s.c_base = d["c_base"].is_none() ? 0.0 : field<double>(d, "c_base");
  s.discount = field<double>(d, "discount");
  s.error_scale = d["error_scale"].is_none() ? 0.0 : field<double>(d, "error_scale");
  s.fpu_offset = field<double>(d, "fpu_offset");
  s.parent_visits = option<ParentVisits>(d, "parent_visits", {"node", "edges"});
  s.fpu = option<FirstPlay>(d, "fpu", {"zero", "parent", "reduction"});
  s.opponent_weights =
      option<OpponentWeights>(d, "opponent_weights", {"conditional", "prior", "visits", "blended"});
  s.normalize = option<Normalize>(d, "normalize", {"none", "minmax", "remaining"});
  s.selection = option<Selection>(d, "selection", {"puct", "gumbel", "regret", "exp3"});
  s.solver = field<bool>(d, "solver");
  s.root_temperature = field<double>(d, "root_temperature");
  s.noise = option<Noise>(d, "noise", {"dirichlet", "shaped"});
  s.forced_playouts = field<double>(d, "forced_playouts");
  s.forced_form = option<ForcedForm>(d, "forced_form", {"sqrt", "linear"});
  s.forced_by = option<ForcedBy>(d, "forced_by", {"player", "pair"});
  s.gumbel_considered = field<int>(d, "gumbel_considered");
  s.gumbel_scale = field<double>(d, "gumbel_scale");
  s.gumbel_visit = field<double>(d, "gumbel_visit");
  s.gumbel_value = field<double>(d, "gumbel_value");
  s.gumbel_rescale = field<bool>(d, "gumbel_rescale");
  s.exp3_exploration = field<double>(d, "exp3_exploration");
  s.chance_widening = field<double>(d, "chance_widening");
  s.chance_exponent = field<double>(d, "chance_exponent");
  s.chance_explicit = field<std::uint32_t>(d, "chance_explicit");
  s.graph = field<bool>(d, "graph");
  s.canonical = field<bool>(d, "canonical");
  s.short_circuit = field<bool>(d, "short_circuit");
  s.noise_alpha = field<double>(d, "noise_alpha");
  s.noise_fraction = field<double>(d, "noise_fraction");
  s.rollout_share = field<double>(d, "rollout_share");
  s.rollout_plans = field<std::string>(d, "rollout_by") == "planner";
  s.max_in_flight = field<double>(d, "max_in_flight");
  s.max_nodes = d["max_nodes"].is_none() ? 0 : field<std::uint32_t>(d, "max_nodes");
  s.threads = field<int>(d, "threads");
  s.bundle = d["bundle"].is_none() ? 0 : field<int>(d, "bundle");
  return s;
}

PolicySettings to_policy(const nb::dict& d, const Settings& search) {
  const auto nash = field<nb::dict>(d, "nash");
  return {option<PolicyMethod>(d, "method", {"visits", "pruned", "nash", "average", "improved"}),
          {option<Choose>(nash, "choose", {"centroid", "entropy", "any"}), field<double>(nash, "min_visits"),
           field<bool>(nash, "pruned")},
          search};
}

BatchView to_view(const nb::dict& batch) {
  BatchView view;
  const auto take = [&]<class T>(const char* name, T*& target) {
    if (batch.contains(name)) target = nb::cast<Rows<T>>(batch[name], false).data();
  };
  take("observations", view.observations);
  if (view.observations) {
    const auto observations = nb::cast<Rows<float>>(batch["observations"], false);
    view.observation_size = observations.shape(0) ? observations.size() / observations.shape(0) : 0;
  }
  take("legal", view.legal);
  take("acting", view.acting);
  take("keys", view.keys);
  take("parents", view.parents);
  take("actions", view.actions);
  take("slots", view.slots);
  return view;
}

EvaluationView to_view(nb::handle logits, const Rows<const float>& values,
                       const std::optional<Rows<const float>>& rewards) {
  EvaluationView view;
  Rows<const float> full;
  Rows<const std::uint16_t> half;
  if (nb::try_cast(logits, full, false)) view.logits.full = full.data();
  else if (nb::try_cast(logits, half, false)) view.logits.half = half.data();
  else throw nb::type_error("logits must be a contiguous array of float32, or of bfloat16 as uint16");
  view.values = values.data();
  view.rewards = rewards ? rewards->data() : nullptr;
  view.mover_rewards = rewards && rewards->ndim() == 1;
  view.errors = values.ndim() == 3;  // [rows, players, value and error]
  view.per_player = values.ndim() == 2 || (view.errors && values.shape(1) == 2);
  return view;
}

EvaluationView checked_view(const BoundBatch& batch, nb::handle logits, const Rows<const float>& values,
                            const std::optional<Rows<const float>>& rewards) {
  if (!batch.absorb) throw nb::value_error("this batch was absorbed before");
  const EvaluationView view = to_view(logits, values, rewards);
  const auto rows = static_cast<std::size_t>(batch.rows);
  if (values.ndim() < 1 || values.shape(0) < rows)
    throw EvaluatorError("a batch of " + std::to_string(rows) + " rows needs as many values");
  if (rewards && (rewards->ndim() < 1 || rewards->shape(0) < rows))
    throw EvaluatorError("a batch of " + std::to_string(rows) + " rows needs as many rewards");
  return view;
}

nb::dict to_python(const Report& r) {
  nb::dict d;
  d["acting"] = static_cast<int>(r.acting);
  d["ready"] = r.ready;
  d["visits"] = r.visits;
  d["value"] = array_of(std::vector<float>(r.value, r.value + 2));
  d["evaluation"] = array_of(std::vector<float>(r.evaluation, r.evaluation + 2));
  if (!r.ready) return d;
  const std::vector<std::size_t> shape{r.actions[0].size(), r.actions[1].size()};
  d["outcomes"] = nb::make_tuple(array_of(r.actions[0]), array_of(r.actions[1]));
  d["priors"] = nb::make_tuple(array_of(r.priors[0]), array_of(r.priors[1]));
  d["scores"] = nb::make_tuple(array_of(r.scores[0]), array_of(r.scores[1]));
  d["q"] = nb::make_tuple(array_of(r.q[0]), array_of(r.q[1]));
  d["edge_visits"] = array_of(r.edge_visits, shape);
  std::vector<float> payoffs = r.payoffs[0];
  payoffs.insert(payoffs.end(), r.payoffs[1].begin(), r.payoffs[1].end());
  d["payoffs"] = array_of(payoffs, {2, shape[0], shape[1]});
  const auto pair_of = [](const auto& numbers) { return nb::make_tuple(array_of(numbers[0]), array_of(numbers[1])); };
  if (!r.average[0].empty()) d["average"] = pair_of(r.average);
  if (!r.gumbel[0].empty() || !r.gumbel[1].empty()) {
    d["gumbel"] = pair_of(r.gumbel);
    d["visits_before"] = pair_of(r.before);
    d["winners"] = nb::make_tuple(r.winner[0], r.winner[1]);
  }
  if (!r.has_proof) return d;
  d["proven"] = r.proven;
  d["bounds"] = array_of(std::vector<float>{r.low[0], r.low[1], r.high[0], r.high[1]}, {2, 2});
  d["stakes"] = array_of(std::vector<float>{r.least[0], r.least[1], r.most[0], r.most[1]}, {2, 2});
  std::vector<float> bounds;
  for (const auto& numbers : {r.lows[0], r.lows[1], r.highs[0], r.highs[1]})
    bounds.insert(bounds.end(), numbers.begin(), numbers.end());
  d["edge_bounds"] = array_of(bounds, {2, 2, shape[0], shape[1]});
  d["plies"] = array_of(r.plies, shape);
  return d;
}

std::unique_ptr<AnySearch> make_python_search(const nb::object& state, Settings given) {
  const nb::object game = state.attr("game");
  const PythonRules rules(game, read_stakes(game, given.solver));
  given.threads = 1;  // other threads would call Python without holding the GIL
  return std::make_unique<Search<PythonDynamics>>(PythonDynamics(rules), PythonCursor(state), given,
                                                  rules.observation_size());
}

}  // namespace ramify
