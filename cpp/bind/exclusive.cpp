// Guards against a second thread.
#include "bind/exclusive.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <vector>

#include "bind/modules.hpp"

namespace ramify {
namespace {

namespace nb = nanobind;
using namespace nb::literals;

// Few at a time, and mostly none: a list costs `apply` one comparison.
std::vector<const AnyState*>& states_read() {
  static std::vector<const AnyState*> states;
  return states;
}

}  // namespace

ReadingState::ReadingState(const AnyState& state) : state_(&state) { states_read().push_back(&state); }

ReadingState::~ReadingState() {
  auto& states = states_read();
  states.erase(std::find(states.begin(), states.end(), state_));
}

void check_not_read(const AnyState& state) {
  const auto& states = states_read();
  if (states.empty() || std::find(states.begin(), states.end(), &state) == states.end()) return;
  throw std::runtime_error(
      "this state is being read by another thread (perft or search) and cannot be changed: give each thread a copy");
}

void bind_exclusive(nb::module_& m) {
  nb::class_<Exclusive>(m, "Exclusive",
                        "Context manager for one caller at a time; others get a RuntimeError with the text `busy`.")
      .def(nb::init<std::string>(), "busy"_a)
      .def("__enter__", &Exclusive::enter)
      .def("__exit__", [](Exclusive& e, const nb::args&) { e.leave(); },
           nb::sig("def __exit__(self, *error: Any) -> None"));
}

}  // namespace ramify
