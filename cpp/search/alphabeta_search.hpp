// Alpha-beta: negamax with iterative deepening, principal-variation windows, a transposition table and quiescence.
//
// With width 0 and no quiescence the value is that of plain minimax at the same depth, whatever the table holds. Where
// chance decides it is the mean of the outcomes' values (expectimax), each of which is searched with an open window: chance
// takes no depth, and lines end before it.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "games/any.hpp"
#include "search/alphabeta.hpp"
#include "search/dynamics.hpp"

namespace ramify {

template <class D>
class AlphaBeta {
 public:
  using Cursor = typename D::Cursor;
  using R = std::remove_cvref_t<decltype(std::declval<const D&>().rules())>;

  AlphaBeta(D dynamics, const AlphaBetaSettings& settings, Watcher& watcher)
      : dynamics_(std::move(dynamics)),
        settings_(settings),
        watcher_(watcher),
        table_(settings.table),
        memory_(dynamics_.num_actions(), settings.depth + 1),
        legal_(static_cast<std::size_t>(dynamics_.num_actions())),
        ranks_(static_cast<std::size_t>(dynamics_.num_actions())),
        deadline_(Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(
                                     settings.seconds > 0.0 ? std::min(settings.seconds, 1e9) : 1e9))),
        next_look_(Clock::now() + kLook) {}

