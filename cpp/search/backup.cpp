#include "search/backup.hpp"

#include <bit>

#include "base/lanes.hpp"
#include "search/chance.hpp"
#include "search/wide.hpp"

namespace ramify {

void update_value(const Graph& graph, Node& node, const Edges& edges) {
  if (node.tallied) {
    const Marginals seen = graph.marginals(node);
    if (seen.head->changed) seen.settle(edges);
    const auto total = static_cast<double>(1 + std::uint64_t{seen.head->counted});
    for (int p = 0; p < 2; ++p)
      store(node.value[p], static_cast<float>((static_cast<double>(node.evaluation[p]) + seen.head->sum[p]) / total));
    return;
  }
  if (use_wide) return update_value_wide(node, edges.child, edge_capacity(node.opened));
  const std::uint32_t opened = node.opened;
  // Two edges at a time; two running sums for each player, so that the additions of one do not wait for the other.
  Double2 sums[2][2] = {{{node.evaluation[0], 0.0}, {}}, {{node.evaluation[1], 0.0}, {}}};
  Uint2 counts{};
  std::uint32_t e = 0;
  const auto add_two = [&](std::uint32_t at, int half) {
    const Uint2 counted = lanes<Uint2>(edges.visits + at) & ((lanes<Uint2>(edges.child + at) >> 31) - 1u);  // pending: none
    counts += counted;
    const Double2 weights = __builtin_convertvector(std::bit_cast<Int2>(counted), Double2);
    for (int p = 0; p < 2; ++p)
      sums[p][half] += weights * __builtin_convertvector(lanes<Float2>(edges.q[p] + at), Double2);
  };
  for (; e + 4 <= opened; e += 4) {
    add_two(e, 0);
    add_two(e + 2, 1);
  }
  if (e + 2 <= opened) {
    add_two(e, 0);
    e += 2;
  }
  std::uint64_t total = 1 + std::uint64_t{counts[0]} + counts[1];
  if (e < opened && !(edges.child[e] & kPending)) {
    total += edges.visits[e];
    for (int p = 0; p < 2; ++p)
      sums[p][1][0] += static_cast<double>(static_cast<std::int32_t>(edges.visits[e])) * static_cast<double>(edges.q[p][e]);
  }
  for (int p = 0; p < 2; ++p) {
    const Double2 sum = sums[p][0] + sums[p][1];
    store(node.value[p], static_cast<float>((sum[0] + sum[1]) / static_cast<double>(total)));
  }
}

void update_chance(const Graph& graph, const Settings& settings, Node& node, const Edges& edges) {
  double total = 0.0, sums[2] = {0.0, 0.0};
  for_weights(settings, graph.chance(node), edges, [&](std::uint32_t edge, double weight) {
    total += weight;
    for (int p = 0; p < 2; ++p) sums[p] += weight * static_cast<double>(edges.q[p][edge]);
  });
  if (total == 0.0) return;
  for (int p = 0; p < 2; ++p) store(node.value[p], static_cast<float>(sums[p] / total));
  if (load(node.status) == Status::kUnvalued) store(node.status, Status::kReady);
}

void update_weights(const Graph& graph, Node& node, const Edges& edges, bool valued) {
  Weights& weights = graph.weights(node);
  const auto own = static_cast<double>(weights.own);
  double visits = 1.0, total = own;
  double sums[2] = {own * static_cast<double>(node.evaluation[0]), own * static_cast<double>(node.evaluation[1])};
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    if (edges.child[e] & kPending) continue;
    const double weight = edges.visits[e] * static_cast<double>(load(graph.weights(graph.node(child_of(edges, e))).mean));
    visits += edges.visits[e];
    total += weight;
    for (int p = 0; p < 2; ++p) sums[p] += weight * static_cast<double>(edges.q[p][e]);
  }
  store(weights.mean, static_cast<float>(total / visits));
  for (int p = 0; valued && p < 2; ++p) store(node.value[p], static_cast<float>(sums[p] / total));
}

}  // namespace ramify
