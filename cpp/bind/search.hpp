// What the bindings of searches and of pools share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "bind/convert.hpp"
#include "bind/interpreter.hpp"
#include "search/any_search.hpp"
#include "search/policies.hpp"
#include "search/settings.hpp"

namespace ramify {

namespace nb = nanobind;

template <class T>
using Rows = nb::ndarray<T, nb::c_contig, nb::device::cpu>;

// A number or word of a dictionary that must be there.
template <class T>
T field(const nb::dict& settings, const char* name) {
  return nb::cast<T>(settings[name]);
}

template <class T>
nb::object array_of(const std::vector<T>& data, std::vector<std::size_t> shape = {}) {
  if (shape.empty()) shape = {data.size()};
  return nb::cast(to_array(data, shape));
}

// A cache as Python holds it; searches keep it alive on their own, so that no thread of theirs needs the GIL to let it go.
struct BoundCache {
  std::shared_ptr<EvaluationCache> cache;
};

// Every setting must be there: Python's SearchConfig is the one place with defaults.
Settings to_settings(const nb::dict& settings);
// Likewise, from {"method": …, "nash": …}; `search` are the settings of the search that found what it is computed from.
PolicySettings to_policy(const nb::dict& settings, const Settings& search);
// What a game written in Python says of its returns. Raises InvalidInput for a solver where chance decides.
Stakes read_stakes(const nb::object& game, bool solver);
BatchView to_view(const nb::dict& batch);
// Logits are float32, or bfloat16 as uint16. Values say the form of both: [rows, 2], or [rows] of who acts; with expected
// squared errors [rows, 2, 2] or [rows, 1, 2], each value followed by its error. Rewards are [rows, 2], or [rows] of who
// acted where the other player loses as much. Views of the caller's arrays.
EvaluationView to_view(nb::handle logits, const Rows<const float>& values,
                       const std::optional<Rows<const float>>& rewards = std::nullopt);
// A batch of leaves as Python holds it, until their evaluation is given back.
struct BoundBatch {
  int leaves = 0;
  int rows = 0;  // of the leaves that are not in the cache
  std::vector<int> counts;  // rows of every search
  std::function<void(const EvaluationView&)> absorb;  // empty once it was called
  nb::object owner;                                   // what the leaves belong to
  int share = -1;                                     // of a pool: which share of its games
};
// What was found for a batch. Raises EvaluatorError if there are too few rows, ValueError if it was absorbed before.
EvaluationView checked_view(const BoundBatch& batch, nb::handle logits, const Rows<const float>& values,
                            const std::optional<Rows<const float>>& rewards);
nb::dict to_python(const Report& report);
std::unique_ptr<AnySearch> make_python_search(const nb::object& state, Settings settings);

}  // namespace ramify
