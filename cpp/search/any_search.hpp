// A search behind one run-time interface: what the binding and the drivers hold, whatever the game or model.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "games/rules.hpp"
#include "search/cache.hpp"
#include "search/node.hpp"
#include "search/priors.hpp"

namespace ramify {

// Where the rows of a batch go. Pointers are to the first row; a null pointer means "not wanted".
struct BatchView {
  float* observations = nullptr;    // [rows, observation_size]; latent: written for roots only
  std::size_t observation_size = 0;
  std::uint8_t* legal = nullptr;    // [rows, 2, num_actions]
  std::uint8_t* acting = nullptr;   // [rows, 2]
  std::uint64_t* keys = nullptr;    // [rows]
  std::int32_t* parents = nullptr;  // latent: [rows], slot of the parent, -1 for the root
  std::int32_t* actions = nullptr;  // latent: [rows, 2], the actions that lead from the parent here
  std::int32_t* slots = nullptr;    // latent: [rows], slot the new latent state goes to
};

// What an evaluator answered.
struct EvaluationView {
  LogitRow logits;                 // [rows, 2, num_actions]
  const float* values = nullptr;   // [rows, 2], each number followed by its expected squared error if `errors`
  const float* rewards = nullptr;  // latent: [rows, 2], on the edge into the row's node
  bool mover_rewards = false;      // they are [rows], of whoever acted on that edge; the other player loses as much
  bool per_player = true;          // false: one row each, [rows, num_actions] and [rows], the acting player's; the
                                   // other wins what it loses. Not where both act.
  bool errors = false;
};

// Evaluators inside the core, for searches without a network.
struct NativeEvaluator {
  int rollouts = 0;  // 0: value 0 and uniform priors; else the mean of so many games played to their end
  std::uint64_t seed = 0;
  bool greedy = false;  // by the game's greedy player, otherwise at random
  float prior = 0.0f;   // the share of the prior that the greedy player's actions have, evenly; the rest is uniform
  bool planner = false;  // values of the game's plans instead, whose actions have half of that share
};

struct SearchStats {
  std::int64_t simulations = 0;     // descents that counted, the root's evaluation included
  std::int64_t evaluations = 0;     // rows given to the evaluator
  std::int64_t cache_hits = 0;      // leaves evaluated from the cache, without a row
  std::int64_t cache_misses = 0;    // leaves that were looked up there and got a row; the root is not looked up
  std::int64_t transpositions = 0;  // edges that found their child already there
  std::int64_t short_circuits = 0;  // descents that stopped at a child known better than the edge
  std::int64_t collisions = 0;      // descents cancelled because their leaf was already being evaluated
  std::int64_t terminals = 0;       // descents that ended in a finished game
  std::int64_t solved = 0;          // descents that ended in a position proven before
  std::int64_t cycles = 0;          // descents that met a node of their own path again
  std::int64_t full = 0;            // descents that could not expand because the graph is full
  std::int64_t turns = 0;           // edges of all descents that counted
  std::int32_t max_depth = 0;
  std::uint32_t nodes = 0;
  std::uint64_t bytes = 0;
  Full full_reason = Full::kNo;  // why the graph has stopped growing, if it has

  void add(const SearchStats& other);
};

// A node as the outside sees it, in the orientation of the position asked for.
struct Report {
  Acting acting = kOver;
  bool ready = false;
  std::uint32_t visits = 0;
  float value[2] = {0.0f, 0.0f};
  float evaluation[2] = {0.0f, 0.0f};
  std::vector<Action> actions[2];  // per outcome, ascending; one kNone for a passive player
  std::vector<float> priors[2];
  std::vector<float> scores[2];    // what selection would compare now; none for a passive player
  std::vector<float> q[2];         // first-play urgency where nothing was tried
  std::vector<std::int64_t> edge_visits;  // [n0, n1]
  std::vector<float> payoffs[2];          // [n0, n1]; nan where unvisited
  bool has_proof = false;                 // with the solver:
  bool proven = false;
  float low[2] = {0.0f, 0.0f}, high[2] = {0.0f, 0.0f}, least[2] = {0.0f, 0.0f}, most[2] = {0.0f, 0.0f};
  std::vector<float> lows[2], highs[2];   // [n0, n1], bounds of every edge
  std::vector<std::int64_t> plies;        // [n0, n1], of proven edges; -1 elsewhere
  std::vector<float> average[2];          // average strategies, where players mix
  std::vector<float> gumbel[2];           // Gumbel numbers of this run, and visits before it
  std::vector<std::int64_t> before[2];
  int winner[2] = {-1, -1};               // the outcome that has won its race; -1 without one
};

class AnySearch {
 public:
  virtual ~AnySearch() = default;

