// Alpha-beta as Python calls it: one call for one position, of whatever game.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include "base/error.hpp"
#include "bind/exclusive.hpp"
#include "bind/modules.hpp"
#include "bind/python_rules.hpp"
#include "bind/register.hpp"
#include "bind/search.hpp"
#include "bind/signals.hpp"
#include "search/alphabeta_search.hpp"

namespace ramify {
namespace {

using namespace nb::literals;

AlphaBetaSettings to_alphabeta(const nb::dict& d) {
  AlphaBetaSettings s;
  s.depth = std::min(field<int>(d, "depth"), kMostDepth);
  s.nodes = d["nodes"].is_none() ? 0 : field<std::int64_t>(d, "nodes");
  s.seconds = d["seconds"].is_none() ? 0.0 : field<double>(d, "seconds");
  s.table = field<std::int64_t>(d, "table");
  s.width = d["width"].is_none() ? 0 : field<int>(d, "width");
  s.quiescence = field<bool>(d, "quiescence");
  s.ties = field<bool>(d, "ties");
  return s;
}

AlphaBetaResult run_python(const nb::object& state, const AlphaBetaSettings& settings, Watcher& watcher) {
  const nb::object game = state.attr("game");
  if (nb::cast<bool>(nb::bool_(nb::getattr(game, "chance", nb::bool_(false)))))
    throw InvalidInput("alpha-beta cannot search a game with chance inside apply(): it would see future chance events; define chance_outcomes()");
  const PythonDynamics dynamics(PythonRules(game, read_stakes(game, false)));
  return AlphaBeta<PythonDynamics>(dynamics, settings, watcher).run(PythonCursor(state.attr("copy")()));
}

// Ends a search on Ctrl-C, or when a Python function says so.
class AskingWatcher final : public Watcher {
 public:
  explicit AskingWatcher(const nb::object& ask) : ask_(ask) {}
  bool stop() override {
    if (signals_.stop()) return true;
    if (ask_.is_none()) return false;
    const GilAcquire acquire;
    stopped = nb::cast<bool>(nb::bool_(ask_()));
    return stopped;
  }
  bool forgives() override { return signals_.forgives(); }

  bool stopped = false;  // by the function

 private:
  SignalWatcher signals_;
  const nb::object& ask_;
};

nb::dict alphabeta(const nb::object& state, const nb::dict& given, const nb::object& stop) {
  const AlphaBetaSettings settings = to_alphabeta(given);
  AskingWatcher watcher(stop);
  AlphaBetaResult found;
  if (const AnyState* native = nullptr; nb::try_cast(state, native)) {
    const auto& run = alphabeta_registry().at(native->game()->name());
    const ReadingState reading(*native);
    const GilRelease release;
    found = run(*native, settings, watcher);
  } else {
    const PythonSection section;
    found = run_python(state, settings, watcher);
  }
  if (watcher.stopped) found.interrupted = false;
  if (found.interrupted && found.depth == 0) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw nb::python_error();
  }
  nb::dict d;
  d["action"] = found.action;
  d["ties"] = nb::tuple(nb::cast(found.ties));
  d["line"] = nb::tuple(nb::cast(found.line));
  d["value"] = found.value;
  d["plies"] = found.plies;
  d["depth"] = found.depth;
  d["nodes"] = found.nodes;
  d["solved"] = found.solved;
  d["interrupted"] = found.interrupted;
  d["stopped"] = watcher.stopped;
  return d;
}

}  // namespace

void bind_alphabeta(nb::module_& m) {
  m.attr("MOST_DEPTH") = kMostDepth;
  m.def("alphabeta", &alphabeta, "state"_a, "settings"_a, "stop"_a = nb::none(),
        "Run an alpha-beta search; use ramify.alphabeta() instead.",
        nb::sig("def alphabeta(state: Any, settings: dict[str, Any], stop: Callable[[], bool] | None = None) -> "
                "dict[str, Any]"));
}

}  // namespace ramify
