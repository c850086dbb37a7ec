#include "search/pool.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>

#include "base/fetch.hpp"

namespace ramify {

Pool::Pool(Start start, const PlaySettings& play, std::uint64_t seed, int places, std::vector<std::int64_t> unfinished,
           std::int64_t first, std::int64_t games, int threads, int shares)
    : start_(std::move(start)),
      play_(play),
      seed_(seed),
      slots_(static_cast<std::size_t>(places)),
      unfinished_(std::move(unfinished)),
      first_(first),
      games_(games < 0 ? std::numeric_limits<std::int64_t>::max() : games),
      parts_(static_cast<std::size_t>(shares)),
      one_each_(static_cast<std::size_t>(shares), 0),
      group_(threads) {
  for (std::size_t i = 0; i < parts_.size(); ++i) parts_[i].resize(first_slot(i + 1) - first_slot(i));
  for (Slot& slot : slots_) new_game(slot);
}

void Pool::new_game(Slot& slot) {
  slot.search.reset();
  while (!stopped_) {
    const std::int64_t begun = next_.fetch_add(1), before = std::ssize(unfinished_);
    if (begun >= games_) return;
    const std::int64_t game = begun < before ? unfinished_[static_cast<std::size_t>(begun)] : first_ + (begun - before);
    const std::uint64_t seed = combine(mix(seed_), static_cast<std::uint64_t>(game));
    slot.rng = Rng(seed, 0x706c6179);
    slot.record.begin(static_cast<std::uint64_t>(game), seed);
    slot.returns = {0.0f, 0.0f};
    slot.bad[0] = slot.bad[1] = 0;
    slot.may_resign = slot.rng.uniform() >= play_.playthrough;
    slot.search = start_(seed);
    play_opening(slot);
    if (slot.search->root_acting() == kOver) {  // the opening was all there was
      end_game(slot, 0);
      continue;
    }
    return begin_search(slot);
  }
}

void Pool::add(const std::vector<std::int64_t>& numbers) {
  next_ = std::min<std::int64_t>(next_, games_);  // places without a game asked for one in vain, and were counted
  unfinished_.insert(unfinished_.end(), numbers.begin(), numbers.end());
  games_ = std::ssize(unfinished_);
  for (Slot& slot : slots_)
    if (!slot.search && next_ < games_) new_game(slot);
}

void Pool::play_opening(Slot& slot) {
  if (play_.opening_moves <= 0) return;
  const std::uint32_t length = slot.rng.below(static_cast<std::uint32_t>(play_.opening_moves) + 1);
  for (std::uint32_t i = 0; i < length && slot.search->root_acting() != kOver; ++i) {
    const Acting acting = slot.search->root_acting();
    Joint joint;
    for (int p = 0; p < 2; ++p)
      if (acts(acting, p)) {
        const std::vector<Action> legal = slot.search->root_legal(p);
        joint.of[static_cast<std::size_t>(p)] = legal[slot.rng.below(static_cast<std::uint32_t>(legal.size()))];
      }
    make_move(slot, joint, kOpening, nullptr);
  }
}

void Pool::begin_search(Slot& slot) {
  slot.full = play_.fast_simulations <= 0 || slot.rng.uniform() < play_.full_share;
  slot.wanted = slot.full ? play_.simulations : play_.fast_simulations;
  slot.search->begin(slot.rng.next(), slot.wanted, slot.full);
}

double Pool::temperature_at(std::uint32_t move) const {
  if (play_.temperature_moves >= 0)
    return move < static_cast<std::uint32_t>(play_.temperature_moves) ? play_.temperature : play_.temperature_end;
  return play_.temperature_end +
         (play_.temperature - play_.temperature_end) * std::exp2(-static_cast<double>(move) / play_.temperature_half_life);
}

Joint Pool::choose(Slot& slot, const Report& found) const {
  constexpr double kGreedy = 1e-3;
  const double temperature = temperature_at(slot.record.moves());
  Joint joint;
  for (int p = 0; p < 2; ++p) {
    if (!acts(found.acting, p)) continue;
    std::vector<double> weights = policy_weights(found, p, play_.acting);
    std::size_t chosen = 0;
    if (temperature < kGreedy) {
      chosen = greedy_outcome(found, p, weights, play_.acting);
    } else {
      temper(weights, temperature);
      double left = slot.rng.uniform() * std::accumulate(weights.begin(), weights.end(), 0.0);
      while (chosen + 1 < weights.size() && (left -= weights[chosen]) >= 0.0) ++chosen;
      while (weights[chosen] == 0.0) --chosen;  // rounding at the very end
    }
    joint.of[static_cast<std::size_t>(p)] = found.actions[p][chosen];
  }
  return joint;
}

bool Pool::resigns(Slot& slot, const Report& found) {
  if (play_.resign_below < -1.0 || found.acting == kBoth) return false;
  const int player = found.acting == kSecond ? 1 : 0;
  slot.bad[player] = static_cast<double>(found.value[player]) < play_.resign_below ? slot.bad[player] + 1 : 0;
  if (!slot.may_resign || slot.bad[player] < play_.resign_moves) return false;
  slot.returns = player == 0 ? Rewards{-1.0f, 1.0f} : Rewards{1.0f, -1.0f};
  return true;
}

void Pool::make_move(Slot& slot, Joint joint, std::uint8_t flags, const Report* found) {
  slot.record.add_move(slot.search->root_acting(), joint, flags, found);
  const Rewards rewards = slot.search->play(joint, play_.reuse && !(flags & kOpening));
  for (std::size_t p = 0; p < 2; ++p) slot.returns[p] += rewards[p];
  ++slot.counts.moves;
}

void Pool::end_game(Slot& slot, std::uint16_t flags) {
  slot.finished.push_back(slot.record.finish(slot.returns, flags));
  ++waiting_;
  ++slot.counts.games;
  slot.counts.lengths += slot.record.moves();
  slot.counts.draws += slot.returns[0] == slot.returns[1];
  slot.counts.resigned += (flags & kResigned) != 0;
  slot.search.reset();
}

// Plays what was chosen after a search, or resigns, and goes on: with the next search, or in another game.
void Pool::act(Slot& slot, Joint joint, const Report& found) {
  const SearchStats stats = slot.search->stats();
  slot.counts.evaluations += stats.evaluations;
  slot.counts.simulations += stats.simulations;
  slot.counts.cache_hits += stats.cache_hits;
  slot.counts.cache_misses += stats.cache_misses;
  const bool resigned = resigns(slot, found);
  if (!resigned) make_move(slot, joint, slot.full ? kFull : 0, slot.full ? &found : nullptr);
  const bool over = resigned || slot.search->root_acting() == kOver;
  if (over || (play_.max_moves > 0 && slot.record.moves() >= static_cast<std::uint32_t>(play_.max_moves))) {
    end_game(slot, resigned ? kResigned : over ? 0 : kCut);
    return new_game(slot);
  }
  begin_search(slot);
}

// Plays on until leaves await their evaluation, or nobody plays here any more; returns the number of rows.
int Pool::advance(Slot& slot) {
  const bool native = play_.rollouts >= 0;
  while (slot.search) {
    const std::int64_t left = slot.search->left(slot.wanted, std::numeric_limits<std::int64_t>::max());
    if (left > 0 && !native) {
      if (!slot.search->collect(0, play_.leaves, left)) continue;
      if (const int rows = slot.search->rows(0)) return rows;
      slot.search->absorb(0, {}, 0);  // all of them are in the cache
      continue;
    }
    if (left > 0) {
      constexpr double kSlice = 0.05;  // seconds for all games together, after which the caller may look for Ctrl-C
      const NativeEvaluator evaluator{play_.rollouts, seed_, play_.greedy, play_.prior, play_.planner};
      const std::int64_t made = slot.search->run_native(evaluator, left, kSlice / static_cast<double>(slots_.size()));
      if (made < left && !slot.search->proven()) return 0;
    }
    const Report found = slot.search->report({});
    act(slot, choose(slot, found), found);
    if (native) return 0;  // one move at a time: a gather must end
  }
  return 0;
}

namespace {
constexpr std::size_t kTogether = 8;  // games that a thread takes at a time
}

// Fetches from memory what refilling these games reads. They are so many that no cache has them all, and each is a chain of
// reads that wait for one another: here the reads of several games overlap.
void Pool::fetch(std::size_t share, std::size_t first, std::size_t end) const {
  const std::vector<Part>& parts = parts_[share];
  for (std::size_t i = first; i < end; ++i) {
    __builtin_prefetch(parts[i].search);
    fetch_object(slots_[first_slot(share) + i].search);
    fetch_object(slots_[first_slot(share) + i].wanted);
  }
  for (int step = 0; step < AnySearch::kFetches; ++step)
    for (std::size_t i = first; i < end; ++i)
      if (parts[i].leaves) parts[i].search->fetch(step, parts[i].batch);
}

int Pool::refill(int share, const EvaluationView* evaluation, const BatchView& view) {
  const auto s = static_cast<std::size_t>(share);
  std::vector<Part>& parts = parts_[s];
  // Where every game had one row, it probably has one again: then it is written while its tree is in the cache.
  const bool one_each = one_each_[s];
  const auto refill_one = [&, first = first_slot(s)](std::size_t i) {
    Slot& slot = slots_[first + i];
    Part& part = parts[i];
    if (evaluation && part.leaves) part.search->absorb(part.batch, *evaluation, part.first);
    part.leaves = part.rows = 0;  // whatever becomes of this game
    const int rows = advance(slot);
    part = {slot.search.get(), 0, rows, rows, static_cast<int>(i)};
    if (one_each && rows == 1) part.search->write(part.batch, view, part.first);
  };
  group_.share_pieces(parts.size(), kTogether, [&](std::size_t first, std::size_t end) {
    if (evaluation) fetch(s, first, end);
    for (std::size_t i = first; i < end; ++i) refill_one(i);
  });
  const int rows = place_rows(parts, one_each, view);
  one_each_[s] = static_cast<std::size_t>(rows) == parts.size() && play_.leaves == 1;
  return rows;
}

// Gives every part its place in the batch and writes its rows, unless they are `placed` in the row of its number already.
int Pool::place_rows(std::vector<Part>& parts, bool placed, const BatchView& view) {
  int rows = 0;
  bool moved = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    moved |= parts[i].rows && (rows != static_cast<int>(i) || parts[i].rows != 1);
    rows += parts[i].rows;
  }
  return placed && !moved ? rows : group_.write(parts, view, kTogether);
}

