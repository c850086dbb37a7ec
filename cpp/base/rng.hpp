// Random numbers as a pure function of (seed, stream, counter): results never depend on who else drew in between.
#pragma once

#include <cstdint>

#include "base/hash.hpp"

namespace ramify {

class Rng {
 public:
  explicit Rng(std::uint64_t seed, std::uint64_t stream = 0) : base_(combine(mix(seed), stream)) {}

  std::uint64_t next() { return mix(base_ + ++counter_ * 0x9e3779b97f4a7c15ULL); }

  // Uniform in [0, 1), 53 random bits.
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

  // Uniform in 0 .. bound-1 without modulo bias (Lemire's method on 32 bits); bound > 0.
  std::uint32_t below(std::uint32_t bound) {
    std::uint64_t product = (next() >> 32) * bound;
    if (auto low = static_cast<std::uint32_t>(product); low < bound) {
      const std::uint32_t threshold = (0u - bound) % bound;
      while (low < threshold) {
        product = (next() >> 32) * bound;
        low = static_cast<std::uint32_t>(product);
      }
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::uint64_t base_;
  std::uint64_t counter_ = 0;
};

}  // namespace ramify
