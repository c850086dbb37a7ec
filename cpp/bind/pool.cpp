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
  return s;
}

// The pool, and the game that must outlive it.
struct BoundPool {
  Guarded<Pool> pool;
  nb::object game;
  bool python;
};

constexpr const char* kBusy = "this pool of games is in use by another thread: only one thread at a time may use it";

// Makes the search of a game at its first position.
Pool::Start start_of(const nb::object& game, bool python, const Settings& settings) {
  if (python)
    return [game, settings](std::uint64_t seed) {
      return make_python_search(game.attr("initial_state")("seed"_a = seed), settings);
    };
  const AnyGame& native = nb::cast<const AnyGame&>(game);
  const auto make = search_registry().at(native.name());
  return [&native, make, settings](std::uint64_t seed) { return make(*native.initial(seed), settings); };
}

// The same for a game that is played with a learned model.
Pool::Start start_of(const nb::object& game, bool python, const LatentModel& model, const Settings& settings) {
  if (python)
    return [game, model, settings](std::uint64_t seed) {
      return make_latent_play(model, real_python_game(game.attr("initial_state")("seed"_a = seed)), settings);
    };
  const AnyGame& native = nb::cast<const AnyGame&>(game);
  return [&native, model, settings](std::uint64_t seed) {
    return make_latent_play(model, real_game(native.initial(seed)), settings);
  };
}

std::unique_ptr<BoundPool> make_pool(nb::object game, const nb::dict& settings, const nb::dict& play, std::uint64_t seed,
                                     int places, std::vector<std::int64_t> unfinished, std::int64_t first,
                                     std::int64_t games, int threads, int shares, std::optional<nb::dict> model,
                                     const BoundCache* cache) {
  const Settings given = to_settings(settings);
  const PlaySettings how = to_play(play, given);
  const bool python = !nb::isinstance<AnyGame>(game);
  Pool::Start start = model ? start_of(game, python, to_latent_model(*model), given) : start_of(game, python, given);
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
  const auto absorb = [&bound, share](const EvaluationView& evaluation) {
    const auto lease = bound.pool.use();
    const MaybeRelease release(bound.python);
    lease->absorb(share, evaluation);
  };
  return {rows, rows, {rows}, absorb, nb::borrow(self)};
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
      .def("cancel", [](BoundPool& p) { p.pool.use()->cancel(); })
      .def("take_finished", [](BoundPool& p) {
             nb::list records;
             for (const std::string& record : p.pool.use()->take_finished()) records.append(nb::bytes(record.data(), record.size()));
             return records;
           }, nb::sig("def take_finished(self) -> list[bytes]"), "Records of the games finished since the last call.")
      .def_prop_ro("idle", [](const BoundPool& p) { return p.pool.use()->idle(); })
      .def("stop", [](BoundPool& p) { p.pool.use()->stop(); }, "Start no more games.")
      .def_prop_ro("counts", [](const BoundPool& p) { return to_python(p.pool.use()->counts()); },
                   nb::sig("def counts(self) -> dict[str, int]"));
  m.def("make_pool", &make_pool, "game"_a, "settings"_a, "play"_a, "seed"_a, "places"_a, "unfinished"_a, "first"_a,
        "games"_a, "threads"_a, "shares"_a = 2, "model"_a = nb::none(), "cache"_a.none() = nb::none(),
        nb::sig("def make_pool(game: Any, settings: dict[str, Any], play: dict[str, Any], seed: int, places: int, "
                "unfinished: list[int], first: int, games: int, threads: int, shares: int = 2, "
                "model: dict[str, Any] | None = None, cache: EvaluationCache | None = None) -> Pool"));
}

}  // namespace ramify