void Pool::absorb(int share, const EvaluationView& evaluation) {
  std::vector<Part>& parts = parts_[static_cast<std::size_t>(share)];
  group_.absorb(parts, evaluation, kTogether);
  for (Part& part : parts) part.leaves = part.rows = 0;
}

void Pool::cancel() {
  for (std::vector<Part>& parts : parts_)
    for (Part& part : parts) {
      if (part.rows) part.search->cancel();
      part.leaves = part.rows = 0;
    }
}

std::vector<std::string> Pool::take_finished() {
  std::vector<std::string> all;
  if (waiting_.exchange(0) == 0) return all;  // usually: spares a look at thousands of places
  for (Slot& slot : slots_) {
    for (std::string& record : slot.finished) all.push_back(std::move(record));
    slot.finished.clear();
  }
  return all;
}

bool Pool::idle() const {
  return std::none_of(slots_.begin(), slots_.end(), [](const Slot& slot) { return static_cast<bool>(slot.search); });
}

Pool::Counts Pool::counts() const {
  Counts total;
  for (const Slot& slot : slots_) {
    total.games += slot.counts.games;
    total.moves += slot.counts.moves;
    total.lengths += slot.counts.lengths;
    total.evaluations += slot.counts.evaluations;
    total.simulations += slot.counts.simulations;
    total.cache_hits += slot.counts.cache_hits;
    total.cache_misses += slot.counts.cache_misses;
    total.draws += slot.counts.draws;
    total.resigned += slot.counts.resigned;
    if (!slot.search) continue;
    ++total.active;
    const SearchStats stats = slot.search->stats();
    total.evaluations += stats.evaluations;
    total.simulations += stats.simulations;
    total.cache_hits += stats.cache_hits;
    total.cache_misses += stats.cache_misses;
    total.bytes += stats.bytes;
  }
  return total;
}

}  // namespace ramify
