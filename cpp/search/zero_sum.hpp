// Matrix games in which what one player wins the other loses: value and one pair of optimal strategies.
//
// The simplex method on a condensed tableau, after a look for a saddle point. docs/methods/equilibria.md derives it.
#pragma once

namespace ramify {

// Payoffs that differ by less than this part of their span count as equal, unless a caller knows better.
inline constexpr double kTie = 1e-11;

struct ZeroSum {
  double value = 0.0;   // what the row player gets
  double gap = 0.0;     // what the two could gain by deviating, together: the proof of optimality, 0 up to rounding
  bool unique = false;  // whether no other pair of strategies is optimal
};

// `payoffs` [n0, n1], row-major and finite, to the row player, who maximises. x [n0] and y [n1] receive a pair of
// optimal strategies. Allocates nothing up to 32 x 32.
ZeroSum solve_zero_sum(const double* payoffs, int n0, int n1, double* x, double* y, double tolerance = kTie);

// The same for a caller who needs the value; x and y may be null.
double zero_sum_value(const double* payoffs, int n0, int n1, double* x = nullptr, double* y = nullptr);

}  // namespace ramify