  AlphaBetaResult run(const Cursor& root) {
    const Acting acting = dynamics_.acting(root);
    check(acting);
    lines_.resize(1);
    list(root, acting, 0, kNone);
    root_ = std::exchange(choices_, {});
    std::stable_sort(root_.begin(), root_.end(), [](const Choice& a, const Choice& b) { return a.order > b.order; });
    found_.action = root_.front().action;
    found_.ties = found_.line = {found_.action};
    best_ = heuristic(root, acting);
    try {
      while (found_.depth < settings_.depth && !found_.solved) deepen(root, acting);
    } catch (const Stop& stop) {
      found_.interrupted = stop.interrupted;
    } catch (...) {  // a game written in Python may raise what Ctrl-C means there
      if (!watcher_.forgives()) throw;
      found_.interrupted = true;
    }
    found_.value = value_of(best_);
    found_.plies = plies_of(best_);
    found_.nodes = nodes_;
    if (settings_.width > 0) found_.solved = false;  // what was left out may be better
    return found_;
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr auto kLook = std::chrono::milliseconds(50);
  static constexpr int kMostEvents = 1'000;  // chance events take no depth, but room on the stack
  struct Stop {
    bool interrupted;
  };
  // The way between a position and the one after it: who moves there, and what was paid.
  struct Edge {
    Score reward;
    bool same;  // the same player moves again
    Score up(Score score) const {
      if (!same) score = -score;
      return reward == 0 ? score : reward + value_part(score);
    }
    // Windows on the far side; a little wider where the plies get lost on the way.
    std::pair<Score, Score> down(Score alpha, Score beta) const {
      const Score slack = reward == 0 ? 0 : kUnit / 2;
      const Score low = std::max(alpha - reward - slack, -kInfinite), high = std::min(beta - reward + slack, kInfinite);
      return same ? std::pair{low, high} : std::pair{-high, -low};
    }
  };

  void check(Acting acting) const {
    if (acting == kOver) throw InvalidInput("cannot search a finished game");
    if (acting == kChance) throw InvalidInput("chance decides in this state: a search starts where a player acts");
    refuse_both(acting);
    if (settings_.width > 0 && !kRanks)
      throw InvalidInput("the setting width needs a game that ranks its actions; this game does not");
  }
  [[noreturn]] static void refuse_events() {
    throw InvalidInput("alpha-beta looks at every outcome of chance, and here more than " + std::to_string(kMostEvents) +
                       " chance events may follow on the way: a search (rf.search) draws them instead");
  }
  static void refuse_both(Acting acting) {
    if (acting == kBoth) throw InvalidInput("alpha-beta needs a turn-based game; here both players act at once");
  }

  // Games say beforehand whether they are zero-sum, but seldom those written in Python: so it is seen here.
  static Score reward_of(const Rewards& rewards, std::size_t mover) {
    if (std::abs(rewards[0] + rewards[1]) > 1e-6f)
      throw InvalidInput("alpha-beta needs a zero-sum game; here the rewards of an action are " +
                         std::to_string(rewards[0]) + " and " + std::to_string(rewards[1]));
    return rewards[mover] == 0.0f ? 0 : to_score(static_cast<double>(rewards[mover]));
  }

  // One depth more, from the best action of the last on. Stopped in between, what it has found so far counts.
  void deepen(const Cursor& root, Acting acting) {
    choices_.clear();
    const int depth = found_.depth + 1;
    const std::int64_t horizon = horizon_;
    Score best = -kInfinite;
    for (std::size_t i = 0; i < root_.size(); ++i) {
      const Action action = root_[i].action;
      const Score floor = i > 0 && settings_.ties ? best - 1 : best;  // below the best, an equal one shows
      const Score score = try_action(root, acting, action, {depth, 0, floor, kInfinite, i == 0});
      if (score > best) {
        best = best_ = score;
        keep_line(0, action);
        found_.action = action;
        found_.line = lines_[0];
        found_.ties = {action};
        std::rotate(root_.begin(), root_.begin() + static_cast<std::ptrdiff_t>(i),
                    root_.begin() + static_cast<std::ptrdiff_t>(i) + 1);
      } else if (settings_.ties && score == best) {
        found_.ties.push_back(action);
      }
    }
    found_.depth = depth;
    found_.solved = horizon_ == horizon || forced(root, acting, best, Bound::kExact, {depth, 0, 0, 0, true});
  }

  struct Window {
    int depth;  // plies left, this action included
    int ply;    // from the root
    Score alpha, beta;
    bool first;  // of the actions here: the others are expected to be no better, and only tested for that
  };

  // What the action is worth to the player who takes it; a bound where it lies outside the window.
  Score try_action(const Cursor& cursor, Acting acting, Action action, const Window& w) {
    count_node();
    Cursor child = cursor;
    Joint joint;
    const std::size_t mover = acting == kSecond;
    joint.of[mover] = action;
    const Score reward = reward_of(dynamics_.apply(child, joint), mover);
    const Acting next = dynamics_.acting(child);
    if (lines_.size() < static_cast<std::size_t>(w.ply) + 2) lines_.resize(static_cast<std::size_t>(w.ply) + 2);
    if (next == kOver) {
      lines_[static_cast<std::size_t>(w.ply) + 1].clear();
      return ended(reward, w.ply + 1);
    }
    if constexpr (D::kChance)
      if (next == kChance) return Edge{reward, true}.up(mean(child, acting, {w.depth, w.ply, -kInfinite, kInfinite, true}));
    refuse_both(next);
    const Edge edge{reward, next == acting};
    const auto look = [&](Score alpha, Score beta) {
      const auto [low, high] = edge.down(alpha, beta);
      return edge.up(value(child, next, {w.depth - 1, w.ply + 1, low, high, true}));
    };
    if (!w.first) {
      const Score score = look(w.alpha, w.alpha + 1);
      if (score <= w.alpha || score >= w.beta) return score;
    }
    return look(w.alpha, w.beta);
  }

  // What a chance event is worth to the player who moved before it: the mean of its outcomes.
  Score mean(const Cursor& cursor, Acting acting, const Window& w) {
    if (++below_chance_ > kMostEvents) refuse_events();
    ChanceEvent event;
    dynamics_.chance(cursor, event);
    double sum = 0.0, total = 0.0;
    for (std::size_t i = 0; i < event.outcomes.size(); ++i) {
      count_node();
      sum += event.probabilities[i] * value_of(outcome(cursor, acting, event.outcomes[i], w));
      total += event.probabilities[i];
    }
    --below_chance_;
    lines_[static_cast<std::size_t>(w.ply) + 1].clear();
    return to_score(sum / total);
  }

  // What one outcome of chance is worth to that player.
  Score outcome(const Cursor& cursor, Acting acting, Action drawn, const Window& w) {
    Cursor child = cursor;
    const Score reward = reward_of(dynamics_.apply(child, chance_joint(drawn)), acting == kSecond);
    const Acting next = dynamics_.acting(child);
    if (next == kOver) return reward;
    if (next == kChance) return Edge{reward, true}.up(mean(child, acting, w));
    refuse_both(next);
    return Edge{reward, next == acting}.up(value(child, next, {w.depth - 1, w.ply + 1, -kInfinite, kInfinite, true}));
  }

  // What the position is worth to the player who moves.
  Score value(const Cursor& cursor, Acting acting, Window w) {
    lines_[static_cast<std::size_t>(w.ply)].clear();
    if (w.depth <= 0) return at_horizon(cursor, acting, w);
    Remembered entry;
    if (table_ && recall(dynamics_.future_key(cursor), w, entry)) {
      horizon_ += !entry.complete;
      return seen_from(entry.score, -w.ply);
    }
    const std::int64_t horizon = horizon_;
    const std::size_t begin = choices_.size();
    list(cursor, acting, w.ply, entry.action);
    const auto [best, action, bound] = best_of(cursor, acting, begin, w);
    choices_.resize(begin);
    const bool settled = forced(cursor, acting, best, bound, w);
    if (settled) horizon_ = horizon;  // whatever lies beyond the depth, this stays
    if (table_)
      table_.put({entry.key, seen_from(best, w.ply), action, static_cast<std::int16_t>(w.depth), bound,
                  horizon_ == horizon, settled});
    return best;
  }

  // Whether the table knows enough to go no further; if not, the entry tells at least the key and the action to try
  // first. The entry of the depth before is from the last deepening.
  bool recall(Key position, const Window& w, Remembered& entry) {
    const Key key = depth_key(position, w.depth);
    const Remembered* known = table_.find(key);
    if (!known) known = table_.find(depth_key(position, w.depth - 1));
    if (known) entry = *known;
    entry.key = key;
    const bool lineless = w.beta - w.alpha == 1 || below_chance_ > 0;  // nobody asks for the line from here
    const bool enough = known && lineless && entry.holds_at(w.depth) &&
                        decides(entry.bound, seen_from(entry.score, -w.ply), w);
    if (enough && entry.depth != w.depth) {  // what holds here too, the next deepening finds under this depth
      entry.depth = static_cast<std::int16_t>(w.depth);
      table_.put(entry);
    }
    return enough;
  }

  static bool decides(Bound bound, Score score, const Window& w) {
    return bound == Bound::kExact || (bound == Bound::kLower ? score >= w.beta : score <= w.alpha);
  }

  // The most that can be won, sure to come within the depth; or a loss of all there is, without a way out.
  bool forced(const Cursor& cursor, Acting acting, Score score, Bound bound, const Window& w) const {
    const int plies = plies_of(score) - w.ply;
    if (plies <= 0 || plies > w.depth) return false;
    const Stakes stakes = dynamics_.stakes(cursor);
    const std::size_t mover = acting == kSecond;
    const double value = value_of(score);
    return value > 0.0 ? bound != Bound::kUpper && value >= static_cast<double>(stakes.most[mover])
                       : bound != Bound::kLower && value <= static_cast<double>(stakes.least[mover]);
  }

  struct Best {
    Score score;
    Action action;
    Bound bound;
  };
  // The best of the choices from `begin` on, looked at in order, until one is too good to be allowed.
  Best best_of(const Cursor& cursor, Acting acting, std::size_t begin, Window w) {
    Best best{-kInfinite, kNone, Bound::kUpper};
    for (std::size_t i = begin, end = choices_.size(); i < end; ++i) {
      const Action action = take_best(i, end);
      w.first = i == begin;
      const Score score = try_action(cursor, acting, action, w);
      if (score <= best.score) continue;
      best.score = score;
      if (score <= w.alpha) continue;
      best.action = action;
      best.bound = Bound::kExact;
      if (score >= w.beta) {
        best.bound = Bound::kLower;
        if (w.depth > 0) memory_.refuted(acting == kSecond, action, w.depth, w.ply);
        break;
      }
      w.alpha = score;
      keep_line(w.ply, action);
    }
    return best;
  }

  // Brings the most promising of the choices left to place i.
  Action take_best(std::size_t i, std::size_t end) {
    std::size_t most = i;
    for (std::size_t j = i + 1; j < end; ++j)
      if (choices_[j].order > choices_[most].order) most = j;
    std::swap(choices_[i], choices_[most]);
    return choices_[i].action;
  }

  // The depth is used up: the heuristic, once nothing sharp is left to do.
  Score at_horizon(const Cursor& cursor, Acting acting, Window w) {
    ++horizon_;
    if constexpr (kSharp) {
      if (settings_.quiescence) {
        const std::size_t begin = choices_.size();
        const int count = dynamics_.rules().sharp(cursor, legal_.data());
        Score quiet = -kInfinite;
        if (count >= 0) {  // nobody has to do what is sharp
          quiet = heuristic(cursor, acting);
          if (quiet >= w.beta) return quiet;
          w.alpha = std::max(w.alpha, quiet);
          rank(cursor, count);
        } else {
          rank(cursor, dynamics_.legal(cursor, acting == kSecond, legal_.data()));
        }
        const Score best = best_of(cursor, acting, begin, {w.depth, w.ply, w.alpha, w.beta, true}).score;
        choices_.resize(begin);
        return std::max(quiet, best);
      }
    }
    return heuristic(cursor, acting);
  }

  Score heuristic(const Cursor& cursor, Acting acting) const {
    if constexpr (requires { dynamics_.rules().heuristic(cursor); }) {
      const Score score = to_score(static_cast<double>(dynamics_.rules().heuristic(cursor)));
      return acting == kFirst ? score : -score;
    } else {
      return 0;
    }
  }

  // Appends the choices here, with what is known of them.
  void list(const Cursor& cursor, Acting acting, int ply, Action remembered) {
    const std::size_t begin = choices_.size();
    const int player = acting == kSecond;
    rank(cursor, dynamics_.legal(cursor, player, legal_.data()));
    if (settings_.width > 0) narrow(choices_, begin, settings_.width);
    for (std::size_t i = begin; i < choices_.size(); ++i) {
      Choice& choice = choices_[i];
      if (choice.action == remembered) choice.order = std::int64_t{1} << 40;
      else if (choice.order < kUrgent) choice.order += memory_.bonus(player, choice.action, ply);
    }
  }

  // Appends the first of `legal_` as the game ranks them.
  void rank(const Cursor& cursor, int count) {
    if constexpr (kRanks) dynamics_.rules().rank(cursor, legal_.data(), count, ranks_.data());
    for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i)
      choices_.push_back({legal_[i], kRanks ? ranks_[i] : 0});
  }

