// Proofs: bounds on what perfect play brings, carried from finished games up to the root.
//
// Where one player chooses, its value is bounded by the best of its edges; where both do, by the values of the matrix
// games of lower and of upper bounds. docs/methods/solver.md derives both, for games that are not zero-sum too.
#pragma once

#include "search/graph.hpp"
#include "search/select.hpp"
#include "search/settings.hpp"

namespace ramify {

// Bounds that are no bounds at first: what the rules say is at stake; and, below the root, what players can secure.
void begin_proof(Proof& proof, const Stakes& stakes, double discount, bool at_root);

inline bool is_proven(const Proof& proof) {
  return load(proof.low[0]) == load(proof.high[0]) && load(proof.low[1]) == load(proof.high[1]);
}

// Tightens the node's bounds by what is proven of its children; whether anything changed.
bool update_proof(const Graph& graph, const Settings& settings, const Node& node, bool zero_sum);

// A value inside its bounds.
inline float clip(const Proof& proof, int player, float value) {
  const float low = load(proof.low[player]), high = load(proof.high[player]);
  return value < low ? low : value > high ? high : value;
}

// Bounds of an edge's value for a player, and whether it is proven for both; an edge without a child is bounded by what
// is at stake at its node.
struct EdgeProof {
  float low[2];
  float high[2];
  bool proven = false;
  std::uint32_t plies = 0;
};
EdgeProof edge_proof(const Graph& graph, const Settings& settings, const Node& node, const Edges& edges,
                     std::uint32_t edge);

// Replaces a pick that nobody should make: of an edge known to be worse than another or as bad as can be. Below the root,
// and where both choose, also of an edge about which nothing is left to learn: what it is worth, the node's bounds know.
// At the root visits are the policy, and a proven edge may deserve them.
Pick avoid_refuted(const Graph& graph, const Settings& settings, const Node& node, const Ranges& ranges, Pick pick,
                   bool at_root);

}  // namespace ramify
