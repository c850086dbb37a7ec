// The most even strategy among many that are equally good.
#pragma once

#include <vector>

namespace ramify {

using Strategies = std::vector<std::vector<double>>;

// Mean of the strategies given.
std::vector<double> centroid(const Strategies& strategies);

// Where -sum x log x is greatest in the convex hull of `vertices`, which is the part of their affine hull where all
// x >= 0 and row · x >= 0 for every row of `constraints`. Newton's method with a barrier, within 1e-12 of the maximum.
std::vector<double> maximum_entropy(const Strategies& vertices, const Strategies& constraints);

}  // namespace ramify
