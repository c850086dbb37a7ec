// Everything a search can be told. Python's SearchConfig is the public face and the only place with defaults and ranges.
#pragma once

#include <cstdint>

namespace ramify {

enum class ParentVisits : std::uint8_t { kNode, kEdges };
enum class FirstPlay : std::uint8_t { kZero, kParent, kReduction };
enum class OpponentWeights : std::uint8_t { kConditional, kPrior, kVisits, kBlended };
enum class Selection : std::uint8_t { kPuct, kGumbel, kRegret, kExp3 };
enum class Noise : std::uint8_t { kDirichlet, kShaped };
enum class ForcedForm : std::uint8_t { kSqrt, kLinear };
enum class ForcedBy : std::uint8_t { kPlayer, kPair };
enum class Normalize : std::uint8_t { kNone, kMinMax, kRemaining };

struct Settings {
  double c_puct = 1.0;
  double c_base = 0.0;  // 0: the factor does not grow with the visits
  double discount = 1.0;
  double error_scale = 0.0;  // an evaluation with expected error e counts as scale / (scale + e); 0: all count the same
  double fpu_offset = 0.1;
  ParentVisits parent_visits = ParentVisits::kNode;
  FirstPlay fpu = FirstPlay::kZero;
  OpponentWeights opponent_weights = OpponentWeights::kConditional;
  Normalize normalize = Normalize::kNone;
  Selection selection = Selection::kPuct;
  bool solver = false;
  bool graph = false;
  bool canonical = false;      // share nodes between symmetric positions as well
  bool short_circuit = false;  // do not descend into a shared child that is already searched deeper than this edge
  double root_temperature = 1.0;
  Noise noise = Noise::kDirichlet;
  double noise_alpha = 0.3;
  double noise_fraction = 0.0;
  double forced_playouts = 0.0;  // k of forced playouts; 0: none
  ForcedForm forced_form = ForcedForm::kSqrt;  // owed are sqrt(k * prior * visits), or k * prior * sqrt(visits)
  ForcedBy forced_by = ForcedBy::kPlayer;      // where both choose: to each player's outcomes, or to their pairs
  int gumbel_considered = 16;
  double gumbel_scale = 1.0;  // 0: no Gumbel noise, for play without chance
  double gumbel_visit = 50.0;
  double gumbel_value = 0.1;
  bool gumbel_rescale = true;  // values of a node to [0, 1] before they are weighed
  double exp3_exploration = 0.1;
  double chance_widening = 0.0;  // k of progressive widening at chance events; 0: none. See chance.hpp
  double chance_exponent = 0.5;
  std::uint32_t chance_explicit = 64;  // events with no more outcomes do not widen
  double rollout_share = 0.0;  // of a game played on from a leaf, in the value that an evaluator gives it
  bool rollout_plans = false;  // instead of that game, what the game's planner expects
  double max_in_flight = 0.25;  // leaves awaiting evaluation, as a share of the root's visits
  std::uint32_t max_nodes = 0;
  int threads = 1;
  int bundle = 0;  // the most descents that a thread makes together with an evaluator of the core; 0: 1, with threads many
};

}  // namespace ramify
