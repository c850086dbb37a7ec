// The search graph: nodes, their edges, and the table through which equal positions share a node.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "base/arena.hpp"
#include "base/fetch.hpp"
#include "search/marginals.hpp"
#include "search/node.hpp"

namespace ramify {

// Nodes by key, in shards so that threads seldom wait for one another; one thread has one. All calls have the same `locked`.
class Table {
 public:
  explicit Table(const Arena& arena) : arena_(&arena) {}

  // The node of that key, or the one `create` makes (which may return 0 for "no room").
  template <class Create>
  NodeId find_or_create(Key key, bool locked, Create create) {
    Shard& shard = shards_[locked ? key >> (64 - kShardBits) : 0];
    std::unique_lock<std::mutex> guard(shard.mutex, std::defer_lock);
    if (locked) guard.lock();
    if (2 * (shard.count + 1) > shard.slots.size()) grow(shard);
    const std::size_t mask = shard.slots.size() - 1;
    const std::uint32_t tag = tag_of(key);
    std::size_t i = key & mask;
    for (; shard.slots[i]; i = (i + 1) & mask) {
      const NodeId id = shard.slots[i] & ~kTag;
      if ((shard.slots[i] & kTag) == tag && arena_->at<Node>(id)->key == key) return id;
    }
    const NodeId id = create();
    if (id) {
      shard.slots[i] = id | tag;
      ++shard.count;
    }
    return id;
  }

  void clear() {
    for (Shard& shard : shards_) {
      shard.slots.clear();
      shard.slots.shrink_to_fit();
      shard.count = 0;
    }
  }
  std::size_t bytes() const {
    std::size_t slots = 0;
    for (const Shard& shard : shards_) slots += shard.slots.size();
    return slots * sizeof(NodeId);
  }

 private:
  static constexpr int kShardBits = 5;
  // Two bits of a key, in the bits of a slot that a node leaves free: three of four nodes of other keys need no look.
  static constexpr std::uint32_t kTag = kPending | kExchanged;
  static std::uint32_t tag_of(Key key) { return static_cast<std::uint32_t>(key >> 27) & kTag; }
  struct alignas(64) Shard {  // or threads in two shards would write one cache line
    std::mutex mutex;
    std::vector<NodeId> slots;  // with tags; 0: free; a power of two, at most half full
    std::size_t count = 0;
  };

  void grow(Shard& shard) {
    std::vector<NodeId> old(shard.slots.empty() ? 16 : shard.slots.size() * 2, 0);
    old.swap(shard.slots);
    const std::size_t mask = shard.slots.size() - 1;
    constexpr std::size_t kAhead = 16;  // nodes lie anywhere in memory: their keys are fetched before they are needed
    for (std::size_t k = 0; k < old.size(); ++k) {
      if (k + kAhead < old.size() && old[k + kAhead]) __builtin_prefetch(arena_->at<Node>(old[k + kAhead] & ~kTag));
      if (!old[k]) continue;
      std::size_t i = arena_->at<Node>(old[k] & ~kTag)->key & mask;
      while (shard.slots[i]) i = (i + 1) & mask;
      shard.slots[i] = old[k];
    }
  }

  const Arena* arena_;
  std::array<Shard, 1u << kShardBits> shards_;
};

class Graph {
 public:
  // What a node carries beside itself, for the settings that need it.
  struct Extras {
    bool proofs = false;
    bool strategies = false;
    bool weights = false;
    bool marginals = false;
    bool parents = false;
  };
  Graph(bool shared, std::uint32_t max_nodes, int threads, Extras extras);

