// Named parameters with defaults and ranges, each stated once: the call that reads a parameter also documents it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/value.hpp"

namespace ramify {

struct ParamInfo {
  std::string name;
  Value fallback;
  std::string help;
};

// The nearest of `options` to `word` by edit distance, or "" when none is close.
std::string nearest(std::string_view word, const std::vector<std::string>& options);

class Params {
 public:
  // `owner` names whose parameters these are in error messages: "game 'hex'".
  Params(std::string owner, Value::Dict given);

  std::int64_t integer(const char* name, std::int64_t fallback, std::int64_t low, std::int64_t high, const char* help);
  double real(const char* name, double fallback, double low, double high, const char* help);
  bool flag(const char* name, bool fallback, const char* help);
  std::string choice(const char* name, const char* fallback, std::initializer_list<const char*> options,
                     const char* help);
  // Any value, checked by the caller.
  Value any(const char* name, Value fallback, const char* help);

  // Raises InvalidInput for parameters nobody asked for; call it last.
  void finish() const;

  // A list of what has been read, and the values in force (given or default).
  const std::vector<ParamInfo>& infos() const { return infos_; }
  const Value::Dict& values() const { return values_; }

  [[noreturn]] void fail(const std::string& name, const Value& got, const std::string& wanted) const;

 private:
  const Value* find(const char* name);
  void note(const char* name, Value fallback, const char* help, Value value);

  std::string owner_;
  Value::Dict given_;
  std::vector<ParamInfo> infos_;
  Value::Dict values_;
};

}  // namespace ramify
