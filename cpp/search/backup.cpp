#include "search/backup.hpp"

namespace ramify {

void update_edge(const Graph& graph, const Settings& s, const Node& node, std::uint32_t edge) {
  const Edges edges = graph.edges(node);
  edges.child[edge] &= ~kPending;
  take_value(edges, edge, graph.node(edges.child[edge]), s.discount);
}

void update_value(const Graph& graph, Node& node) {
  if (!node.opened) return;
  const Edges edges = graph.edges(node);
  const std::uint32_t* child = edges.child;
  const std::uint32_t* visits = edges.visits;
  const float *q0 = edges.q[0], *q1 = edges.q[1];
  // Two running sums each: the additions of one do not wait for the other.
  double sum0[2] = {node.evaluation[0], 0.0}, sum1[2] = {node.evaluation[1], 0.0};
  std::uint64_t total = 1;
  for (std::uint32_t e = 0; e < node.opened; ++e) {
    const std::uint32_t counted = child[e] & kPending ? 0 : visits[e];
    const double weight = static_cast<std::int32_t>(counted);
    total += counted;
    sum0[e & 1] += weight * static_cast<double>(q0[e]);
    sum1[e & 1] += weight * static_cast<double>(q1[e]);
  }
  const double n = static_cast<double>(total);
  store(node.value[0], static_cast<float>((sum0[0] + sum0[1]) / n));
  store(node.value[1], static_cast<float>((sum1[0] + sum1[1]) / n));
}

}  // namespace ramify
