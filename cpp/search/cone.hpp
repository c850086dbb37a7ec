// Extreme rays of a cone that is cut by one half-space after another: the double description method.
//
// Degenerate cones, in which more half-spaces meet in a ray than have to, need no special care: which rays are
// neighbours is read from the sets of half-spaces they touch. New rays are positive combinations of old ones, so
// rounding does not build up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace ramify {

// More are refused: more rays at once, or more looks at a ray to find neighbours (some tenths of a second).
inline constexpr int kMaxRays = 20000;
inline constexpr std::int64_t kMaxLooks = 500'000'000;

class Cone {
 public:
  using Touched = std::uint64_t;  // one bit per half-space that has one

  // The first `weighed` coordinates of a ray sum to 1 (rays for which they are all 0 stay as they are).
  Cone(int size, int weighed) : size_(size), weighed_(weighed) {}

  void add(std::span<const double> ray, Touched touched);

  // Keeps the part where normal · ray >= 0, or = 0. Rays within `tolerance` of the plane count as on it. `bit` is the
  // half-space's own; planes need none.
  void cut_half(std::span<const double> normal, int bit, double tolerance) {
    cut(normal, Touched{1} << bit, tolerance);
  }
  void cut_plane(std::span<const double> normal, double tolerance);

  int count() const { return static_cast<int>(touched_.size()); }
  std::span<const double> ray(int k) const { return {rays_.data() + k * size_, static_cast<std::size_t>(size_)}; }
  Touched touched(int k) const { return touched_[k]; }

 private:
  void cut(std::span<const double> normal, Touched bit, double tolerance);
  bool neighbours(int a, int b);
  void join(int inner, int outer, double inner_slack, double outer_slack, Touched bit, Cone& next) const;

  int size_, weighed_, planes_ = 0;
  std::int64_t looks_ = 0;
  std::vector<double> rays_;
  std::vector<Touched> touched_;
};

}  // namespace ramify
