// Between Python objects and the core's plain data.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <string>

#include "base/value.hpp"
#include "games/rules.hpp"

namespace ramify {

namespace nb = nanobind;

// A Python value as error messages show it: its repr, shortened.
std::string shown(nb::handle object);
// A text for the core, whose messages end at a NUL: raises InvalidInput where one is inside, or no Unicode.
std::string to_text(nb::handle text);
Value to_value(nb::handle object);
Value::Dict to_dict(nb::handle mapping);
nb::object to_python(const Value& value);
nb::object to_python(const Value::Dict& value);

// A new numpy array that owns a copy of `data`.
template <class T>
nb::ndarray<nb::numpy, T> to_array(const std::vector<T>& data, const std::vector<std::size_t>& shape) {
  T* copy = new T[data.size() + 1];
  std::copy(data.begin(), data.end(), copy);
  nb::capsule owner(copy, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return nb::ndarray<nb::numpy, T>(copy, shape.size(), shape.data(), owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_array(const std::vector<T>& data) {
  return to_array(data, {data.size()});
}

}  // namespace ramify