  void keep_line(int ply, Action action) {
    auto& line = lines_[static_cast<std::size_t>(ply)];
    const auto& rest = lines_[static_cast<std::size_t>(ply) + 1];
    line.assign(1, action);
    line.insert(line.end(), rest.begin(), rest.end());
  }

  void count_node() {
    if (settings_.nodes > 0 && nodes_ >= settings_.nodes) throw Stop{false};
    if (++nodes_ % 16 != 0) return;
    const auto now = Clock::now();
    if (now >= deadline_) throw Stop{false};
    if (now < next_look_) return;
    next_look_ = now + kLook;
    if (watcher_.stop()) throw Stop{true};
  }

  static constexpr bool kRanks = requires(const R rules, const Cursor cursor, std::int32_t* ranks) {
    rules.rank(cursor, static_cast<const Action*>(nullptr), 0, ranks);
  };
  static constexpr bool kSharp = requires(const R rules, const Cursor cursor, Action* actions) {
    rules.sharp(cursor, actions);
  };

  D dynamics_;
  const AlphaBetaSettings settings_;
  Watcher& watcher_;
  BoundTable table_;
  ActionMemory memory_;
  std::vector<Action> legal_;
  std::vector<std::int32_t> ranks_;
  std::vector<Choice> choices_;  // of every position on the way down, one after the other
  std::vector<Choice> root_;
  std::vector<std::vector<Action>> lines_;  // per ply: the best line from there on
  Clock::time_point deadline_, next_look_;
  AlphaBetaResult found_;
  Score best_ = 0;
  std::int64_t nodes_ = 0;
  int below_chance_ = 0;      // chance events on the way to the position at hand
  std::int64_t horizon_ = 0;  // lines that the depth has cut off
};

template <Rules R>
AlphaBetaResult run_alphabeta(const AnyState& state, const AlphaBetaSettings& settings, Watcher& watcher) {
  const auto& typed = static_cast<const StateOf<R>&>(state);
  const auto& game = static_cast<const GameOf<R>&>(*state.game());
  using Dynamics = RulesDynamics<R>;
  return AlphaBeta<Dynamics>(Dynamics(game.rules(), {}), settings, watcher).run(typed.position());
}

}  // namespace ramify
