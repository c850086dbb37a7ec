// Nash equilibria of a matrix game of two players.
//
// Constant-sum games are solved as zero-sum ones, where the optimal strategies of each player form a polytope and any
// two of them are an equilibrium. In other games the extreme equilibria are pairs of vertices of the two best-response
// polytopes. docs/methods/equilibria.md derives both and says what is chosen where there are many.
#pragma once

#include <array>
#include <limits>
#include <vector>

#include "search/entropy.hpp"
#include "search/zero_sum.hpp"

namespace ramify {

// A matrix game: row-major payoffs [n0, n1] of each player, finite. No second table: the second player gets minus the
// first's.
struct MatrixGame {
  const double* first;
  const double* second;
  int n0, n1;
};

// Every extreme strategy that is part of an extreme equilibrium, and which of them go together: pairs of indices.
struct Extremes {
  Strategies x, y;
  std::vector<std::array<int, 2>> pairs;
};

inline constexpr double kRounding = 16;  // units in the last place by which sums and means may be wrong

// Which payoffs count as equal. Differences up to `tie` of a player's span of payoffs do; so do differences up to
// `rounding` of its largest payoff, for payoffs that are known in few digits. Sums that vary by no more than that
// rounding are constant.
struct Precision {
  double tie = kTie;
  double rounding = kRounding * std::numeric_limits<double>::epsilon();
};

enum class Choose {
  kCentroid,  // the mean of each player's extreme strategies, where that is an equilibrium
  kEntropy,   // the most even equilibrium
  kAny,       // an extreme one; the quickest
};

struct Equilibrium {
  std::vector<double> x, y;
  std::array<double, 2> value{};
  double gap = 0.0;  // nash_conv of x and y
  bool constant_sum = false;
  bool unique = false;
  bool constant = false;  // all payoffs of each player are equal: there is nothing to choose
  Extremes extremes;  // empty unless asked for
};

// What the players could gain together if each alone deviated to a best reply: 0 in an equilibrium.
double nash_conv(const MatrixGame& game, const double* x, const double* y);

// Whether the players' payoffs sum to a constant, up to `rounding` of the largest payoff.
bool is_constant_sum(const MatrixGame& game, double rounding);

// The most outcomes a player may have where extreme equilibria have to be listed.
inline constexpr int kMaxListed = 32;

// One equilibrium, and all extreme ones if `all`. They are listed for `all`, in games that are not constant-sum, and
// where several strategies are optimal unless choose is kAny; InvalidInput where they are too many (kMaxListed,
// kMaxRays).
Equilibrium solve_matrix(const MatrixGame& game, Choose choose, bool all = false, const Precision& precision = {});

}  // namespace ramify
