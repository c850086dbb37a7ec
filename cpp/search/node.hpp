// A node of the search graph and its edges, packed.
//
//   node      a position (or a latent state): its value per player, how often it was visited, who acts
//   words     one 32-bit word per outcome of each acting player: prior (16 bits) above inverted action (16 bits), so
//             that the larger word is the higher prior and, between equal priors, the lower action; an evaluated node may
//             have none yet, see Search::list_late
//   edges     what is known of the edges that were ever tried: child, visits, value and (where any is not 0) reward
//
// An edge that was never tried costs its word, 4 bytes. Where one player chooses (the other has one outcome), the tried
// edges are the first `opened` words of the chooser, and words[opened] is always the best of the rest: the next edge to
// try. Where both choose, words stay in outcome order and each tried edge names its pair of outcomes. Where chance decides,
// the words are three numbers per outcome, in the order of the game: see ChanceWords.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <thread>
#include <utility>

#include "base/arena.hpp"
#include "base/hash.hpp"
#include "base/pause.hpp"
#include "games/rules.hpp"

namespace ramify {

using NodeId = Offset;

enum class Status : std::uint8_t {
  kNew,       // known, not evaluated yet
  kInFlight,  // somebody is evaluating it
  kUnvalued,  // a chance event, of whose outcomes none has a value yet; otherwise as kReady
  kReady,     // evaluated: value, priors and edges may be used
  kTerminal,  // the game is over: worth 0 for everybody
};

// Why a graph does not grow any more.
enum class Full : std::uint8_t {
  kNo,
  kNodes,      // it has max_nodes
  kMemory,     // the system has no more memory to give
  kAddresses,  // offsets of 32 bits reach no further
};

struct Node {
  Key key;  // in the table; of a latent node: its slot
  float value[2];
  float evaluation[2];
  std::uint32_t visits;  // 1 + visits of its edges once evaluated, descents under way included
  Offset words;
  Offset edges;
  std::uint32_t opened;  // edges tried
  std::uint16_t outcomes[2];
  Acting acting;
  Status status;
  std::uint8_t lock;
  bool rewarded : 1;  // the edge block has rewards
  bool touched : 1;   // its value has to be recomputed; see Search::touch
  bool tallied : 1;   // its words are followed by Marginals
  bool stale : 1;     // a child may have changed that it has not looked at; see Graph::make_stale
  bool sorted : 1;    // the words that were not tried are in order, the best first: the next one is where it should be
  bool hinted : 1;    // the edge block has hints

  // Who chooses among several outcomes here; player 0 if nobody does. Only meaningful unless `joint`.
  int chooser() const { return outcomes[0] > 1 || !acts(acting, 1) ? 0 : 1; }
  bool joint() const { return outcomes[0] > 1 && outcomes[1] > 1; }
};
static_assert(sizeof(Node) == 48);
// Words of both players: a passive one has none.
constexpr std::uint32_t word_count(const Node& node) {
  if (node.acting == kChance) return 3u * node.outcomes[0];
  return (acts(node.acting, 0) ? node.outcomes[0] : 0u) + (acts(node.acting, 1) ? node.outcomes[1] : 0u);
}
constexpr std::uint32_t kNodeWords = sizeof(Node) / 4;

// What is proven of a node: bounds on each player's value, the players being perfect from here on. They only tighten.
struct Proof {
  float low[2];
  float high[2];
  float least[2];  // what the rules promise of the position, whatever is played: see Stakes
  float most[2];
  std::uint32_t plies;  // once proven: how long the game lasts then, at most
  Offset parents;  // the first of a chain of ParentLinks, where nodes are shared
};
struct ParentLink {
  NodeId parent;
  Offset next;
};
constexpr std::uint32_t kProofWords = sizeof(Proof) / 4;

// Where both choose by mixing: a block of two rows per player, with one number per outcome. See mixed.hpp.
struct Mixing {
  Offset block;
  std::uint32_t rounds;  // updates made
};
constexpr std::uint32_t kMixingWords = sizeof(Mixing) / 4;
constexpr std::uint32_t strategy_words(const Node& node) { return 2u * (node.outcomes[0] + std::uint32_t{node.outcomes[1]}); }

// How much evaluations count in the values of the nodes above, where that depends on their expected errors.
struct Weights {
  float own;   // of the node's evaluation
  float mean;  // of all visits of the node: see update_weights
};
constexpr std::uint32_t kWeightsWords = sizeof(Weights) / 4;

// Who leads to a node that may be shared: the first link here, the others in a chain.
struct Parents {
  NodeId first;
  Offset more;
};
constexpr std::uint32_t kParentsWords = sizeof(Parents) / 4;

// --- words -----------------------------------------------------------------------------------------------------------

constexpr std::uint32_t kPriorBase = 3u << 28;  // float bits of 2^-31, the least prior that can be told from nothing
constexpr int kMaxActions = 0xffff;  // per player: outcomes are counted, and actions stored, in 16 bits

// The prior in 16 bits: 5 of exponent, 11 of mantissa (0.02 % steps), monotone.
constexpr std::uint32_t encode_prior(float prior) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(prior) + (1u << 11);
  if (bits < kPriorBase) return 0;
  const std::uint32_t code = (bits - kPriorBase) >> 12;
  return code > 0xffff ? 0xffff : code;
}
constexpr float decode_prior(std::uint32_t word) {
  return std::bit_cast<float>(((word >> 4) & 0x0ffff000u) | kPriorBase);
}
constexpr std::uint32_t make_word(float prior, Action action) {
  return encode_prior(prior) << 16 | (0xffffu - static_cast<std::uint32_t>(action));
}
constexpr std::uint32_t with_prior(std::uint32_t word, float prior) {
  return encode_prior(prior) << 16 | (word & 0xffffu);
}
constexpr Action word_action(std::uint32_t word) { return static_cast<Action>(0xffffu - (word & 0xffffu)); }

