#include "base/value.hpp"

#include <cstdio>

namespace ramify {
namespace {

constexpr std::size_t kLongest = 60;  // characters of a value that an error message repeats

std::string join(const Value::List& items) {
  std::string out = "[";
  for (const Value& item : items) {
    if (out.size() > 1) out += ", ";
    if (out.size() > kLongest) return out + "...]";
    out += describe(item);
  }
  return out + "]";
}

}  // namespace

bool Value::operator==(const Value& other) const { return data == other.data; }

std::string describe(const Value& value) {
  struct Visitor {
    std::string operator()(std::monostate) const { return "None"; }
    std::string operator()(bool x) const { return x ? "True" : "False"; }
    std::string operator()(std::int64_t x) const { return std::to_string(x); }
    std::string operator()(double x) const {
      char text[32];
      std::snprintf(text, sizeof text, "%g", x);
      return text;
    }
    std::string operator()(const std::string& x) const {
      return "'" + (x.size() > kLongest ? x.substr(0, kLongest) + "..." : x) + "'";
    }
    std::string operator()(const Value::List& x) const { return join(x); }
    std::string operator()(const Value::Dict&) const { return "{...}"; }
  };
  return std::visit(Visitor{}, value.data);
}

}  // namespace ramify
