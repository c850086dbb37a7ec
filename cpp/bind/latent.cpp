// Learned models as Python describes them.
#include "bind/latent.hpp"

#include <nanobind/stl/string.h>

#include "base/error.hpp"
#include "bind/modules.hpp"
#include "bind/python_rules.hpp"

namespace ramify {
namespace {

ActingOrder to_order(const std::string& order) {
  if (order == "alternating") return ActingOrder::kAlternating;
  if (order == "single") return ActingOrder::kSingle;
  if (order == "both") return ActingOrder::kBoth;
  throw InvalidInput("a latent model's attribute acting must be 'alternating', 'single' or 'both', not '" + order + "'");
}

class PythonGame final : public RealGame {
 public:
  explicit PythonGame(const nb::object& state) : rules_(state.attr("game")), cursor_(state) {}
  Acting acting() const override { return rules_.acting(cursor_); }
  std::vector<Action> legal(int player) const override {
    std::vector<Action> actions(static_cast<std::size_t>(rules_.num_actions()));
    actions.resize(static_cast<std::size_t>(rules_.actions(cursor_, player, actions.data())));
    return actions;
  }
  Rewards apply(Joint joint) override { return rules_.play(cursor_, joint); }
  void observe(int player, float* out) const override { rules_.observe(cursor_, player, out); }
  std::size_t observation_size() const override { return rules_.observation_size(); }
  Key key() const override { return rules_.key(cursor_); }
  bool needs_python() const override { return true; }

 private:
  PythonRules rules_;
  PythonCursor cursor_;
};

}  // namespace

LatentModel to_latent_model(int num_actions, const std::string& order, nb::handle slots) {
  return {num_actions, to_order(order), slots.is_none() ? BoundSlots{}.slots : nb::cast<const BoundSlots&>(slots).slots};
}

LatentModel to_latent_model(const nb::dict& model) {
  return to_latent_model(field<int>(model, "num_actions"), field<std::string>(model, "acting"), model["slots"]);
}

std::unique_ptr<RealGame> real_python_game(const nb::object& state) { return std::make_unique<PythonGame>(state); }

void bind_latent(nb::module_& m) {
  nb::class_<BoundSlots>(m, "Slots", "Rows of the array in which a model keeps latent states, shared by many searches.")
      .def(nb::init<>())
      .def_prop_ro("capacity", [](const BoundSlots& s) { return s.slots->capacity(); },
                   "Rows that the array needs: every slot in any batch so far is below it.")
      .def_prop_ro("held", [](const BoundSlots& s) { return s.slots->held(); }, "Slots that searches hold now.");
}

}  // namespace ramify