// A chance event, which has no evaluation: per outcome its number, its probability, and the edge that was tried for it.
struct ChanceWords {
  std::uint32_t count;
  Action* outcome;
  float* probability;
  std::uint32_t* edge;  // kNoEdge: not tried yet

  static constexpr std::uint32_t kNoEdge = ~0u;
};

// --- edges -----------------------------------------------------------------------------------------------------------

constexpr std::uint32_t kPending = 1u << 31;  // mark on a child link: the child has no value yet
static_assert(Arena::kEnd <= kPending);
constexpr std::uint32_t kExchanged = 1;  // another: the child has the players the other way round; offsets of nodes are even

// Room for `opened` edges: sizes grow by about a half, so that blocks of few sizes are reused often.
constexpr std::uint32_t compute_capacity(std::uint32_t opened) {
  if (opened <= 4) return opened <= 1 ? opened : opened <= 2 ? 2 : 4;
  const std::uint32_t top = std::bit_ceil(opened);
  return opened <= top / 4 * 3 ? top / 4 * 3 : top;
}
// Small ones from a table: asked at every turn, and the jumps above cannot be guessed.
constexpr auto kCapacities = [] {
  std::array<std::uint8_t, 65> table{};
  for (std::uint32_t opened = 0; opened < table.size(); ++opened) table[opened] = static_cast<std::uint8_t>(compute_capacity(opened));
  return table;
}();
constexpr std::uint32_t edge_capacity(std::uint32_t opened) {
  return opened < kCapacities.size() ? kCapacities[opened] : compute_capacity(opened);
}

// Where a child had its words and its edges when its parent last heard of it. A descent fetches them by this together with the
// child, rather than after it; nothing else may rely on it, since the child may have moved them. 0: not known.
struct Hint {
  Offset words;
  Offset edges;
};
constexpr std::uint32_t kHintWords = sizeof(Hint) / 4;

// Pointers into a node's edge block, whose arrays lie one after another.
struct Edges {
  std::uint32_t* child;
  std::uint32_t* visits;
  float* q[2];       // reward + discount * value of the child, per player
  float* reward[2];  // null where every reward is 0
  std::uint32_t* pair;  // the two outcomes (see make_pair_word); null unless both choose
  Hint* hint;           // null unless the node has `hinted`; never where both choose

  static constexpr std::uint32_t words(std::uint32_t capacity, bool rewarded, bool joint, bool hinted) {
    return capacity * (4u + (rewarded ? 2u : 0u) + (joint ? 1u : 0u) + (hinted ? kHintWords : 0u));
  }
  [[gnu::always_inline]] static Edges of(std::uint32_t* block, std::uint32_t capacity, bool rewarded, bool joint, bool hinted) {
    Edges e;
    e.child = block;
    e.visits = block + capacity;
    e.q[0] = reinterpret_cast<float*>(block + 2 * capacity);
    e.q[1] = e.q[0] + capacity;
    e.reward[0] = rewarded ? e.q[1] + capacity : nullptr;
    e.reward[1] = rewarded ? e.q[1] + 2 * capacity : nullptr;
    e.pair = joint ? block + (rewarded ? 6 : 4) * capacity : nullptr;
    e.hint = hinted ? reinterpret_cast<Hint*>(block + (rewarded ? 6 : 4) * capacity) : nullptr;
    return e;
  }
};

