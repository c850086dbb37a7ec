#include "search/graph.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <limits>
#include <type_traits>

#include "base/lanes.hpp"

namespace ramify {

Graph::Graph(bool shared, std::uint32_t max_nodes, int threads, Extras extras)
    : shared_(shared), locked_(threads > 1), extras_(extras), max_nodes_(max_nodes ? max_nodes : std::numeric_limits<std::uint32_t>::max()) {
  for (int i = 0; i < threads; ++i) allocators_.emplace_back(arena_, threads > 1);
  reserves_.resize(allocators_.size());
  clear();
}

void Graph::stop_growing(const std::bad_alloc& error) {
  out_of_ = dynamic_cast<const ArenaFull*>(&error) ? Full::kAddresses : Full::kMemory;
  limit_ = 0;
}

void Graph::grow_again() {
  out_of_ = Full::kNo;
  limit_ = max_nodes_;
}

void Graph::clear() {
  grow_again();
  table_.clear();
  arena_.clear();
  for (Allocator& allocator : allocators_) allocator.reset();
  set_count(0);
  terminal_ = create(0, 0);
  node(terminal_).status = Status::kTerminal;
  if (extras_.weights) weights(node(terminal_)) = {1.0f, 1.0f};  // a result has no error
  set_count(0);  // the terminal node is nobody's position
}

void Graph::set_count(std::uint32_t count) {
  reserved_ = count;
  std::fill(reserves_.begin(), reserves_.end(), Reserve{});
}

std::uint32_t Graph::count() const {
  std::uint32_t count = reserved_.load(std::memory_order_relaxed);
  for (const Reserve& reserve : reserves_) count -= reserve.left;
  return count;
}

// Leave to make one more node. Threads take it for many at a time, so that they seldom meet here, but for no more than a small
// part of what is left: a thread that the system does not run keeps what it has taken.
bool Graph::reserve(int thread) {
  constexpr std::uint32_t kMany = 512;
  std::uint32_t& left = reserves_[static_cast<std::size_t>(thread)].left;
  if (left == 0) {
    const auto threads = static_cast<std::uint32_t>(reserves_.size());
    const std::uint32_t limit = limit_.load(std::memory_order_relaxed);
    std::uint32_t made = reserved_.load(std::memory_order_relaxed), more;
    do {
      if (made >= limit) return false;
      more = locked_ ? std::clamp((limit - made) / (64 * threads), 1u, kMany) : 1;
    } while (!reserved_.compare_exchange_weak(made, made + more, std::memory_order_relaxed));
    left = more;
  }
  --left;
  return true;
}

std::size_t Graph::bytes() const {
  std::int64_t total = 0;
  for (const Allocator& allocator : allocators_) total += allocator.bytes();
  return static_cast<std::size_t>(total) + (shared_ ? table_.bytes() : 0);
}

NodeId Graph::create(int thread, Key key) {
  if (!reserve(thread)) return 0;
  NodeId id;
  try {
    id = allocator(thread).allocate_even(node_words());
  } catch (const std::bad_alloc&) {
    ++reserves_[static_cast<std::size_t>(thread)].left;  // not made
    throw;
  }
  Node* fresh = new (arena_.at<Node>(id)) Node{};
  fresh->key = key;
  if (extras_.proofs) new (&proof(*fresh)) Proof{};
  if (extras_.strategies) new (&mixing(*fresh)) Mixing{};
  if (extras_.weights) new (&weights(*fresh)) Weights{};
  if (extras_.parents) new (&parents(*fresh)) Parents{};
  return id;
}

void Graph::give_words(int thread, Node& node) { store(node.words, allocator(thread).allocate(block_words(node))); }

// Moves the words of a node to where there is room for its marginals, and sums these.
void Graph::keep_marginals(int thread, Node& node) {
  const std::uint32_t size = word_count(node);
  const Offset block = allocator(thread).allocate(Marginals::words(node));
  std::memcpy(arena_.at<std::uint32_t>(block), arena_.at<std::uint32_t>(node.words), size * 4);
  allocator(thread).release(node.words, size);
  store(node.words, block);
  node.tallied = true;
  fill_marginals(node);
}

void Graph::fill_marginals(const Node& node) const {
  const Marginals sums = marginals(node);
  const Edges edges = this->edges(node);
  std::fill_n(sums.edge, sums.outcomes[0] * sums.outcomes[1], Marginals::kNoEdge);
  for (std::uint32_t e = 0; e < node.opened; ++e) sums.edge_of(edges.pair[e]) = static_cast<std::uint8_t>(e);
  sums.sum_up(edges);
}

Offset Graph::chain(int thread, NodeId parent, Offset next) {
  const Offset link = allocator(thread).allocate(sizeof(ParentLink) / 4);
  *arena_.at<ParentLink>(link) = {parent, next};
  return link;
}

void Graph::add_parent(int thread, const Node& child, NodeId parent) {
  proof(child).parents = chain(thread, parent, proof(child).parents);
}

// Notes the parents of all these nodes anew, which lead to nobody else. What each has not looked at is not known any more.
void Graph::note_parents(const std::vector<NodeId>& all) {
  const bool proofs = extras_.proofs && shared_;
  if (!extras_.parents && !proofs) return;
  for (const NodeId id : all) {
    release_chains(allocators_[0], node(id));
    if (extras_.parents) parents(node(id)) = {};
    if (proofs) proof(node(id)).parents = 0;
  }
  for (const NodeId id : all) {
    Node& parent = node(id);
    parent.stale = true;
    if (!parent.opened) continue;
    const Edges edges = this->edges(parent);
    for (std::uint32_t e = 0; e < parent.opened; ++e) {
      const NodeId child = child_of(edges, e);
      if (!child || child == terminal_) continue;
      if (extras_.parents) note_parent(0, node(child), id);
      if (proofs) add_parent(0, node(child), id);
    }
  }
}

// The chains of parents of a node.
void Graph::release_chains(Allocator& allocator, const Node& node) const {
  const auto release = [&](Offset at) {
    while (at) {
      const Offset next = arena_.at<ParentLink>(at)->next;
      allocator.release(at, sizeof(ParentLink) / 4);
      at = next;
    }
  };
  if (extras_.parents) release(parents(node).more);
  if (extras_.proofs) release(proof(node).parents);
}

void Graph::give_strategies(int thread, Node& node) {
  const std::uint32_t size = strategy_words(node);
  const Offset block = allocator(thread).allocate(size);
  std::fill_n(arena_.at<float>(block), size, 0.0f);
  mixing(node).block = block;
}

void Graph::settle_all(Node& node) const {
  settle_next(node);
  if (node.joint()) return;
  const std::uint32_t* const all = words(node, node.chooser());
  node.sorted = std::is_sorted(all + node.opened, all + node.outcomes[node.chooser()], std::greater<>());
}

void Graph::settle_next(Node& node) const {
  node.sorted = false;
  if (node.joint()) return;
  const int player = node.chooser();
  std::uint32_t* const all = words(node, player);
  const std::uint32_t n = node.outcomes[player], first = node.opened;
  if (first >= n) return;
  std::uint32_t best = all[first];
  for (std::uint32_t i = first + 1; i < n; ++i) best = std::max(best, all[i]);
  if (best == all[first]) return;
  std::uint32_t place = first;
  while (place + 4 <= n && !joined(std::bit_cast<Uint4>(lanes<Uint4>(all + place) == best))) place += 4;
  while (all[place] != best) ++place;
  std::swap(all[first], all[place]);
}

namespace {

// Copies what is in all blocks. `bytes` of one array; a constant where there are few edges, so that nothing is called.
template <class Bytes>
[[gnu::always_inline]] inline void copy_edges(const Edges& to, const Edges& from, Bytes bytes) {
  std::memcpy(to.child, from.child, bytes);
  std::memcpy(to.visits, from.visits, bytes);
  std::memcpy(to.q[0], from.q[0], bytes);
  std::memcpy(to.q[1], from.q[1], bytes);
}
void copy_edges_of(const Edges& to, const Edges& from, std::uint32_t count) {
  switch (count) {
    case 1: return copy_edges(to, from, std::integral_constant<std::size_t, 4>{});
    case 2: return copy_edges(to, from, std::integral_constant<std::size_t, 8>{});
    case 4: return copy_edges(to, from, std::integral_constant<std::size_t, 16>{});
    case 6: return copy_edges(to, from, std::integral_constant<std::size_t, 24>{});
    default: return copy_edges(to, from, std::size_t{count} * 4);
  }
}

}  // namespace

void Graph::move_block(int thread, Node& node, std::uint32_t capacity, bool rewarded, bool hinted) {
  const bool joint = node.joint();
  const Offset block = allocator(thread).allocate(Edges::words(capacity, rewarded, joint, hinted));
  const Edges to = Edges::of(arena_.at<std::uint32_t>(block), capacity, rewarded, joint, hinted);
  if (node.opened) {
    const Edges from = edges(node);
    copy_edges_of(to, from, node.opened);
    const std::size_t bytes = node.opened * 4;
    for (int p = 0; rewarded && p < 2; ++p) {
      if (node.rewarded) std::memcpy(to.reward[p], from.reward[p], bytes);
      else std::fill(to.reward[p], to.reward[p] + capacity, 0.0f);
    }
    if (joint) std::memcpy(to.pair, from.pair, bytes);
    if (hinted) [[unlikely]] {
      if (node.hinted) std::copy_n(from.hint, node.opened, to.hint);
      else std::fill_n(to.hint, node.opened, Hint{});
    }
    allocator(thread).release(node.edges, edge_words(node));
  }
  store(node.edges, block);
  node.rewarded = rewarded;
  node.hinted = hinted;
}

void Graph::fetch_below(int thread, Node& node, std::uint32_t edge) {
  constexpr std::uint32_t kFew = 48;  // with more, the hint would have to be fetched itself: tried, slower in Hex
  if (node.opened > kFew) return;
  const Edges all = lone_edges(node);
  if (node.hinted) return fetch(all.hint[edge], all.visits[edge]);
  if (child_of(all, edge) == terminal_) return;
  try {
    move_block(thread, node, edge_capacity(node.opened), node.rewarded, true);
  } catch (const std::bad_alloc&) {  // one can do without
  }
}

// Fetches what belongs to a node with so many visits, which has no more edges than that.
void Graph::fetch(const Hint& hint, std::uint32_t visits) const {
  constexpr std::uint32_t kMost = 32;
  if (!hint.edges) return;
  const std::uint32_t edges = std::min(visits, kMost);
  const bool hinted = visits > kMost;  // likely, and hints follow the edges
  fetch_block(hint.words, edges);
  fetch_block(hint.edges, Edges::words(edge_capacity(edges), false, false, hinted));
}

void Graph::fetch_blocks(const Node& node, std::uint32_t visits) const {
  constexpr std::uint32_t kMost = 128;
  const Hint blocks{load(node.words), load(node.edges)};
  if (locked_ || node.opened > kMost) return fetch(blocks, visits);  // other threads may be opening edges: then a guess
  if (!blocks.words) return;
  fetch_block(blocks.words, node.opened + 1);  // and the next one to try
  if (blocks.edges) fetch_block(blocks.edges, edge_words(node));
}

void Graph::note_hint(const Node& node, std::uint32_t edge, const Node& child) const {
  lone_edges(node).hint[edge] = {load(child.words), load(child.edges)};
}

std::uint32_t Graph::add_edge(int thread, Node& node, const float (&q)[2]) {
  const std::uint32_t edge = node.opened;
  const std::uint32_t room = edge_capacity(edge + 1);
  if (room != edge_capacity(edge)) move_block(thread, node, room, node.rewarded, node.hinted);
  node.opened = edge + 1;
  const Edges all = edges(node);
  all.child[edge] = kPending;
  all.visits[edge] = 0;
  for (int p = 0; p < 2; ++p) {
    all.q[p][edge] = q[p];
    if (node.rewarded) all.reward[p][edge] = 0.0f;
  }
  if (node.hinted) [[unlikely]] all.hint[edge] = {};
  return edge;
}

std::uint32_t Graph::open(int thread, Node& node, std::uint32_t pair, const float (&q)[2]) {
  if (node.opened == Marginals::kFew && extras_.marginals && !node.tallied && Marginals::suit(node))
    keep_marginals(thread, node);
  const std::uint32_t edge = add_edge(thread, node, q);
  if (node.joint()) {
    edges(node).pair[edge] = pair;
    if (node.tallied) marginals(node).edge_of(pair) = static_cast<std::uint8_t>(edge);
    return edge;
  }
  if (pair != edge) {
    std::uint32_t* const all = words(node, node.chooser());
    std::swap(all[edge], all[pair]);
  } else if (node.sorted) {
    return edge;
  }
  settle_next(node);
  return edge;
}

void Graph::begin_chance(int thread, Node& node, const ChanceEvent& event) {
  node.acting = kChance;
  node.outcomes[0] = static_cast<std::uint16_t>(event.outcomes.size());
  node.outcomes[1] = 1;
  give_words(thread, node);
  const ChanceWords all = chance(node);
  for (std::uint32_t i = 0; i < all.count; ++i) {
    all.outcome[i] = event.outcomes[i];
    all.probability[i] = static_cast<float>(event.probabilities[i]);
    all.edge[i] = ChanceWords::kNoEdge;
  }
  node.status = Status::kUnvalued;
}

std::uint32_t Graph::open_outcome(int thread, Node& node, std::uint32_t place) {
  constexpr float kNothing[2] = {0.0f, 0.0f};
  const std::uint32_t edge = add_edge(thread, node, kNothing);
  chance(node).edge[place] = edge;
  return edge;
}

void Graph::write_reward(int thread, Node& node, std::uint32_t edge, const Rewards& reward) {
  if (!node.rewarded) move_block(thread, node, edge_capacity(node.opened), true, node.hinted);
  const Edges all = edges(node);
  all.reward[0][edge] = reward[0];
  all.reward[1][edge] = reward[1];
}

void Graph::exchange_players(Node& node) const {
  std::swap(node.value[0], node.value[1]);
  std::swap(node.evaluation[0], node.evaluation[1]);
  std::uint32_t* const all = arena_.at<std::uint32_t>(node.words);
  std::rotate(all, words(node, 1), all + word_count(node));
  if (extras_.strategies && mixing(node).block)
    std::rotate(strategies(node), strategies(node) + 2u * node.outcomes[0], strategies(node) + strategy_words(node));
  if (extras_.proofs)
    for (auto* bounds : {proof(node).low, proof(node).high, proof(node).least, proof(node).most}) std::swap(bounds[0], bounds[1]);
  if (node.opened) {
    const Edges edges = this->edges(node);
    std::swap_ranges(edges.q[0], edges.q[0] + node.opened, edges.q[1]);
    if (node.rewarded) std::swap_ranges(edges.reward[0], edges.reward[0] + node.opened, edges.reward[1]);
    for (std::uint32_t e = 0; e < node.opened; ++e) {
      if (edges.pair) edges.pair[e] = edges.pair[e] << 16 | edges.pair[e] >> 16;
      if (const NodeId child = child_of(edges, e); child && child != terminal_) edges.child[e] ^= kExchanged;
    }
  }
  std::swap(node.outcomes[0], node.outcomes[1]);
  if (node.tallied) fill_marginals(node);
  node.acting = exchanged(node.acting);
}

NodeId Graph::move_node(Graph& old, NodeId id, std::vector<NodeId>& queue) {
  if (id == old.terminal_) return terminal_;
  Node& from = old.node(id);
  if (from.lock) return from.words;  // moved already: the old node's words say where to
  const NodeId copy = create(0, from.key);
  Node& to = node(copy);
  to = from;
  if (from.words) {
    give_words(0, to);
    std::memcpy(arena_.at<std::uint32_t>(to.words), old.arena_.at<std::uint32_t>(from.words), block_words(from) * 4);
  }
  std::memcpy(static_cast<void*>(&to + 1), &from + 1, (node_words() - kNodeWords) * 4);
  if (extras_.proofs) proof(to).parents = 0;
  if (extras_.parents) parents(to) = {};
  if (extras_.strategies && mixing(from).block) {
    give_strategies(0, to);
    std::memcpy(strategies(to), old.strategies(from), strategy_words(from) * 4);
  }
  if (from.opened) {
    const std::uint32_t size = edge_words(from);
    to.edges = allocators_[0].allocate(size);
    std::memcpy(arena_.at<std::uint32_t>(to.edges), old.arena_.at<std::uint32_t>(from.edges), size * 4);
    if (to.hinted) std::fill_n(edges(to).hint, to.opened, Hint{});  // everything lies elsewhere now
    queue.push_back(copy);
  }
  from.lock = 1;
  from.words = copy;
  return copy;
}

// Words of all blocks of a node.
std::uint32_t Graph::size_of(const Node& node) const {
  std::uint32_t size = node_words();
  if (node.words) size += block_words(node);
  if (node.opened) size += edge_words(node);
  if (extras_.strategies && mixing(node).block) size += strategy_words(node);
  return size;
}

// Locks what can be reached from `root` and is not locked, lists it, the root first, and returns its size in words.
std::uint64_t Graph::mark(NodeId root, std::vector<NodeId>& reached) const {
  std::uint64_t size = 0;
  const auto reach = [&](NodeId id) {
    if (id == terminal_ || node(id).lock) return;
    reached.push_back(id);
    node(id).lock = 1;
    size += size_of(node(id));
  };
  reach(root);
  for (std::size_t i = 0; i < reached.size(); ++i) {
    const Node& parent = node(reached[i]);
    if (!parent.opened) continue;
    const Edges all = edges(parent);
    for (std::uint32_t e = 0; e < parent.opened; ++e)
      if (const NodeId child = child_of(all, e)) reach(child);
  }
  return size;
}

void Graph::release_blocks(Allocator& allocator, NodeId id) {
  const Node& old = node(id);
  if (old.words) allocator.release(old.words, block_words(old));
  if (old.opened) allocator.release(old.edges, edge_words(old));
  if (extras_.strategies && mixing(old).block) allocator.release(mixing(old).block, strategy_words(old));
  release_chains(allocator, old);
  allocator.release_even(id, node_words());
}

void Graph::fill_table(const std::vector<NodeId>& all) {
  table_.clear();
  if (!shared_) return;
  for (std::size_t i = 1; i < all.size(); ++i) {  // all but the root
    const NodeId id = all[i];
    table_.find_or_create(node(id).key, locked_, [id] { return id; });
  }
}

NodeId Graph::keep(NodeId old_root, NodeId root) {
  std::vector<NodeId> reached;
  const std::uint64_t size = mark(root, reached);
  // Little beside the memory it lies in: a copy costs little more, and the rest can go.
  if (4 * size <= arena_.taken()) {
    for (const NodeId id : reached) node(id).lock = 0;
    return compact(root);
  }
  std::vector<NodeId> left;
  mark(old_root, left);
  for (std::size_t i = 0; i < left.size(); ++i) release_blocks(allocators_[i % allocators_.size()], left[i]);
  for (const NodeId id : reached) node(id).lock = 0;
  set_count(static_cast<std::uint32_t>(reached.size()));
  grow_again();
  fill_table(reached);
  note_parents(reached);
  return root;
}

NodeId Graph::compact(NodeId root) {
  Graph fresh(shared_, 0, 1, extras_);
  std::vector<NodeId> queue;
  const NodeId new_root = fresh.move_node(*this, root, queue);
  std::vector<NodeId> moved{new_root};
  while (!queue.empty()) {
    const NodeId id = queue.back();
    Node& parent = fresh.node(id);
    queue.pop_back();
    const Edges all = fresh.edges(parent);
    for (std::uint32_t e = 0; e < parent.opened; ++e) {
      const NodeId child = child_of(all, e);
      if (!child) continue;
      const std::uint32_t before = fresh.count();
      all.child[e] = fresh.move_node(*this, child, queue) | (all.child[e] & (kPending | kExchanged));
      if (fresh.count() != before) moved.push_back(child_of(all, e));
    }
  }
  arena_.swap(fresh.arena_);
  for (Allocator& allocator : allocators_) allocator.reset();
  allocators_[0].adopt(fresh.allocators_[0]);
  terminal_ = fresh.terminal_;
  set_count(fresh.count());
  grow_again();
  fill_table(moved);
  note_parents(moved);
  return new_root;
}

}  // namespace ramify
