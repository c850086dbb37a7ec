#include "search/equilibria.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "base/error.hpp"
#include "search/cone.hpp"

namespace ramify {
namespace {

using Vector = std::vector<double>;

// A payoff table that one player reads by rows and the other by columns.
struct Table {
  Vector entries;
  int rows, columns;
  double span = 0.0;       // of the payoffs before they were scaled
  double tolerance = 0.0;  // entries closer than this count as equal

  double operator()(int i, int j) const { return entries[i * columns + j]; }
  Table transposed(double sign) const {
    Table turned{Vector(entries.size()), columns, rows, span, tolerance};
    for (int i = 0; i < rows; ++i)
      for (int j = 0; j < columns; ++j)
        turned.entries[j * rows + i] = sign * (*this)(i, j);
    return turned;
  }
};

double second_payoff(const MatrixGame& game, int k) { return game.second ? game.second[k] : -game.first[k]; }

// Payoffs moved and scaled to a span of 1; which strategies are best replies does not change. Where the span is small
// beside the payoffs, their rounding is large beside the span.
Table unit_table(Vector payoffs, const MatrixGame& game, const Precision& precision) {
  const auto [low, high] = std::minmax_element(payoffs.begin(), payoffs.end());
  const double least = *low, span = *high - least, largest = std::max(std::abs(least), std::abs(*high));
  for (double& payoff : payoffs) payoff = span > 0.0 ? (payoff - least) / span : 0.0;
  const double rounding = span > 0.0 ? precision.rounding * largest / span : 0.0;
  return {std::move(payoffs), game.n0, game.n1, span, std::max(precision.tie, rounding)};
}

Table player_table(const MatrixGame& game, int player, const Precision& precision) {
  Vector payoffs(game.first, game.first + game.n0 * game.n1);
  if (player == 1)
    for (std::size_t k = 0; k < payoffs.size(); ++k) payoffs[k] = second_payoff(game, static_cast<int>(k));
  return unit_table(std::move(payoffs), game, precision);
}

// The zero-sum game with the same equilibria as a constant-sum one: half the difference of the payoffs.
Table zero_sum_table(const MatrixGame& game, const Precision& precision) {
  Vector payoffs(game.first, game.first + game.n0 * game.n1);
  if (game.second)
    for (std::size_t k = 0; k < payoffs.size(); ++k) payoffs[k] = 0.5 * (payoffs[k] - game.second[k]);
  return unit_table(std::move(payoffs), game, precision);
}

// Nothing that either player does changes what anyone gets.
bool is_constant(const Table& table) { return table.span == 0.0 || table.tolerance >= 1.0; }

void check_listed(int n0, int n1) {
  if (n0 > kMaxListed || n1 > kMaxListed)
    throw InvalidInput("extreme equilibria can be listed for at most " + std::to_string(kMaxListed) +
                       " outcomes per player, not " + std::to_string(n0) + " x " + std::to_string(n1) +
                       "; leave out outcomes, or in a constant-sum game choose \"any\"");
}

// The optimal strategies of the row player of a zero-sum game of span 1: their extreme points, and the inequalities
// that bound them, as rows of `constraints` with row · x >= 0.
struct Face {
  Strategies vertices, constraints;
};

// From one optimal pair: outcomes that are no best reply to y are never played; replies that y plays hold every
// optimal x to the value. What is left is a small cone.
Face optimal_face(const Table& table, const Vector& x, const Vector& y, double value) {
  std::vector<int> played;
  for (int i = 0; i < table.rows; ++i) {
    double earned = 0.0;
    for (int j = 0; j < table.columns; ++j) earned += table(i, j) * y[j];
    if (earned >= value - table.tolerance) played.push_back(i);
  }
  const int size = static_cast<int>(played.size());
  Cone cone(size, size);
  for (int k = 0; k < size; ++k) {
    Vector unit(played.size(), 0.0);
    unit[k] = 1.0;
    cone.add(unit, ((Cone::Touched{1} << size) - 1) & ~(Cone::Touched{1} << k));
  }
  Face face;
  int bit = size;
  for (const bool planes : {true, false})
    for (int j = 0; j < table.columns; ++j) {
      if ((y[j] > kTie) != planes) continue;
      Vector normal, row(table.rows);
      for (const int i : played) normal.push_back(table(i, j) - value);
      if (planes) {
        cone.cut_plane(normal, table.tolerance);
        continue;
      }
      cone.cut_half(normal, bit++, table.tolerance);
      for (int i = 0; i < table.rows; ++i) row[i] = table(i, j) - value;
      face.constraints.push_back(std::move(row));
    }
  for (int k = 0; k < cone.count(); ++k) {
    Vector& vertex = face.vertices.emplace_back(table.rows, 0.0);
    for (int p = 0; p < size; ++p)
      vertex[played[p]] = cone.ray(k)[p];
  }
  if (face.vertices.empty()) face.vertices.push_back(x);  // all cut away by rounding: what the simplex found remains
  return face;
}

Extremes all_pairs(Strategies x, Strategies y) {
  Extremes result{std::move(x), std::move(y), {}};
  for (int i = 0; i < static_cast<int>(result.x.size()); ++i)
    for (int j = 0; j < static_cast<int>(result.y.size()); ++j) result.pairs.push_back({i, j});
  return result;
}

// The best-response polytope of the row player, up to scale: x and a value that no reply of the other player exceeds.
// `replies`[i, j] is what the other player gets. Touches say which x are 0 and which replies reach the value.
Cone best_responses(const Table& replies, int first_zero, int first_reply) {
  const int n = replies.rows;
  Cone cone(n + 1, n);
  Cone::Touched zeros = 0;
  for (int i = 0; i < n; ++i) zeros |= Cone::Touched{1} << (first_zero + i);
  Vector ray(n + 1, 0.0);
  ray.back() = 1.0;
  cone.add(ray, zeros);  // no strategy at all: the other end of the edges that go to infinity
  for (int i = 0; i < n; ++i) {
    std::fill(ray.begin(), ray.end(), 0.0);
    ray[i] = 1.0;
    ray.back() = replies(i, 0);
    cone.add(ray, (zeros & ~(Cone::Touched{1} << (first_zero + i))) | Cone::Touched{1} << first_reply);
  }
  for (int j = 1; j < replies.columns; ++j) {
    Vector normal;
    for (int i = 0; i < n; ++i) normal.push_back(-replies(i, j));
    normal.push_back(1.0);
    cone.cut_half(normal, first_reply + j, replies.tolerance);
  }
  return cone;
}

bool is_strategy(const Cone& cone, int k, int size) {
  const auto ray = cone.ray(k);
  return std::any_of(ray.begin(), ray.begin() + size, [](double p) { return p > 0.0; });
}

int index_of(Strategies& list, std::span<const double> ray, int size, std::vector<int>& place, int k) {
  int& index = place[k];
  if (index < 0) {
    index = static_cast<int>(list.size());
    list.emplace_back(ray.begin(), ray.begin() + size);
  }
  return index;
}

// Pairs in which every outcome is either not played or a best reply.
// Tables hold what each player gets, [n0, n1].
Extremes bimatrix_extremes(const Table& own, const Table& other) {
  const int n0 = own.rows, n1 = own.columns;
  check_listed(n0, n1);
  const Cone first = best_responses(other, 0, n0);
  const Cone second = best_responses(own.transposed(1.0), n0, 0);
  const Cone::Touched all = n0 + n1 == 64 ? ~Cone::Touched{0} : (Cone::Touched{1} << (n0 + n1)) - 1;
  Extremes result;
  std::vector<int> places[2] = {std::vector<int>(first.count(), -1),
                                std::vector<int>(second.count(), -1)};
  for (int a = 0; a < first.count(); ++a) {
    if (!is_strategy(first, a, n0)) continue;
    for (int b = 0; b < second.count(); ++b)
      if ((first.touched(a) | second.touched(b)) == all && is_strategy(second, b, n1))
        result.pairs.push_back({index_of(result.x, first.ray(a), n0, places[0], a),
                                index_of(result.y, second.ray(b), n1, places[1], b)});
  }
  return result;
}

double expected(const MatrixGame& game, int player, const Vector& x, const Vector& y) {
  double sum = 0.0;
  for (int i = 0; i < game.n0; ++i)
    for (int j = 0; j < game.n1; ++j) {
      const int k = i * game.n1 + j;
      sum += x[i] * y[j] *
             (player == 0 ? game.first[k] : second_payoff(game, k));
    }
  return sum;
}

double entropy(const Vector& x) {
  double sum = 0.0;
  for (const double p : x) sum -= p > 0.0 ? p * std::log(p) : 0.0;
  return sum;
}

void settle(const MatrixGame& game, Equilibrium& found) {
  found.value = {expected(game, 0, found.x, found.y), expected(game, 1, found.x, found.y)};
  found.gap = nash_conv(game, found.x.data(), found.y.data());
}

void solve_constant_sum(const MatrixGame& game, Choose choose, bool all, const Precision& precision,
                        Equilibrium& found) {
  const Table table = zero_sum_table(game, precision);
  found.x.resize(game.n0);
  found.y.resize(game.n1);
  const ZeroSum solved =
      solve_zero_sum(table.entries.data(), game.n0, game.n1, found.x.data(), found.y.data(), table.tolerance);
  found.unique = solved.unique;
  found.constant = is_constant(table);
  if (solved.unique || (!all && choose == Choose::kAny)) {
    if (all) found.extremes = all_pairs({found.x}, {found.y});
    return settle(game, found);
  }
  check_listed(game.n0, game.n1);
  const Face rows = optimal_face(table, found.x, found.y, solved.value);
  const Face columns = optimal_face(table.transposed(-1.0), found.y, found.x, -solved.value);
  found.unique = rows.vertices.size() == 1 && columns.vertices.size() == 1;
  if (choose == Choose::kEntropy) {
    found.x = maximum_entropy(rows.vertices, rows.constraints);
    found.y = maximum_entropy(columns.vertices, columns.constraints);
    settle(game, found);
  }
  // Where payoffs differ by a billion times, the way to maximum entropy can lose what the vertices keep: the centroid.
  if (choose == Choose::kCentroid || found.gap > 4.0 * table.tolerance * table.span) {
    found.x = centroid(rows.vertices);
    found.y = centroid(columns.vertices);
  }
  if (all) found.extremes = all_pairs(rows.vertices, columns.vertices);
  settle(game, found);
}

// What is better: the larger sum of payoffs, then the larger of the smaller payoffs, then the more even strategies; or
// evenness alone. Differences of rounding are none.
bool better(const Equilibrium& a, const Equilibrium& b, Choose choose, double rounding) {
  const auto rank = [&](const Equilibrium& e) {
    const double even = entropy(e.x) + entropy(e.y);
    const double sum = e.value[0] + e.value[1], least = std::min(e.value[0], e.value[1]);
    return choose == Choose::kEntropy ? std::array{even, sum, least} : std::array{sum, least, even};
  };
  const auto mine = rank(a), other = rank(b);
  for (std::size_t k = 0; k < mine.size(); ++k)
    if (std::abs(mine[k] - other[k]) > rounding) return mine[k] > other[k];
  return false;
}

void solve_general(const MatrixGame& game, Choose choose, bool all, const Precision& precision, Equilibrium& found) {
  const Table own = player_table(game, 0, precision), other = player_table(game, 1, precision);
  Extremes extremes = bimatrix_extremes(own, other);
  if (extremes.pairs.empty()) throw InvalidInput("no equilibrium was found within the tolerance: give a larger tolerance");
  const double slack = own.span * own.tolerance + other.span * other.tolerance;
  if (choose != Choose::kAny) {
    Equilibrium mean;
    mean.x = centroid(extremes.x);
    mean.y = centroid(extremes.y);
    settle(game, mean);
    if (mean.gap <= 2.0 * slack) found = std::move(mean);
  }
  if (found.x.empty() || choose == Choose::kEntropy)
    for (const auto& [i, j] : extremes.pairs) {
      Equilibrium next;
      next.x = extremes.x[i];
      next.y = extremes.y[j];
      settle(game, next);
      if (found.x.empty() || better(next, found, choose, 100.0 * slack)) found = std::move(next);
    }
  found.unique = extremes.pairs.size() == 1;
  found.constant = is_constant(own) && is_constant(other);
  if (all) found.extremes = std::move(extremes);
}

}  // namespace

double nash_conv(const MatrixGame& game, const double* x, const double* y) {
  double best[2] = {-HUGE_VAL, -HUGE_VAL}, now[2] = {0.0, 0.0};
  for (int i = 0; i < game.n0; ++i) {
    double earned = 0.0;
    for (int j = 0; j < game.n1; ++j) earned += game.first[i * game.n1 + j] * y[j];
    best[0] = std::max(best[0], earned);
    now[0] += x[i] * earned;
  }
  for (int j = 0; j < game.n1; ++j) {
    double earned = 0.0;
    for (int i = 0; i < game.n0; ++i) earned += second_payoff(game, i * game.n1 + j) * x[i];
    best[1] = std::max(best[1], earned);
    now[1] += y[j] * earned;
  }
  return std::max(best[0] - now[0], 0.0) + std::max(best[1] - now[1], 0.0);
}

bool is_constant_sum(const MatrixGame& game, double rounding) {
  if (!game.second) return true;
  double low = HUGE_VAL, high = -HUGE_VAL, largest = 0.0;
  for (int k = 0; k < game.n0 * game.n1; ++k) {
    const double sum = game.first[k] + game.second[k];
    low = std::min(low, sum);
    high = std::max(high, sum);
    largest = std::max({largest, std::abs(game.first[k]), std::abs(game.second[k])});
  }
  return high - low <= rounding * largest;
}

Equilibrium solve_matrix(const MatrixGame& game, Choose choose, bool all, const Precision& precision) {
  Equilibrium found;
  const bool constant_sum = is_constant_sum(game, precision.rounding);
  (constant_sum ? solve_constant_sum : solve_general)(game, choose, all, precision, found);
  found.constant_sum = constant_sum;
  return found;
}

}  // namespace ramify
