// The extension module ramify._core.
#include <nanobind/nanobind.h>

#include "base/error.hpp"
#include "bind/build.hpp"
#include "bind/interpreter.hpp"
#include "bind/modules.hpp"
#include "bind/numpy.hpp"
#include "bind/register.hpp"

NB_MODULE(_core, m) {
  // States and games in global variables outlive the module when the interpreter ends: that is no leak worth a warning.
  nanobind::set_leak_warnings(false);
  m.doc() = "The compiled core of ramify: games and search.";
  m.def("build_info", &ramify::build_info,
        "Return the compiler, architecture and sanitizer with which this module was built.",
        nanobind::sig("def build_info() -> dict[str, str]"));
  nanobind::exception<ramify::InvalidInput>(m, "InvalidInput", PyExc_ValueError).attr("__doc__") =
      "Parameters, positions or payoffs that cannot be used; the message says what would be right.";
  nanobind::exception<ramify::IllegalAction>(m, "IllegalAction", PyExc_ValueError).attr("__doc__") =
      "An action that cannot be played here; the message names it and the position, and nothing has changed.";
  nanobind::exception<ramify::EvaluatorError>(m, "EvaluatorError", PyExc_RuntimeError).attr("__doc__") =
      "An evaluator returned what cannot be used; the message names the row, and the search is as it was.";
  ramify::watch_interpreter();
  ramify::load_numpy();
  ramify::register_all_games();
  ramify::bind_exclusive(m);
  ramify::bind_games(m);
  ramify::bind_cache(m);
  ramify::bind_latent(m);
  ramify::bind_search(m);
  ramify::bind_alphabeta(m);
  ramify::bind_pool(m);
  ramify::bind_policies(m);
  ramify::bind_equilibria(m);
  ramify::bind_game_graph(m);
}