  // Searches from a fresh root that has these actions alone, of each player; an empty list: all. Until the root moves on.
  // What is proven of the root is then proven of the position with these actions alone. Raises InvalidInput for an action
  // that is not legal.
  virtual void restrict_root(std::vector<Action> first, std::vector<Action> second) = 0;
  // Evaluations are looked up and stored there from now on. Raises InvalidInput for a latent model, which has no keys.
  virtual void use_cache(std::shared_ptr<EvaluationCache> cache) = 0;

  // Starts a run of so many simulations on the present root: what is random is drawn anew from `seed`. Unless `full`,
  // the root is searched as any other node, without noise, temperature or forced playouts.
  virtual void begin(std::uint64_t seed, std::int64_t simulations, bool full) = 0;

  // Descends until `leaves` leaves await evaluation, `simulations` descents were made, or nothing more can be
  // collected; returns the number of leaves. Leaves belong to the batch with this number (from 0, densely), which must
  // be empty; several batches may be in flight and are absorbed in any order. Raises what a game raises, with
  // everything cancelled.
  virtual int collect(int batch, int leaves, std::int64_t simulations) = 0;
  // Leaves of a batch that need a row: all but those whose evaluation was found in the cache. A batch without any is
  // absorbed with no evaluation.
  virtual int rows(int batch) const = 0;
  // Writes the rows of a batch, from row `row` of the view on.
  virtual void write(int batch, const BatchView& view, int row) = 0;
  // Expands and backs up the leaves of a batch. Raises EvaluatorError, with everything cancelled, on a bad row.
  virtual void absorb(int batch, const EvaluationView& evaluation, int row) = 0;
  // Gives all leaves in flight back as if they had never been chosen.
  virtual void cancel() = 0;
  // Fetches from memory what absorbing a batch and the descent after it are going to read, in so many steps: each needs what
  // the one before has fetched, so other work should lie between them. Nothing changes.
  static constexpr int kFetches = 8;
  virtual void fetch(int step, int batch) const = 0;
  virtual int in_flight() const = 0;  // leaves, of all batches
  // Simulations that may still be started, of so many simulations and so many evaluations in all; 0 once proven.
  std::int64_t left(std::int64_t most_simulations, std::int64_t most_evaluations) const;

  // Runs with an evaluator of the core until `simulations` more are done or `seconds` have passed; returns how many.
  // Random games that are not over by then go on with the next call, unless they are cancelled. With no seconds left and
  // no root yet, the root's value is that of the first random games; raises EvaluatorError if they do not end.
  virtual std::int64_t run_native(const NativeEvaluator& evaluator, std::int64_t simulations, double seconds) = 0;

  // The node reached by these actions from the root; not ready if the search has never been there.
  virtual Report report(std::span<const Joint> path) const = 0;
  // The actions of the last descent.
  virtual std::vector<Joint> last_path() const = 0;
  // The most visited way down.
  virtual std::vector<Joint> principal_variation() const = 0;
  // Makes the child the root and frees what cannot be reached any more; false (and an empty graph) if there is none, or
  // no memory to copy it to. Raises what the game raises, with everything as it was.
  virtual bool advance(Joint joint) = 0;

  // Gives the places of latent states back. The search may still be looked at, but not go on.
  virtual void release_slots() {}

  // Whether the root's value is proven: nothing is left to search.
  virtual bool proven() const = 0;
  // Means of the squares of what came of each of the root's edges, [2, n0, n1]; nan where unvisited.
  virtual std::vector<double> second_moments() const = 0;
  // The root's position: who acts, what is legal; and to play on from it, keeping what the graph knows or not.
  virtual Acting root_acting() const = 0;
  virtual std::vector<Action> root_legal(int player) = 0;
  virtual Rewards play(Joint joint, bool keep) = 0;
  virtual SearchStats stats() const = 0;
  virtual std::int64_t simulations() const = 0;  // of the stats, without the rest
  virtual Key root_key() const = 0;
  // Every position that it holds, as a pointer to its kind of Cursor.
  virtual void visit_cursors(const std::function<void(const void*)>& visit) const = 0;
  virtual bool needs_python() const = 0;  // whether the game calls back into Python: the GIL must be held
};

}  // namespace ramify