constexpr std::uint32_t make_pair_word(std::uint32_t first, std::uint32_t second) { return first << 16 | second; }

// The places of an edge's two outcomes among the players' words.
inline std::pair<std::uint32_t, std::uint32_t> outcome_pair(const Node& node, const Edges& edges, std::uint32_t edge) {
  if (edges.pair) return {edges.pair[edge] >> 16, edges.pair[edge] & 0xffffu};
  return node.chooser() == 0 ? std::pair{edge, 0u} : std::pair{0u, edge};
}

inline NodeId child_of(const Edges& edges, std::uint32_t edge) { return edges.child[edge] & ~(kPending | kExchanged); }
// Where the child of an edge keeps what belongs to this player of the node.
inline int player_below(const Edges& edges, std::uint32_t edge, int player) {
  return player ^ static_cast<int>(edges.child[edge] & kExchanged);
}

// Values are read by parents while children are updated by other threads; single words, no order needed.
inline float load(const float& x) {
  float value;
  __atomic_load(&x, &value, __ATOMIC_RELAXED);
  return value;
}
inline void store(float& x, float value) { __atomic_store(&x, &value, __ATOMIC_RELAXED); }
inline Offset load(const Offset& x) { return __atomic_load_n(&x, __ATOMIC_RELAXED); }
inline void store(Offset& x, Offset offset) { __atomic_store_n(&x, offset, __ATOMIC_RELAXED); }
inline Status load(const Status& x) {
  Status status;
  __atomic_load(&x, &status, __ATOMIC_ACQUIRE);
  return status;
}
inline void store(Status& x, Status status) { __atomic_store(&x, &status, __ATOMIC_RELEASE); }

// A discount counts the turns of players: a chance event belongs to the turn before it.
inline double discount_into(const Node& child, double discount) {
  return discount == 1.0 || child.acting != kChance ? discount : 1.0;
}

// What an edge is worth by the value of its child, per player.
[[gnu::always_inline]] inline std::pair<float, float> worth(const Edges& edges, std::uint32_t edge, const Node& child, double discount) {
  const std::uint32_t first = edges.child[edge] & kExchanged;
  const float rewards[2] = {edges.reward[0] ? edges.reward[0][edge] : 0.0f, edges.reward[0] ? edges.reward[1][edge] : 0.0f};
  const float values[2] = {load(child.value[first]), load(child.value[first ^ 1])};
  // The sum of two floats is the same rounded once as by way of a double.
  if (discount == 1.0) return {rewards[0] + values[0], rewards[1] + values[1]};
  discount = discount_into(child, discount);
  const auto sum = [&](int p) {
    return static_cast<float>(static_cast<double>(rewards[p]) + discount * static_cast<double>(values[p]));
  };
  return {sum(0), sum(1)};
}

// Takes the child's value over into its edge.
inline void take_value(const Edges& edges, std::uint32_t edge, const Node& child, double discount) {
  const auto [first, second] = worth(edges, edge, child, discount);
  edges.q[0][edge] = first;
  edges.q[1][edge] = second;
}

// Guards everything of one node but `value` and `status`; free when a search runs in one thread.
class NodeLock {
 public:
  NodeLock(Node& node, bool needed) : lock_(needed ? &node.lock : nullptr) {
    if (lock_)
      for (int spins = 0; __atomic_exchange_n(lock_, std::uint8_t{1}, __ATOMIC_ACQUIRE);)
        while (__atomic_load_n(lock_, __ATOMIC_RELAXED)) wait(spins++);
  }
  ~NodeLock() { unlock(); }
  NodeLock(const NodeLock&) = delete;
  NodeLock& operator=(const NodeLock&) = delete;
  void unlock() {
    if (lock_) __atomic_store_n(lock_, std::uint8_t{0}, __ATOMIC_RELEASE);
    lock_ = nullptr;
  }

 private:
  static void wait(int spins) {
    constexpr int kPatience = 1024;  // then the holder was probably interrupted: let it run
    if (spins > kPatience) return std::this_thread::yield();
    pause_briefly();
  }
  std::uint8_t* lock_;
};

}  // namespace ramify
