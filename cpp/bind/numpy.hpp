// New numpy arrays, written in place. nanobind's own arrays reach numpy through the buffer protocol and numpy.asarray,
// which costs several times what the calls that return them do. This asks numpy's table of C functions instead, by the
// two places in it that have been the same in every version since 1.0, so that no header of numpy is needed to build.
#pragma once

#include <nanobind/nanobind.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <iterator>
#include <span>
#include <type_traits>

namespace ramify {

namespace nb = nanobind;

// Looks numpy up; the module calls it once while it loads.
void load_numpy();

enum class Element : int { kBool = 0, kInt32 = 5, kFloat32 = 11, kFloat64 = 12 };  // numpy's own numbers of bool, int, float and double

nb::object new_array(Element element, std::span<const Py_ssize_t> shape);
void* array_data(nb::handle array);

// An array of that shape, not yet filled: `data()` is where to.
template <class T>
class NewArray {
  static_assert(std::is_same_v<T, std::int32_t> || std::is_same_v<T, float> || std::is_same_v<T, double> ||
                (std::is_same_v<T, bool> && sizeof(bool) == 1));
  static constexpr Element kElement = std::is_same_v<T, float>    ? Element::kFloat32
                                      : std::is_same_v<T, double> ? Element::kFloat64
                                      : std::is_same_v<T, bool>   ? Element::kBool
                                                                  : Element::kInt32;

 public:
  explicit NewArray(std::span<const Py_ssize_t> shape) : array_(new_array(kElement, shape)) {}
  explicit NewArray(std::size_t size) : NewArray(std::array{static_cast<Py_ssize_t>(size)}) {}
  T* data() { return static_cast<T*>(array_data(array_)); }
  nb::object take() { return std::move(array_); }

 private:
  nb::object array_;
};

// A new array with a copy of these elements.
template <class T, class Range>
nb::object copied(const Range& elements) {
  NewArray<T> array(std::size(elements));
  std::copy(std::begin(elements), std::end(elements), array.data());
  return array.take();
}

}  // namespace ramify
