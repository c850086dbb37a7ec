#include "base/params.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.hpp"

namespace ramify {
namespace {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substituted = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substituted});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(std::string_view word, const std::vector<std::string>& options) {
  std::string best;
  int best_distance = static_cast<int>(word.size()) / 2 + 1;
  for (const std::string& option : options) {
    const int distance = edit_distance(word, option);
    if (distance < best_distance) {
      best_distance = distance;
      best = option;
    }
  }
  return best;
}

Params::Params(std::string owner, Value::Dict given) : owner_(std::move(owner)), given_(std::move(given)) {}

const Value* Params::find(const char* name) {
  for (const auto& [key, value] : given_)
    if (key == name) return &value;
  return nullptr;
}

void Params::note(const char* name, Value fallback, const char* help, Value value) {
  infos_.push_back({name, std::move(fallback), help});
  values_.emplace_back(name, std::move(value));
}

void Params::fail(const std::string& name, const Value& got, const std::string& wanted) const {
  throw InvalidInput(owner_ + ": " + name + " must be " + wanted + ", not " + describe(got));
}

std::int64_t Params::integer(const char* name, std::int64_t fallback, std::int64_t low, std::int64_t high,
                             const char* help) {
  std::int64_t value = fallback;
  if (const Value* given = find(name)) {
    const auto* x = std::get_if<std::int64_t>(&given->data);
    const std::string wanted = "a whole number from " + std::to_string(low) + " to " + std::to_string(high);
    if (const auto* real = std::get_if<double>(&given->data); real && *real == std::floor(*real))
      throw InvalidInput(owner_ + ": " + name + " must be " + wanted + ", not the float " + describe(*given) + ".0");
    if (!x || *x < low || *x > high) fail(name, *given, wanted);
    value = *x;
  }
  note(name, fallback, help, value);
  return value;
}

double Params::real(const char* name, double fallback, double low, double high, const char* help) {
  double value = fallback;
  if (const Value* given = find(name)) {
    if (const auto* whole = std::get_if<std::int64_t>(&given->data))
      value = static_cast<double>(*whole);
    else if (const auto* x = std::get_if<double>(&given->data))
      value = *x;
    else
      value = std::nan("");
    if (!(value >= low && value <= high))
      fail(name, *given, "a number from " + describe(low) + " to " + describe(high));
  }
  note(name, fallback, help, value);
  return value;
}

bool Params::flag(const char* name, bool fallback, const char* help) {
  bool value = fallback;
  if (const Value* given = find(name)) {
    const auto* x = std::get_if<bool>(&given->data);
    if (!x) fail(name, *given, "True or False");
    value = *x;
  }
  note(name, fallback, help, value);
  return value;
}

std::string Params::choice(const char* name, const char* fallback, std::initializer_list<const char*> options,
                           const char* help) {
  std::string value = fallback;
  if (const Value* given = find(name)) {
    const auto* x = std::get_if<std::string>(&given->data);
    if (!x || std::find(options.begin(), options.end(), *x) == options.end()) {
      std::string wanted = "one of";
      for (const char* option : options) wanted += std::string(" '") + option + "'";
      fail(name, *given, wanted);
    }
    value = *x;
  }
  note(name, fallback, help, value);
  return value;
}

Value Params::any(const char* name, Value fallback, const char* help) {
  const Value* given = find(name);
  Value value = given ? *given : fallback;
  note(name, std::move(fallback), help, value);
  return value;
}

void Params::finish() const {
  std::vector<std::string> known;
  for (const ParamInfo& info : infos_) known.push_back(info.name);
  for (const auto& [key, value] : given_) {
    if (std::find(known.begin(), known.end(), key) != known.end()) continue;
    std::string message = owner_ + " has no parameter '" + key + "'";
    if (const std::string close = nearest(key, known); !close.empty()) message += "; did you mean '" + close + "'?";
    if (known.empty()) message += "; it has no parameters";
    else message += " (it has";
    for (std::size_t i = 0; i < known.size(); ++i) message += (i ? ", " : " ") + known[i];
    if (!known.empty()) message += ")";
    throw InvalidInput(message);
  }
}

}  // namespace ramify