  const Extras& extras() const { return extras_; }
  Node& node(NodeId id) const { return *arena_.at<Node>(id); }
  void prefetch(NodeId id) const { fetch_object(node(id)); }
  // Nodes with fewer visits than this have to be fetched from memory: the graph is larger than caches are, and many others have
  // been visited since.
  std::uint32_t far_below() const {
    constexpr std::uint32_t kLarge = 1u << 17, kOthers = 1u << 10;
    const std::uint32_t nodes = reserved_.load(std::memory_order_relaxed);
    return nodes >= kLarge ? nodes / kOthers : 0;
  }
  // Where that part of it ends which every descent reads, and to fetch from memory what this part points to.
  const void* hot_end() const { return &table_; }
  void fetch_parts() const {
    arena_.fetch();
    allocators_[0].fetch();
    fetch_object(reserves_[0]);
  }
  // Fetches the words and edges of the child of an edge, where one player acts alone, if there is a hint where they are;
  // otherwise makes room for hints, since a second visit gives the child words and edges.
  void fetch_below(int thread, Node& node, std::uint32_t edge);
  // Fetches the words and edges of a node, visited so often, which is in a cache already.
  void fetch_blocks(const Node& node, std::uint32_t visits) const;
  // Fetches the words and edges of any node that is in a cache already, of a search in one thread.
  void fetch_all(const Node& node) const {
    if (node.words) fetch_block(node.words, std::min(block_words(node), kFetched));
    if (node.edges) fetch_block(node.edges, std::min(edge_words(node), kFetched));
  }
  // The child of an edge has been visited: notes in a node with `hinted` where it keeps its words and edges.
  void note_hint(const Node& node, std::uint32_t edge, const Node& child) const;
  NodeId terminal() const { return terminal_; }  // the one node of every finished game
  [[gnu::always_inline]] std::uint32_t* words(const Node& node, int player) const {
    return arena_.at<std::uint32_t>(node.words) + (player == 1 && acts(node.acting, 0) ? node.outcomes[0] : 0);
  }
  [[gnu::always_inline]] Marginals marginals(const Node& node) const {  // only of a node with `tallied`
    return Marginals::of(arena_.at<std::uint32_t>(node.words), node);
  }
  // Says that the visits or the value of an edge are about to change.
  [[gnu::always_inline]] void note_change(const Node& node, const Edges& edges, std::uint32_t edge) const {
    if (node.tallied) Marginals::note(arena_.at<std::uint32_t>(node.words), node, edges, edge);
  }
  ChanceWords chance(const Node& node) const {  // only where chance decides
    const std::uint32_t n = node.outcomes[0];
    std::uint32_t* const words = arena_.at<std::uint32_t>(node.words);
    return {n, reinterpret_cast<Action*>(words), reinterpret_cast<float*>(words + n), words + 2 * n};
  }
  [[gnu::always_inline]] Edges edges(const Node& node) const {  // called at every turn: a call costs more than the work
    return Edges::of(arena_.at<std::uint32_t>(node.edges), edge_capacity(node.opened), node.rewarded, node.joint(), node.hinted);
  }
  [[gnu::always_inline]] Edges lone_edges(const Node& node) const {  // the same where one player acts alone
    return Edges::of(arena_.at<std::uint32_t>(node.edges), edge_capacity(node.opened), node.rewarded, false, node.hinted);
  }

  // Only with the extras of that name.
  Proof& proof(const Node& node) const { return *extra<Proof>(node, kNodeWords); }
  void add_parent(int thread, const Node& child, NodeId parent);
  template <class Work>
  void for_parents(const Node& child, Work work) const {
    for (Offset at = proof(child).parents; at; at = arena_.at<ParentLink>(at)->next) work(arena_.at<ParentLink>(at)->parent);
  }
  Mixing& mixing(const Node& node) const { return *extra<Mixing>(node, kNodeWords + (extras_.proofs ? kProofWords : 0)); }
  float* strategies(const Node& node) const { return arena_.at<float>(mixing(node).block); }
  Weights& weights(const Node& node) const {
    return *extra<Weights>(node, kNodeWords + (extras_.proofs ? kProofWords : 0) + (extras_.strategies ? kMixingWords : 0));
  }

  Parents& parents(const Node& node) const { return *extra<Parents>(node, node_words() - kParentsWords); }
  void note_parent(int thread, const Node& child, NodeId parent) {
    Parents& all = parents(child);
    if (!all.first) all.first = parent;
    else all.more = chain(thread, parent, all.more);
  }
  // Marks everybody as stale who leads to the node, but for one link of `but`, which has heard of it.
  [[gnu::always_inline]] void make_stale(const Node& child, NodeId but) const {
    const Parents& all = parents(child);
    if (!all.first) return;
    if (all.first != but) node(all.first).stale = true;
    else but = 0;
    for (Offset at = all.more; at; at = arena_.at<ParentLink>(at)->next) {
      const NodeId parent = arena_.at<ParentLink>(at)->parent;
      if (parent != but) node(parent).stale = true;
      else but = 0;
    }
  }

  bool full() const { return reserved_.load(std::memory_order_relaxed) >= limit_.load(std::memory_order_relaxed); }
  Full full_reason() const {
    const Full reason = out_of_.load(std::memory_order_relaxed);
    return reason == Full::kNo && full() ? Full::kNodes : reason;
  }
  // Whether it is full because there was no memory: then a node that is known may lack room for its words.
  bool out_of_memory() const { return out_of_.load(std::memory_order_relaxed) != Full::kNo; }
  // No more nodes: there was no memory for something. Until `grow_again`.
  void stop_growing(const std::bad_alloc& error);
  void grow_again();
  std::uint32_t count() const;  // exact between runs
  std::size_t bytes() const;

