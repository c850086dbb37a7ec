// A plain tree of data (null, bool, integer, real, text, list, dictionary): how parameters and explicit positions cross
// the border between Python and the core without the core knowing Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace ramify {

struct Value {
  using List = std::vector<Value>;
  using Dict = std::vector<std::pair<std::string, Value>>;  // keeps the order it was written in
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Dict> data;

  Value() = default;
  Value(bool x) : data(x) {}
  Value(int x) : data(static_cast<std::int64_t>(x)) {}
  Value(std::int64_t x) : data(x) {}
  Value(double x) : data(x) {}
  Value(const char* x) : data(std::string(x)) {}
  Value(std::string x) : data(std::move(x)) {}
  Value(List x) : data(std::move(x)) {}
  Value(Dict x) : data(std::move(x)) {}

  bool is_null() const { return data.index() == 0; }
  bool operator==(const Value& other) const;  // the same type and the same value throughout
};

// What a value looks like to a person, for error messages: 3, 'abc', [1, 2], {...}.
std::string describe(const Value& value);

}  // namespace ramify
