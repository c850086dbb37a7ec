// Equilibria of matrix games as Python asks for them. Shapes are checked by ramify.engine.equilibria.
#include "search/equilibria.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <string>

#include "base/error.hpp"
#include "bind/convert.hpp"
#include "bind/modules.hpp"

namespace ramify {
namespace {

using namespace nb::literals;
using Tables = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Row = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

MatrixGame to_game(const Tables& payoffs) {
  const auto n0 = static_cast<int>(payoffs.shape(1)), n1 = static_cast<int>(payoffs.shape(2));
  const bool both = payoffs.shape(0) == 2;
  return {payoffs.data(), both ? payoffs.data() + payoffs.shape(1) * payoffs.shape(2) : nullptr, n0, n1};
}

Choose to_choose(const std::string& name) {
  if (name == "centroid") return Choose::kCentroid;
  if (name == "entropy") return Choose::kEntropy;
  if (name == "any") return Choose::kAny;
  throw InvalidInput("choose must be 'centroid', 'entropy' or 'any', not '" + name + "'");
}

nb::object strategies_array(const Strategies& strategies, int size) {
  std::vector<double> flat;
  for (const auto& strategy : strategies) flat.insert(flat.end(), strategy.begin(), strategy.end());
  return nb::cast(to_array(flat, {strategies.size(), static_cast<std::size_t>(size)}));
}

nb::tuple solve(const Tables& payoffs, const std::string& choose, bool all, double tie, double rounding) {
  const MatrixGame game = to_game(payoffs);
  const Equilibrium found = solve_matrix(game, to_choose(choose), all, {tie, rounding});
  nb::object listed = nb::none();
  if (all) {
    std::vector<std::int32_t> pairs;
    for (const auto& pair : found.extremes.pairs) pairs.insert(pairs.end(), pair.begin(), pair.end());
    listed = nb::make_tuple(strategies_array(found.extremes.x, game.n0), strategies_array(found.extremes.y, game.n1),
                            to_array(pairs, {found.extremes.pairs.size(), 2}));
  }
  return nb::make_tuple(to_array(found.x), to_array(found.y),
                        to_array(std::vector<double>(found.value.begin(), found.value.end())), found.gap,
                        found.constant_sum, found.unique, found.constant, listed);
}

nb::ndarray<nb::numpy, double> values(const Tables& payoffs) {
  const auto n0 = static_cast<int>(payoffs.shape(1)), n1 = static_cast<int>(payoffs.shape(2));
  std::vector<double> found(payoffs.shape(0));
  const double* table = payoffs.data();
  for (double& value : found) {
    value = zero_sum_value(table, n0, n1);
    table += n0 * n1;
  }
  return to_array(found);
}

double repeat(const Tables& payoffs, const std::string& choose) {
  const auto n0 = static_cast<int>(payoffs.shape(1)), n1 = static_cast<int>(payoffs.shape(2));
  const Choose chosen = to_choose(choose);
  double sum = 0.0;
  for (std::size_t k = 0; k < payoffs.shape(0); ++k)
    sum += solve_matrix({payoffs.data() + k * payoffs.shape(1) * payoffs.shape(2), nullptr, n0, n1}, chosen).value[0];
  return sum;
}

}  // namespace

void bind_equilibria(nb::module_& m) {
  m.attr("matrix_tie") = kTie;
  m.attr("matrix_rounding") = kRounding;
  m.def("solve_matrix", &solve, "payoffs"_a, "choose"_a, "all"_a, "tie"_a, "rounding"_a,
        "Compute a Nash equilibrium of a matrix game; use ramify.equilibria.solve() instead.\n\n"
        "`payoffs` has shape [1, n0, n1] (zero-sum) or [2, n0, n1]. Returns a tuple (x, y, value, nash_conv,\n"
        "constant_sum, unique, constant, extremes); with `all`, extremes is (extreme x, extreme y, pairs), else None.",
        nb::sig("def solve_matrix(payoffs: NDArray[numpy.float64], choose: str, all: bool, tie: float, "
                "rounding: float) -> tuple[Any, ...]"));
  m.def("zero_sum_values", &values, "payoffs"_a,
        "Return the values of zero-sum games with payoffs of shape [games, n0, n1].", nb::rv_policy::move,
        nb::sig("def zero_sum_values(payoffs: NDArray[numpy.float64]) -> NDArray[numpy.float64]"));
  m.def("solve_matrices", &repeat, "payoffs"_a, "choose"_a,
        "Solve zero-sum games, payoffs [games, n0, n1], and return the sum of their values. For benchmarks.",
        nb::sig("def solve_matrices(payoffs: NDArray[numpy.float64], choose: str) -> float"));
  m.def("nash_conv", [](const Tables& payoffs, const Row& x, const Row& y) {
          return nash_conv(to_game(payoffs), x.data(), y.data());
        }, "payoffs"_a, "x"_a, "y"_a,
        "Return the sum of what each player could gain by deviating from the strategies x and y.\n\n"
        "`payoffs` has shape [1, n0, n1] (zero-sum) or [2, n0, n1].",
        nb::sig("def nash_conv(payoffs: NDArray[numpy.float64], x: NDArray[numpy.float64], "
                "y: NDArray[numpy.float64]) -> float"));
}

}  // namespace ramify
