#include "search/marginals.hpp"

#include <algorithm>

namespace ramify {

void Marginals::settle_now(const Edges& edges) const { settle(edges); }

void Marginals::sum_up(const Edges& edges) const {
  head->changed = 0;
  head->counted = 0;
  for (int p = 0; p < 2; ++p) {
    head->sum[p] = 0.0;
    std::fill_n(sum[p], outcomes[p], 0.0);
    std::fill_n(counted[p], outcomes[p], 0u);
    std::fill_n(visits[p], outcomes[p], 0u);
  }
  for (std::uint32_t k = 0; k < outcomes[0] * outcomes[1]; ++k) {
    const std::uint32_t e = edge[k];
    if (e == kNoEdge) continue;
    const std::uint32_t known = known_visits(edges, e);
    head->counted += known;
    for (int p = 0; p < 2; ++p) {
      const std::uint32_t i = p == 0 ? k / outcomes[1] : k % outcomes[1];
      const double part = static_cast<double>(static_cast<std::int32_t>(known)) * static_cast<double>(edges.q[p][e]);
      head->sum[p] += part;
      sum[p][i] += part;
      visits[p][i] += edges.visits[e];
      counted[p][i] += known;
    }
  }
  for (int p = 0; p < 2; ++p)
    for (std::uint32_t i = 0; i < outcomes[p]; ++i) set_value(p, i);
}

}  // namespace ramify
