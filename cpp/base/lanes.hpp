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
template <class Vector>
inline Vector max4(Vector a, Vector b) {
  return a > b ? a : b;
}
// The largest of four, and the bits of all four: by exchanging halves, then neighbours, without a jump that would be
// guessed wrong half of the time.
template <class Vector>
inline auto top(Vector a) {
  a = max4(a, Vector{a[2], a[3], a[0], a[1]});
  return max4(a, Vector{a[1], a[0], a[3], a[2]})[0];
}
inline std::uint32_t joined(Uint4 a) {
  a |= Uint4{a[2], a[3], a[0], a[1]};
  return (a | Uint4{a[1], a[0], a[3], a[2]})[0];
}

}  // namespace ramify
