// Caches of evaluations as Python holds them.
#include <nanobind/nanobind.h>

#include "bind/modules.hpp"
#include "bind/search.hpp"
#include "search/cache.hpp"

namespace ramify {

using namespace nb::literals;

void bind_cache(nb::module_& m) {
  nb::class_<BoundCache>(m, "EvaluationCache", "Evaluations by key; ramify.engine.cache keeps it up to date. Thread-safe.")
      .def("__init__", [](BoundCache* place, std::size_t capacity) {
             new (place) BoundCache{std::make_shared<EvaluationCache>(capacity)};
           }, "capacity"_a)
      .def("clear", [](BoundCache& c) { c.cache->clear(); },
           "Forget everything, and what is being evaluated now as soon as it is there.")
      .def("__len__", [](const BoundCache& c) { return c.cache->size(); })
      .def_prop_ro("capacity", [](const BoundCache& c) { return c.cache->capacity(); })
      .def_prop_ro("bytes", [](const BoundCache& c) { return c.cache->bytes(); });
}

}  // namespace ramify
