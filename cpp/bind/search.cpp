// Searches as Python drives them.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <span>
#include <utility>

#include "base/error.hpp"
#include "bind/convert.hpp"
#include "bind/exclusive.hpp"
#include "bind/latent.hpp"
#include "bind/modules.hpp"
#include "bind/python_rules.hpp"
#include "bind/register.hpp"
#include "bind/search.hpp"
#include "search/group.hpp"
#include "search/priors.hpp"
#include "search/search.hpp"
#include "search/wide.hpp"

namespace ramify {
namespace {

using namespace nb::literals;

// The search, and the Python state whose game must outlive it.
struct BoundSearch {
  Guarded<AnySearch> search;
  nb::object owner;
};

constexpr const char* kBusy = "this search is in use by another call: only one thread at a time may use it";
constexpr const char* kGroupBusy = "this thread group is in use by another call: only one thread at a time may use it";

std::unique_ptr<BoundSearch> bound(std::unique_ptr<AnySearch> search, nb::object owner) {
  return std::make_unique<BoundSearch>(BoundSearch{{std::move(search), kBusy}, std::move(owner)});
}

// Lets Python's collector see the states that a search holds: a game written in Python may well know, through its class
// and module, the searcher that searches it.
int traverse_search(PyObject* self, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(self));
  if (!nb::inst_ready(self)) return 0;
  const auto* bound = nb::inst_ptr<BoundSearch>(self);
  Py_VISIT(bound->owner.ptr());
  const AnySearch* search = bound->search.peek();
  if (!search || !search->needs_python()) return 0;
  int result = 0;
  search->visit_cursors([&](const void* cursor) {
    PyObject* state = static_cast<const PythonCursor*>(cursor)->pointer();
    if (state && !result) result = visit(state, arg);
  });
  return result;
}

int clear_search(PyObject* self) {
  auto* bound = nb::inst_ptr<BoundSearch>(self);
  bound->search.clear();
  bound->owner.reset();
  return 0;
}

PyType_Slot search_slots[] = {{Py_tp_traverse, reinterpret_cast<void*>(traverse_search)},
                              {Py_tp_clear, reinterpret_cast<void*>(clear_search)},
                              {0, nullptr}};

std::vector<Joint> to_path(const nb::list& path) {
  std::vector<Joint> joints;
  for (nb::handle item : path) {
    const auto pair = nb::cast<nb::tuple>(item);
    joints.push_back({{nb::cast<Action>(pair[0]), nb::cast<Action>(pair[1])}});
  }
  return joints;
}

nb::list to_python(const std::vector<Joint>& path) {
  nb::list line;
  for (const Joint& joint : path) line.append(nb::make_tuple(joint[0], joint[1]));
  return line;
}

nb::dict to_python(const SearchStats& s) {
  nb::dict d;
  d["simulations"] = s.simulations;
  d["evaluations"] = s.evaluations;
  d["cache_hits"] = s.cache_hits;
  d["cache_misses"] = s.cache_misses;
  d["nodes"] = s.nodes;
  d["transpositions"] = s.transpositions;
  d["short_circuits"] = s.short_circuits;
  d["collisions"] = s.collisions;
  d["terminals"] = s.terminals;
  d["solved"] = s.solved;
  d["cycles"] = s.cycles;
  d["full"] = s.full;
  d["max_depth"] = s.max_depth;
  d["mean_depth"] = s.simulations ? static_cast<double>(s.turns) / static_cast<double>(s.simulations) : 0.0;
  d["bytes"] = s.bytes;
  constexpr const char* kReasons[] = {nullptr, "max_nodes", "memory", "address space"};
  const char* reason = kReasons[static_cast<std::size_t>(s.full_reason)];
  d["full_reason"] = reason ? nb::object(nb::str(reason)) : nb::object(nb::none());
  return d;
}

void absorb(BoundBatch& batch, const nb::object& logits, const Rows<const float>& values,
            const std::optional<Rows<const float>>& rewards) {
  const EvaluationView view = checked_view(batch, logits, values, rewards);
  const auto work = std::exchange(batch.absorb, nullptr);
  work(view);
}

std::unique_ptr<BoundSearch> make_native(nb::object state, const nb::dict& settings) {
  const auto& native = nb::cast<const AnyState&>(state);
  auto made = search_registry().at(native.game()->name())(native, to_settings(settings));
  return bound(std::move(made), std::move(state));
}

std::unique_ptr<BoundSearch> make_python(nb::object state, const nb::dict& settings) {
  const PythonSection section;
  auto made = make_python_search(state, to_settings(settings));
  return bound(std::move(made), std::move(state));
}

std::unique_ptr<BoundSearch> make_latent(int num_actions, const std::string& order, int acting,
                                         const std::vector<Action>& first, const std::vector<Action>& second,
                                         const nb::dict& settings, nb::object slots,
                                         std::optional<Rows<const float>> observation) {
  LatentRoot root{static_cast<Acting>(acting), {first, second}, {}};
  if (observation) root.observation.assign(observation->data(), observation->data() + observation->size());
  auto made = make_latent_search(to_latent_model(num_actions, order, slots), std::move(root), to_settings(settings));
  return bound(std::move(made), nb::none());
}

std::int64_t simulations_left(const BoundSearch& bound, std::int64_t simulations, std::optional<std::int64_t> evaluations) {
  return bound.search.use()->left(simulations, evaluations.value_or(std::numeric_limits<std::int64_t>::max()));
}

// Searches of a list, each for this call alone, and kept alive whatever becomes of the list meanwhile.
class Leased {
 public:
  explicit Leased(const nb::list& searches) {
    for (nb::handle item : searches) {
      owners_.push_back(nb::borrow(item));
      leases_.push_back(nb::cast<BoundSearch&>(item).search.use());
      python_ = python_ || leases_.back()->needs_python();
    }
  }
  std::size_t size() const { return leases_.size(); }
  AnySearch& operator[](std::size_t i) const { return *leases_[i]; }
  bool python() const { return python_; }  // whether any of them calls back into Python

