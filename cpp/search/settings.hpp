// Everything a search can be told. Python's SearchConfig is the public face and the only place with defaults and ranges.
#pragma once

#include <cstdint>

namespace ramify {

enum class ParentVisits : std::uint8_t { kNode, kEdges };
enum class FirstPlay : std::uint8_t { kZero, kParent, kReduction };
enum class OpponentWeights : std::uint8_t { kConditional, kPrior, kVisits, kBlended };
enum class Normalize : std::uint8_t { kNone, kMinMax, kRemaining };

struct Settings {
  double c_puct = 1.0;
  double c_base = 0.0;  // 0: the factor does not grow with the visits
  double discount = 1.0;
  double fpu_offset = 0.1;
  ParentVisits parent_visits = ParentVisits::kNode;
  FirstPlay fpu = FirstPlay::kZero;
  OpponentWeights opponent_weights = OpponentWeights::kConditional;
  Normalize normalize = Normalize::kNone;
  bool graph = false;
  bool canonical = false;      // share nodes between symmetric positions as well
  bool short_circuit = false;  // do not descend into a shared child that is already searched deeper than this edge
  double noise_alpha = 0.3;
  double noise_fraction = 0.0;
  double max_in_flight = 0.25;  // leaves awaiting evaluation, as a share of the root's visits
  std::uint32_t max_nodes = 0;
  int threads = 1;
};

}  // namespace ramify