  // A node outside the table; 0 when the graph is full.
  NodeId create(int thread, Key key);
  // The node of that key, made if need be (`found` says which); 0 when there is none and the graph is full.
  // A new one is given to `prepare` before anybody else can find it.
  template <class Prepare>
  NodeId share(int thread, Key key, bool& found, Prepare prepare) {
    const auto make = [&] {
      found = false;
      const NodeId id = create(thread, key);
      if (id) prepare(node(id));
      return id;
    };
    found = true;
    return shared_ ? table_.find_or_create(key, locked_, make) : make();
  }
  // Room for the words of a node's outcomes, which the caller fills. Only for a node nobody else can select from yet.
  void give_words(int thread, Node& node);
  // Room for the strategies of a joint node, zeroed.
  void give_strategies(int thread, Node& node);
  // Puts the best word of those not tried into place `opened`, after the words were written.
  void settle_next(Node& node) const;
  // The same, and notes if the others are in order too: nothing has to be looked for then as long as edges are opened in turn.
  void settle_all(Node& node) const;
  // Makes an untried edge a tried one with no visits and no child; returns its index. `pair` are its outcomes where both
  // choose, and the place of its word where one does.
  std::uint32_t open(int thread, Node& node, std::uint32_t pair, const float (&q)[2]);
  // Makes a fresh node a chance event, and one of its outcomes a tried edge, whose index it returns.
  void begin_chance(int thread, Node& node, const ChanceEvent& event);
  std::uint32_t open_outcome(int thread, Node& node, std::uint32_t place);
  void set_reward(int thread, Node& node, std::uint32_t edge, const Rewards& reward) {
    if (node.rewarded || reward[0] != 0.0f || reward[1] != 0.0f) write_reward(thread, node, edge, reward);
  }

  // Lets the players of a node change places, as it is stored: it stands for the same position seen the other way round.
  // No edge may lead to it.
  void exchange_players(Node& node) const;

  void clear();
  // Keeps what can be reached from `root`, a node below `old_root`, which leaves the table and takes its place; returns its
  // new id. A large part of a graph stays where it is, and the room of the rest is used again; a small one is moved to memory
  // of its own.
  NodeId keep(NodeId old_root, NodeId root);

 private:
  // Extras lie behind their node, in the same block.
  template <class T>
  static T* extra(const Node& node, std::uint32_t words) {
    return reinterpret_cast<T*>(const_cast<std::uint32_t*>(reinterpret_cast<const std::uint32_t*>(&node)) + words);
  }
  std::uint32_t node_words() const {
    return kNodeWords + (extras_.proofs ? kProofWords : 0) + (extras_.strategies ? kMixingWords : 0) +
           (extras_.weights ? kWeightsWords : 0) + (extras_.parents ? kParentsWords : 0);
  }
  bool reserve(int thread);
  void set_count(std::uint32_t count);
  static std::uint32_t edge_words(const Node& node) {
    return Edges::words(edge_capacity(node.opened), node.rewarded, node.joint(), node.hinted);
  }
  static std::uint32_t block_words(const Node& node) {
    return node.tallied ? Marginals::words(node) : word_count(node);
  }
  static constexpr std::uint32_t kFetched = 256;  // words of a block, at most
  Allocator& allocator(int thread) { return allocators_[static_cast<std::size_t>(thread)]; }
  void keep_marginals(int thread, Node& node);
  void fill_marginals(const Node& node) const;
  std::uint32_t add_edge(int thread, Node& node, const float (&q)[2]);
  void move_block(int thread, Node& node, std::uint32_t capacity, bool rewarded, bool hinted);
  void fetch(const Hint& hint, std::uint32_t visits) const;
  void fetch_block(Offset block, std::uint32_t words) const { fetch_bytes(arena_.at<char>(block), std::size_t{words} * 4); }
  void write_reward(int thread, Node& node, std::uint32_t edge, const Rewards& reward);
  NodeId move_node(Graph& old, NodeId id, std::vector<NodeId>& queue);
  NodeId compact(NodeId root);
  std::uint32_t size_of(const Node& node) const;
  std::uint64_t mark(NodeId root, std::vector<NodeId>& reached) const;
  void release_blocks(Allocator& allocator, NodeId id);
  void release_chains(Allocator& allocator, const Node& node) const;
  void fill_table(const std::vector<NodeId>& all);
  Offset chain(int thread, NodeId parent, Offset next);
  void note_parents(const std::vector<NodeId>& all);

  bool shared_;
  bool locked_;
  Extras extras_;
  const std::uint32_t max_nodes_;
  Arena arena_;
  struct alignas(64) Reserve {
    std::uint32_t left = 0;  // nodes that a thread may make before it has to ask again
  };
  std::vector<Allocator> allocators_;  // one per thread
  std::vector<Reserve> reserves_;      // likewise
  NodeId terminal_ = 0;
  // Nodes made or reserved. On a line of its own, because every thread writes it, and seldom, because all read it.
  alignas(64) std::atomic<std::uint32_t> reserved_{0};
  std::atomic<std::uint32_t> limit_{0};  // max_nodes_, or 0 once there was no memory
  std::atomic<Full> out_of_{Full::kNo};
  Table table_{arena_};  // the largest part, which trees do not need: see hot_end
};

}  // namespace ramify