 private:
  std::vector<nb::object> owners_;
  std::vector<Guarded<AnySearch>::Lease> leases_;
  bool python_ = false;
};

// The threads of a group; but if a search calls Python, only the calling one, to which the GIL belongs.
class Threads {
 public:
  Threads(Group& group, const Leased& list) : group_(&group) {
    if (list.python()) group_ = &alone_.emplace(1);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;
  Group* operator->() const { return group_; }

 private:
  std::optional<Group> alone_;
  Group* group_;
};

// Many searches, or one, as Python drives them.
class BoundGroup {
 public:
  explicit BoundGroup(int threads) : group_(std::make_unique<Group>(threads), kGroupBusy) {}

  // The next batch of every search, with this number, in one batch.
  static BoundBatch gather(nb::handle_t<BoundGroup> self, nb::list searches, int number, int leaves,
                           const std::vector<std::int64_t>& simulations, const nb::dict& arrays) {
    auto& bound = nb::cast<BoundGroup&>(self);
    const auto group = bound.group_.use();
    const Leased list(searches);
    const BatchView view = to_view(arrays);
    if (simulations.size() != list.size()) throw nb::value_error("simulations must have one number per search");
    std::vector<Part> parts(list.size());
    int rows = 0;
    {
      const MaybeRelease release(list.python());
      const Threads threads(*group, list);
      threads->share(list.size(), 1, [&](std::size_t i) {
        const int found = simulations[i] > 0 ? list[i].collect(number, leaves, simulations[i]) : 0;
        parts[i] = {&list[i], number, found, found ? list[i].rows(number) : 0, 0};
      });
      rows = threads->write(parts, view);
    }
    std::vector<int> counts;
    int found = 0;
    for (const Part& part : parts) {
      counts.push_back(part.rows);
      found += part.leaves;
    }
    const auto owner = nb::make_tuple(self, nb::list(searches));
    return {found, rows, std::move(counts), [owner, parts = std::move(parts)](const EvaluationView& evaluation) { absorb(owner, parts, evaluation); },
            owner};
  }

  // As Search.run_native for each; `seconds` is for all of them together, so the last may go without, unless it is late
  // already.
  std::int64_t run_native(const nb::list& searches, int rollouts, std::uint64_t seed,
                          const std::vector<std::int64_t>& simulations, double seconds, bool greedy, float prior, bool planner) {
    using Clock = std::chrono::steady_clock;
    const auto group = group_.use();
    const Leased list(searches);
    const MaybeRelease release(list.python());
    const auto deadline = Clock::now() + std::chrono::duration<double>(std::min(seconds, 1e9));
    std::atomic<std::int64_t> done{0};
    const Threads threads(*group, list);
    threads->share(list.size(), 1, [&](std::size_t i) {
      const std::chrono::duration<double> left = deadline - Clock::now();
      if (simulations[i] > 0 && (left.count() > 0.0 || seconds <= 0.0))
        done += list[i].run_native({rollouts, seed, greedy, prior, planner}, simulations[i], seconds <= 0.0 ? 0.0 : left.count());
    });
    return done;
  }

