// Pools of games as Python drives them.
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include "base/error.hpp"
#include "bind/exclusive.hpp"
#include "bind/latent.hpp"
#include "bind/modules.hpp"
#include "bind/register.hpp"
#include "bind/search.hpp"
#include "games/any.hpp"
#include "search/pool.hpp"

namespace ramify {
namespace {

using namespace nb::literals;

PlaySettings to_play(const nb::dict& d, const Settings& search) {
  PlaySettings s;
  s.simulations = field<std::int64_t>(d, "simulations");
  s.fast_simulations = field<std::int64_t>(d, "fast_simulations");
  s.full_share = field<double>(d, "full_share");
  s.temperature = field<double>(d, "temperature");
  s.temperature_end = field<double>(d, "temperature_end");
  s.temperature_half_life = field<double>(d, "temperature_half_life");
  s.temperature_moves = field<int>(d, "temperature_moves");
  s.opening_moves = field<int>(d, "opening_moves");
  s.resign_below = field<double>(d, "resign_below");
  s.resign_moves = field<int>(d, "resign_moves");
  s.playthrough = field<double>(d, "playthrough");
  s.reuse = field<bool>(d, "reuse");
  s.leaves = field<int>(d, "leaves");
  s.max_moves = field<int>(d, "max_moves");
  s.acting = to_policy(field<nb::dict>(d, "acting"), search);
  s.rollouts = field<int>(d, "rollouts");
  s.greedy = field<bool>(d, "greedy");
  s.prior = static_cast<float>(field<double>(d, "prior"));
  s.planner = field<bool>(d, "planner");
  return s;
}

// The pool, and the game that must outlive it.
struct BoundPool {
  Guarded<Pool> pool;
  nb::object game;
  bool python;
};

constexpr const char* kBusy = "this pool of games is in use by another thread: only one thread at a time may use it";

// First positions of a game written in Python, by the seed of the game: its own, or one of the openings.
using PythonFirst = std::function<nb::object(std::uint64_t)>;
PythonFirst python_first(const nb::object& game, const std::vector<nb::object>& openings) {
  if (openings.empty()) return [game](std::uint64_t seed) { return game.attr("initial_state")("seed"_a = seed); };
  const bool chance = nb::cast<bool>(nb::bool_(nb::getattr(game, "has_chance_events", nb::bool_(false))));
  return [openings, chance](std::uint64_t seed) {
    nb::object state = openings[seed % openings.size()].attr("copy")();
    if (chance) state.attr("reseed_chance")(seed >> 1);  // as ramify.selfplay.starts has it
    return state;
  };
}

// The same for a game of the core. The openings are copied here: threads that hold no GIL read them.
using NativeFirst = std::function<std::unique_ptr<AnyState>(std::uint64_t)>;
NativeFirst native_first(const nb::object& game, const std::vector<nb::object>& openings) {
  const AnyGame& native = nb::cast<const AnyGame&>(game);
  if (openings.empty()) return [&native](std::uint64_t seed) { return native.initial(seed); };
  std::vector<std::shared_ptr<const AnyState>> states;
  for (const nb::object& opening : openings) states.push_back(nb::cast<const AnyState&>(opening).copy());
  return [states = std::move(states)](std::uint64_t seed) {
    auto state = states[seed % states.size()]->copy();
    state->set_dice({seed >> 1, state->dice().events});  // as ramify.selfplay.starts has it
    return state;
  };
}

// Makes the search of a game at its first position.
Pool::Start start_of(const nb::object& game, bool python, const Settings& settings,
                     const std::vector<nb::object>& openings) {
  if (python)
    return [first = python_first(game, openings), settings](std::uint64_t seed) {
      return make_python_search(first(seed), settings);
    };
  const auto make = search_registry().at(nb::cast<const AnyGame&>(game).name());
  return [first = native_first(game, openings), make, settings](std::uint64_t seed) {
    return make(*first(seed), settings);
  };
}

// The same for a game that is played with a learned model.
Pool::Start start_of(const nb::object& game, bool python, const LatentModel& model, const Settings& settings,
                     const std::vector<nb::object>& openings) {
  if (python)
    return [first = python_first(game, openings), model, settings](std::uint64_t seed) {
      return make_latent_play(model, real_python_game(first(seed)), settings);
    };
  return [first = native_first(game, openings), model, settings](std::uint64_t seed) {
    return make_latent_play(model, real_game(first(seed)), settings);
  };
}

std::unique_ptr<BoundPool> make_pool(nb::object game, const nb::dict& settings, const nb::dict& play, std::uint64_t seed,
                                     int places, std::vector<std::int64_t> unfinished, std::int64_t first,
                                     std::int64_t games, int threads, int shares, std::optional<nb::dict> model,
                                     const BoundCache* cache, const std::vector<nb::object>& openings) {
  const Settings given = to_settings(settings);
  const PlaySettings how = to_play(play, given);
  const bool python = !nb::isinstance<AnyGame>(game);
  Pool::Start start = model ? start_of(game, python, to_latent_model(*model), given, openings)
                            : start_of(game, python, given, openings);
  if (python) threads = 1;
  if (cache)
    start = [make = std::move(start), shared = cache->cache](std::uint64_t state_seed) {
      auto search = make(state_seed);
      search->use_cache(shared);
      return search;
    };
  const MaybeRelease release(python);
  auto pool = std::make_unique<Pool>(std::move(start), how, seed, places, std::move(unfinished), first, games, threads,
                                     shares);
  return std::make_unique<BoundPool>(BoundPool{{std::move(pool), kBusy}, std::move(game), python});
}

BoundBatch batch_of(nb::handle_t<BoundPool> self, int share, int rows) {
  const auto absorb = [&bound = nb::cast<BoundPool&>(self), share](const EvaluationView& evaluation) {
    const auto lease = bound.pool.use();
    const MaybeRelease release(bound.python);
    lease->absorb(share, evaluation);
  };
  return {rows, rows, {rows}, absorb, nb::borrow(self), share};
}

BoundBatch gather(nb::handle_t<BoundPool> self, int share, const nb::dict& arrays) {
  auto& bound = nb::cast<BoundPool&>(self);
  const BatchView view = to_view(arrays);
  const auto pool = bound.pool.use();
  if (share < 0 || share >= pool->shares()) throw nb::value_error("the pool has no such share");
  int rows = 0;
  {
    const MaybeRelease release(bound.python);
    rows = pool->gather(share, view);
  }
  return batch_of(self, share, rows);
}

BoundBatch refill(nb::handle_t<BoundPool> self, BoundBatch& batch, const nb::object& logits, const Rows<const float>& values,
                  const std::optional<Rows<const float>>& rewards, const nb::dict& arrays) {
  auto& bound = nb::cast<BoundPool&>(self);
  const BatchView view = to_view(arrays);
  if (!batch.owner.is(self)) throw nb::value_error("this batch is of another pool");
  const EvaluationView evaluation = checked_view(batch, logits, values, rewards);
  const auto pool = bound.pool.use();
  batch.absorb = nullptr;
  int rows = 0;
  {
    const MaybeRelease release(bound.python);
    rows = pool->refill(batch.share, &evaluation, view);
  }
  return batch_of(self, batch.share, rows);
}

nb::dict to_python(const Pool::Counts& c) {
  nb::dict d;
  d["games"] = c.games;
  d["moves"] = c.moves;
  d["lengths"] = c.lengths;
  d["evaluations"] = c.evaluations;
  d["cache_hits"] = c.cache_hits;
  d["cache_misses"] = c.cache_misses;
  d["simulations"] = c.simulations;
  d["draws"] = c.draws;
  d["resigned"] = c.resigned;
  d["active"] = c.active;
  d["bytes"] = c.bytes;
  return d;
}

}  // namespace

void bind_pool(nb::module_& m) {
  nb::class_<BoundPool>(m, "Pool", "Many games at once; ramify.selfplay drives it.")
      .def("gather", &gather, "share"_a, "arrays"_a,
           nb::sig("def gather(self, share: int, arrays: dict[str, Any]) -> LeafBatch"),
           "Play on in one share of the games until each of them awaits an evaluation, and write the rows.")
      .def("refill", &refill, "batch"_a, "logits"_a, "values"_a, "rewards"_a.none(), "arrays"_a,
           nb::sig("def refill(self, batch: LeafBatch, logits: NDArray[Any], values: NDArray[Any], "
                   "rewards: NDArray[Any] | None, arrays: dict[str, Any]) -> LeafBatch"),
           "Absorb the evaluation of a batch and gather the next one of the same share, in one go.")
      .def("cancel", [](BoundPool& p) { p.pool.use()->cancel(); })
      .def("take_finished", [](BoundPool& p) {
             nb::list records;
             for (const std::string& record : p.pool.use()->take_finished()) records.append(nb::bytes(record.data(), record.size()));
             return records;
           }, nb::sig("def take_finished(self) -> list[bytes]"), "Records of the games finished since the last call.")
      .def_prop_ro("idle", [](const BoundPool& p) { return p.pool.use()->idle(); })
      .def("stop", [](BoundPool& p) { p.pool.use()->stop(); }, "Start no more games.")
      .def("add", [](BoundPool& p, const std::vector<std::int64_t>& numbers) {
             const auto pool = p.pool.use();
             const MaybeRelease release(p.python);
             pool->add(numbers);
           }, "numbers"_a, "Play the games with these numbers too; only for a pool that had nothing but a list of numbers.")
      .def_prop_ro("not_begun", [](const BoundPool& p) { return p.pool.use()->not_begun(); }, "Number of games not begun yet.")
      .def_prop_ro("counts", [](const BoundPool& p) { return to_python(p.pool.use()->counts()); },
                   nb::sig("def counts(self) -> dict[str, int]"));
  m.def("make_pool", &make_pool, "game"_a, "settings"_a, "play"_a, "seed"_a, "places"_a, "unfinished"_a, "first"_a,
        "games"_a, "threads"_a, "shares"_a = 2, "model"_a = nb::none(), "cache"_a.none() = nb::none(),
        "openings"_a = std::vector<nb::object>{},
        nb::sig("def make_pool(game: Any, settings: dict[str, Any], play: dict[str, Any], seed: int, places: int, "
                "unfinished: list[int], first: int, games: int, threads: int, shares: int = 2, "
                "model: dict[str, Any] | None = None, cache: EvaluationCache | None = None, "
                "openings: list[Any] = []) -> Pool"));
}

}  // namespace ramify
