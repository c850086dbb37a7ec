// Four numbers at a time, with the vector types that GCC and Clang share: the same results on every machine, since the
// order of every operation is written down, and no intrinsics of one processor.
#pragma once

#include <cstdint>
#include <cstring>
#include <utility>

namespace ramify {

using Float4 = float __attribute__((vector_size(16)));
using Int4 = std::int32_t __attribute__((vector_size(16)));
using Uint4 = std::uint32_t __attribute__((vector_size(16)));
using Float2 = float __attribute__((vector_size(8)));
using Int2 = std::int32_t __attribute__((vector_size(8)));
using Uint2 = std::uint32_t __attribute__((vector_size(8)));
using Double2 = double __attribute__((vector_size(16)));

// As many numbers as the vector has, from any address.
template <class Vector, class T>
inline Vector lanes(const T* from) {
  static_assert(sizeof(T) == sizeof(std::declval<Vector>()[0]));
  Vector vector;
  std::memcpy(&vector, from, sizeof vector);
  return vector;
}

inline Float4 all(float x) { return Float4{x, x, x, x}; }
inline Int4 max4(Int4 a, Int4 b) { return a > b ? a : b; }
inline std::int32_t top(Int4 a) {
  const std::int32_t low = a[0] > a[1] ? a[0] : a[1], high = a[2] > a[3] ? a[2] : a[3];
  return low > high ? low : high;
}
inline bool any(Int4 mask) {
  std::uint64_t halves[2];
  std::memcpy(halves, &mask, sizeof halves);
  return (halves[0] | halves[1]) != 0;
}

}  // namespace ramify