 private:
  static void absorb(const nb::tuple& owner, std::span<const Part> parts, const EvaluationView& evaluation) {
    const auto group = nb::cast<BoundGroup&>(owner[0]).group_.use();
    const Leased list(nb::cast<nb::list>(owner[1]));
    const MaybeRelease release(list.python());
    Threads(*group, list)->absorb(parts, evaluation);
  }

  Guarded<Group> group_;
};

}  // namespace

void bind_search(nb::module_& m) {
  nb::class_<BoundSearch>(m, "Search", nb::type_slots(search_slots), "One search; ramify.Searcher drives it.")
      .def("begin", [](BoundSearch& s, std::uint64_t seed, std::int64_t simulations, bool full) {
             s.search.use()->begin(seed, simulations, full);
           }, "seed"_a, "simulations"_a = 0, "full"_a = true)
      .def("restrict_root", [](BoundSearch& s, std::vector<Action> first, std::vector<Action> second) {
             const auto search = s.search.use();
             const PythonSection section(search->needs_python());
             search->restrict_root(std::move(first), std::move(second));
           }, "first"_a, "second"_a, "Search from a fresh root with these actions alone, of each player; none: all.")
      .def("use_cache", [](BoundSearch& s, const BoundCache& cache) { s.search.use()->use_cache(cache.cache); }, "cache"_a,
           "Look evaluations up in this cache, and store them there.")
      .def("cancel", [](BoundSearch& s) { s.search.use()->cancel(); },
           "Cancel all leaves in flight, as if they had never been selected.")
      .def("release_slots", [](BoundSearch& s) { s.search.use()->release_slots(); },
           "Give the slots of latent states back: the search may still be looked at, but not go on.")
      .def("run_native", [](BoundSearch& s, int rollouts, std::uint64_t seed, std::int64_t simulations, double seconds,
                            bool greedy, float prior, bool planner) {
             const auto search = s.search.use();
             const MaybeRelease release(search->needs_python());
             return search->run_native({rollouts, seed, greedy, prior, planner}, simulations, seconds);
           }, "rollouts"_a, "seed"_a, "simulations"_a, "seconds"_a, "greedy"_a = false, "prior"_a = 0.0f, "planner"_a = false)
      .def("report", [](const BoundSearch& s, const nb::list& path) {
             const auto search = s.search.use();
             const PythonSection section(search->needs_python());
             return to_python(search->report(to_path(path)));
           },
           "path"_a, nb::sig("def report(self, path: list[tuple[int, int]]) -> dict[str, Any]"))
      .def_prop_ro("last_path", [](const BoundSearch& s) {
                     const auto search = s.search.use();
             const PythonSection section(search->needs_python());
                     return to_python(search->last_path());
                   },
                   "The actions of the last descent.", nb::sig("def last_path(self) -> list[tuple[int, int]]"))
      .def("principal_variation", [](const BoundSearch& s) {
             const auto search = s.search.use();
             const PythonSection section(search->needs_python());
             return to_python(search->principal_variation());
           },
           nb::sig("def principal_variation(self) -> list[tuple[int, int]]"))
      .def("advance", [](BoundSearch& s, Action first, Action second) {
             const auto search = s.search.use();
             const MaybeRelease release(search->needs_python());
             return search->advance({{first, second}});
           },
           "first"_a, "second"_a)
      .def_prop_ro("stats", [](const BoundSearch& s) { return to_python(s.search.use()->stats()); },
                   nb::sig("def stats(self) -> dict[str, Any]"))
      .def_prop_ro("proven", [](const BoundSearch& s) { return s.search.use()->proven(); })
      .def("left", &simulations_left, "simulations"_a, "evaluations"_a = nb::none(),
           "Simulations that may still be started within these limits, not counting those in flight; 0 once proven.")
      .def("second_moments", [](const BoundSearch& s) { return array_of(s.search.use()->second_moments()); },
           "Means of the squares of what came of each of the root's edges, [2 * n0 * n1]; nan where unvisited.",
           nb::sig("def second_moments(self) -> NDArray[Any]"))
      .def_prop_ro("root_key", [](const BoundSearch& s) { return s.search.use()->root_key(); })
      .def_prop_ro("needs_python", [](const BoundSearch& s) { return s.search.use()->needs_python(); });

  nb::class_<BoundBatch>(m, "LeafBatch", "Leaves in flight: rows written, evaluations not given back yet.")
      .def("__len__", [](const BoundBatch& b) { return b.rows; })
      .def("__bool__", [](const BoundBatch& b) { return b.leaves > 0; },
           "Whether there are any leaves; all of them may be in the cache, so that there are no rows.")
      .def_ro("counts", &BoundBatch::counts, "Rows of every search, in order.", nb::sig("def counts(self) -> list[int]"))
      .def("absorb", &absorb, "logits"_a, "values"_a, "rewards"_a = nb::none(),
           nb::sig("def absorb(self, logits: NDArray[Any], values: NDArray[Any], "
                   "rewards: NDArray[Any] | None = None) -> None"),
           "Expand the leaves and back up their values. Batches may be absorbed in any order.");

  nb::class_<BoundGroup>(m, "Group", "Threads that drive one search or many.")
      .def(nb::init<int>(), "threads"_a)
      .def("gather", &BoundGroup::gather, "searches"_a, "number"_a, "leaves"_a, "simulations"_a, "arrays"_a,
           nb::sig("def gather(self, searches: list[Search], number: int, leaves: int, simulations: Sequence[int], "
                   "arrays: dict[str, Any]) -> LeafBatch"),
           "Collect up to ``leaves`` leaves of every search and write them to the arrays, search after search. ``number`` "
           "(0, 1, ...) tells the batches apart that are in flight at once.")
      .def("run_native", &BoundGroup::run_native, "searches"_a, "rollouts"_a, "seed"_a, "simulations"_a, "seconds"_a,
           "greedy"_a = false, "prior"_a = 0.0f, "planner"_a = false,
           nb::sig("def run_native(self, searches: list[Search], rollouts: int, seed: int, "
                   "simulations: Sequence[int], seconds: float, greedy: bool = False, prior: float = 0.0, "
                   "planner: bool = False) -> int"));

  m.def("make_search", &make_native, "state"_a, "settings"_a,
        nb::sig("def make_search(state: State, settings: dict[str, Any]) -> Search"));
  m.def("make_python_search", &make_python, "state"_a, "settings"_a,
        nb::sig("def make_python_search(state: Any, settings: dict[str, Any]) -> Search"));
  m.def("make_latent_search", &make_latent, "num_actions"_a, "order"_a, "acting"_a, "first"_a, "second"_a, "settings"_a,
        "slots"_a = nb::none(), "observation"_a = nb::none(),
        nb::sig("def make_latent_search(num_actions: int, order: str, acting: int, first: Sequence[int], "
                "second: Sequence[int], settings: dict[str, Any], slots: Slots | None = None, "
                "observation: NDArray[Any] | None = None) -> Search"));
  m.def("limit_graph_bytes", &Arena::limit_bytes, "bytes"_a,
        "Let every search graph end after so many bytes, in steps of 4 MiB, as it otherwise does after 16 GiB. For tests.");
  m.def("use_wide_vectors", [](bool wide) { return use_wide = wide && has_wide_vectors(); }, "wide"_a,
        "Let searches compute with eight numbers at a time where the processor has AVX2, as they do unless told otherwise, or "
        "with four. Returns which. For tests: the results are the same.");
  m.def("round_prior", [](float prior) { return decode_prior(encode_prior(prior) << 16); }, "prior"_a,
        "The prior as the engine keeps it, in 16 bits.");
  m.def("softmax", [](const std::vector<float>& logits) {
          std::vector<Action> all(logits.size());
          for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<Action>(i);
          std::vector<float> out(logits.size());
          if (!softmax({logits.data(), nullptr}, all.data(), static_cast<int>(all.size()), out.data()))
            throw EvaluatorError("a logit is not finite");
          return to_array(out);
        }, "logits"_a, "The engine's own softmax.");
}

}  // namespace ramify
