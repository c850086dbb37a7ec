// Leaves whose evaluations are in a cache. Part of search/search.hpp, which includes it.
//
// Such a leaf keeps its place in the batch and is absorbed with it, but has no row. So a search finds the same, bit for
// bit, with a cache and without, whatever the cache holds; docs/decisions/0042-evaluation-cache.md says why.
#pragma once

#include "search/search.hpp"

namespace ramify {

template <class D>
void Search<D>::use_cache(std::shared_ptr<EvaluationCache> cache) {
  if (D::kLatent) throw InvalidInput("a cache needs the rules of a game: states of a latent model have no keys");
  cache_ = std::move(cache);
}

template <class D>
int Search<D>::rows(int batch) const {
  const auto b = static_cast<std::size_t>(batch);
  std::size_t total = 0;
  for (const auto& worker : workers_) total += b < worker->batches.size() ? worker->batches[b].rows() : 0;
  return static_cast<int>(total);
}

// Fills the priors of a leaf that is in the cache. Never the root's, which are needed unrounded (see RootPriors).
template <class D>
void Search<D>::look_up(Leaf& leaf) const {
  leaf.cached = false;
  leaf.generation = 0;
  if constexpr (!D::kLatent) {
    if (!cache_) return;
    leaf.key = dynamics_.key(leaf.cursor);
    leaf.generation = cache_->generation();
    if (leaf.node == root_) return;
    const Node& node = graph_.node(leaf.node);
    leaf.cached = cache_->find(leaf.key, node, graph_.words(node, 0), leaf.values, leaf.weight);
  }
}

// Stores what an evaluation has made of a leaf, before noise, proofs or visits change the node.
template <class D>
void Search<D>::remember(Worker& worker, const Leaf& leaf, const float (&values)[2], float weight) {
  if (!cache_) return;
  worker.stats.cache_misses += leaf.node != root_;
  if (restricted(leaf.node, 0) || restricted(leaf.node, 1)) return;  // the priors of some actions alone
  const Node& node = graph_.node(leaf.node);
  cache_->store(leaf.key, leaf.generation, node, graph_.words(node, 0), values, weight);
}

template <class D>
void Search<D>::absorb_cached(Worker& worker, const Leaf& leaf) {
  ++worker.stats.cache_hits;
  set_weight(leaf.node, leaf.weight);
  float values[2] = {leaf.values[0], leaf.values[1]};
  mix_rollout(leaf, values);
  finish_leaf(worker, leaf.cursor, leaf.node, values, leaf.path);
}

}  // namespace ramify
