#include "search/record.hpp"

#include <bit>

#include "search/node.hpp"

namespace ramify {

static_assert(std::endian::native == std::endian::little, "records are little-endian");

void GameRecord::add_move(Acting acting, Joint joint, std::uint8_t flags, const Report* found) {
  ++moves_;
  put(static_cast<std::uint8_t>(acting | flags | (found ? kRecorded : 0)));
  for (int p = 0; p < 2; ++p)
    if (acts(acting, p)) put(static_cast<std::uint16_t>(joint[p]));
  if (found) put_search(*found);
}

// Outcomes with their priors (in the engine's 16 bits), then the edges that were visited, then average strategies.
void GameRecord::put_search(const Report& found) {
  for (const float value : found.value) put(value);
  for (const float value : found.evaluation) put(value);
  for (int p = 0; p < 2; ++p) {
    put(static_cast<std::uint16_t>(found.actions[p].size()));
    if (!acts(found.acting, p)) continue;
    for (const Action action : found.actions[p]) put(static_cast<std::uint16_t>(action));
    for (const float prior : found.priors[p]) put(static_cast<std::uint16_t>(encode_prior(prior)));
    for (const float score : found.scores[p]) put(score);
  }
  std::uint32_t visited = 0;
  for (const std::int64_t visits : found.edge_visits) visited += visits > 0;
  put(visited);
  for (std::uint32_t e = 0; e < found.edge_visits.size(); ++e)
    if (found.edge_visits[e]) put(e);
  for (const std::int64_t visits : found.edge_visits)
    if (visits) put(static_cast<std::uint32_t>(visits));
  for (int p = 0; p < 2; ++p)
    for (std::size_t e = 0; e < found.edge_visits.size(); ++e)
      if (found.edge_visits[e]) put(found.payoffs[p][e]);
  put(static_cast<std::uint8_t>(!found.average[0].empty()));
  for (int p = 0; p < 2; ++p)
    for (const float probability : found.average[p]) put(probability);
}

std::string GameRecord::finish(const Rewards& returns, std::uint16_t flags) const {
  GameRecord head;
  head.put(game_);
  head.put(seed_);
  head.put(returns[0]);
  head.put(returns[1]);
  head.put(flags);
  head.put(moves_);
  return head.body_ + body_;
}

}  // namespace ramify
