#include "search/zero_sum.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

namespace ramify {
namespace {

constexpr double kGap = 1e-13;  // a larger gap, on payoffs of span 1, is worth solving the final basis anew
constexpr int kSmall = 32;      // the largest game that lives on the stack

// What counts as 0 in a tableau whose first entries lie in [1, 2].
template <class Real>
struct Zero {
  static constexpr Real kUnit = std::numeric_limits<Real>::epsilon();
  static constexpr Real kReduced = 4096 * kUnit;  // a reduced cost above -kReduced does not improve
  static constexpr Real kPivot = 65536 * kUnit;   // the least pivot
  static constexpr Real kRatio = 64 * kUnit;      // rows whose ratios are closer tie
};

// Room for `size` values: on the stack when they are few.
template <class T, int kRoom>
class Buffer {
 public:
  explicit Buffer(int size) {
    if (size > kRoom) heap_ = std::make_unique<T[]>(static_cast<std::size_t>(size));
    data_ = heap_ ? heap_.get() : room_.data();
  }
  T& operator[](int i) { return data_[i]; }
  T* data() { return data_; }

 private:
  std::array<T, kRoom> room_;
  std::unique_ptr<T[]> heap_;
  T* data_;
};

// max sum q subject to M q <= 1, q >= 0, for M with entries in [1, 2]. Each row says
//   basic = right side - sum over columns of entry * nonbasic,
// and pivoting exchanges the variables of one row and one column in place. Variables below n0 are slacks of rows.
template <class Real>
class Tableau {
 public:
  Tableau(const double* payoffs, int n0, int n1, double low, double span)
      : n0_(n0), n1_(n1), width_(n1 + 1), entry_((n0 + 1) * (n1 + 1)), basic_(n0), nonbasic_(n1) {
    for (int i = 0; i < n0; ++i) {
      for (int j = 0; j < n1; ++j) at(i, j) = Real(1) + (Real(payoffs[i * n1 + j]) - Real(low)) / Real(span);
      at(i, n1) = 1.0;
      basic_[i] = i;
    }
    for (int j = 0; j < n1; ++j) {
      at(n0, j) = -1.0;
      nonbasic_[j] = n0 + j;
    }
    at(n0, n1) = 0.0;
  }

  // Pivots to the optimum. The steepest column is quick but can cycle where rows tie; after a while without progress
  // Bland's rule, which cannot, takes over. `bland` uses it from the start.
  void solve(bool bland) {
    int stalled = 0;
    for (int count = 0; count < 200 * (n0_ + n1_ + 10); ++count) {
      const bool careful = bland || stalled > n0_ + n1_;
      const int column = entering(careful);
      if (column < 0) return;
      const int row = leaving(column, careful);
      if (row < 0) return;  // impossible on exact numbers: the feasible set is bounded
      const Real before = at(n0_, n1_);
      pivot(row, column);
      stalled = at(n0_, n1_) > before + Zero<Real>::kReduced ? 0 : stalled + 1;
    }
  }

  // Strategies of the final basis. With `anew`, solved once more from the payoffs, free of the rounding of the pivots.
  void strategies(const double* payoffs, double low, double span, bool anew, double* x, double* y) {
    std::fill(x, x + n0_, 0.0);
    std::fill(y, y + n1_, 0.0);
    for (int j = 0; j < n1_; ++j)
      if (nonbasic_[j] < n0_) x[nonbasic_[j]] = static_cast<double>(at(n0_, j));
    for (int i = 0; i < n0_; ++i)
      if (basic_[i] >= n0_) y[basic_[i] - n0_] = static_cast<double>(at(i, n1_));
    if (anew) refine(payoffs, low, span, x, y);
    normalise(x, n0_);
    normalise(y, n1_);
  }

 private:
  Real& at(int i, int j) { return entry_[i * width_ + j]; }

  int entering(bool careful) {
    int best = -1;
    for (int j = 0; j < n1_; ++j) {
      if (at(n0_, j) >= -Zero<Real>::kReduced) continue;
      if (best < 0 || (careful ? nonbasic_[j] < nonbasic_[best] : at(n0_, j) < at(n0_, best))) best = j;
    }
    return best;
  }

  int leaving(int column, bool careful) {
    int best = -1;
    Real least = 0;
    for (int i = 0; i < n0_; ++i) {
      const Real entry = at(i, column);
      if (entry <= Zero<Real>::kPivot) continue;
      const Real ratio = std::max(at(i, n1_), Real(0)) / entry;
      const bool ties = best >= 0 && std::abs(ratio - least) <= Zero<Real>::kRatio;
      const bool wins = ties && (careful ? basic_[i] < basic_[best] : entry > at(best, column));
      if (best < 0 || (ties ? wins : ratio < least)) best = i, least = ratio;
    }
    return best;
  }

  void pivot(int row, int column) {
    Real* chosen = &at(row, 0);
    const Real inverse = 1 / chosen[column];
    for (int j = 0; j < width_; ++j) chosen[j] *= inverse;
    chosen[column] = inverse;
    for (int i = 0; i <= n0_; ++i) {
      if (i == row) continue;
      Real* other = &at(i, 0);
      const Real factor = other[column];
      if (factor == 0) continue;
      other[column] = 0;
      for (int j = 0; j < width_; ++j) other[j] -= factor * chosen[j];
    }
    std::swap(basic_[row], nonbasic_[column]);
  }

  // Rows that are tight (slack not basic) and columns in the basis are equally many; they give square equations
  // M q = 1 and p M = 1.
  void refine(const double* payoffs, double low, double span, double* x, double* y) {
    Buffer<int, kSmall> rows(n0_), columns(n1_);
    int size = 0, other = 0;
    for (int j = 0; j < n1_; ++j)
      if (nonbasic_[j] < n0_) rows[size++] = nonbasic_[j];
    for (int i = 0; i < n0_; ++i)
      if (basic_[i] >= n0_) columns[other++] = basic_[i] - n0_;
    if (size != other || size == 0) return;
    Buffer<double, kSmall*(kSmall + 1)> square(size * (size + 1));
    for (const bool transposed : {false, true}) {
      for (int i = 0; i < size; ++i) {
        for (int j = 0; j < size; ++j) {
          const int r = rows[transposed ? j : i], c = columns[transposed ? i : j];
          square[i * (size + 1) + j] = 1.0 + (payoffs[r * n1_ + c] - low) / span;
        }
        square[i * (size + 1) + size] = 1.0;
      }
      if (!eliminate(square.data(), size)) return;
      for (int k = 0; k < size; ++k) (transposed ? x[rows[k]] : y[columns[k]]) = square[k * (size + 1) + size];
    }
  }

  // Gauss-Jordan with partial pivoting on [size, size + 1]; the solution replaces the last column.
  static bool eliminate(double* square, int size) {
    const int width = size + 1;
    for (int k = 0; k < size; ++k) {
      int best = k;
      for (int i = k + 1; i < size; ++i)
        if (std::abs(square[i * width + k]) > std::abs(square[best * width + k])) best = i;
      if (std::abs(square[best * width + k]) < 1e-14) return false;
      std::swap_ranges(square + best * width, square + best * width + width, square + k * width);
      for (int i = 0; i < size; ++i) {
        if (i == k) continue;
        const double factor = square[i * width + k] / square[k * width + k];
        for (int j = k; j < width; ++j) square[i * width + j] -= factor * square[k * width + j];
      }
    }
    for (int k = 0; k < size; ++k) square[k * width + size] /= square[k * width + k];
    return true;
  }

  static void normalise(double* strategy, int n) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) sum += strategy[i] = std::max(strategy[i], 0.0);
    for (int i = 0; i < n; ++i) strategy[i] = sum > 0.0 ? strategy[i] / sum : 1.0 / n;
  }

  int n0_, n1_, width_;
  Buffer<Real, (kSmall + 1) * (kSmall + 1)> entry_;
  Buffer<int, kSmall> basic_, nonbasic_;
};

// What each outcome earns against the other's strategy; fills value and gap.
class Replies {
 public:
  Replies(const double* payoffs, int n0, int n1) : payoffs_(payoffs), n0_(n0), n1_(n1), rows_(n0), columns_(n1) {}

  void judge(const double* x, const double* y, ZeroSum& result) {
    std::fill(columns_.data(), columns_.data() + n1_, 0.0);
    for (int i = 0; i < n0_; ++i) {
      double earned = 0.0;
      for (int j = 0; j < n1_; ++j) {
        earned += payoffs_[i * n1_ + j] * y[j];
        columns_[j] += payoffs_[i * n1_ + j] * x[i];
      }
      rows_[i] = earned;
    }
    upper_ = *std::max_element(rows_.data(), rows_.data() + n0_);
    lower_ = *std::min_element(columns_.data(), columns_.data() + n1_);
    result.value = 0.5 * (upper_ + lower_);
    result.gap = std::max(upper_ - lower_, 0.0);
  }

  // Optimal strategies of which every best reply is played, on a square of outcomes, are the only ones.
  bool unique(const double* x, const double* y, double slack) {
    int used[2] = {0, 0};
    for (int i = 0; i < n0_; ++i) {
      const bool plays = x[i] > kTie;
      used[0] += plays;
      if (plays != (rows_[i] >= upper_ - slack)) return false;
    }
    for (int j = 0; j < n1_; ++j) {
      const bool plays = y[j] > kTie;
      used[1] += plays;
      if (plays != (columns_[j] <= lower_ + slack)) return false;
    }
    return used[0] == used[1];
  }

 private:
  const double* payoffs_;
  int n0_, n1_;
  Buffer<double, kSmall> rows_, columns_;
  double upper_ = 0.0, lower_ = 0.0;
};

// A row whose least payoff is the greatest of its column: both players have an optimal outcome. The greatest of the
// rows' least payoffs against the least of the columns' greatest.
bool saddle(const double* payoffs, int n0, int n1, double* x, double* y) {
  Buffer<double, kSmall> greatest(n1);
  std::copy(payoffs, payoffs + n1, greatest.data());
  int row = 0, column = 0;
  double maximin = 0.0;
  for (int i = 0; i < n0; ++i) {
    const double* entries = payoffs + i * n1;
    const double least = *std::min_element(entries, entries + n1);
    if (i == 0 || least > maximin) maximin = least, row = i;
    for (int j = 0; j < n1; ++j) greatest[j] = std::max(greatest[j], entries[j]);
  }
  for (int j = 1; j < n1; ++j)
    if (greatest[j] < greatest[column]) column = j;
  if (greatest[column] > maximin) return false;
  std::fill(x, x + n0, 0.0);
  std::fill(y, y + n1, 0.0);
  x[row] = y[column] = 1.0;
  return true;
}

// The simplex method in the precision of Real, and what its strategies are worth.
template <class Real>
ZeroSum pivoted(const double* payoffs, int n0, int n1, double low, double span, double* x, double* y,
                Replies& replies) {
  Tableau<Real> tableau(payoffs, n0, n1, low, span);
  tableau.solve(sizeof(Real) > sizeof(double));
  ZeroSum result, again;
  tableau.strategies(payoffs, low, span, false, x, y);
  replies.judge(x, y, result);
  if (result.gap <= kGap * span) return result;
  tableau.strategies(payoffs, low, span, true, x, y);
  replies.judge(x, y, again);
  if (again.gap <= result.gap) return again;
  tableau.strategies(payoffs, low, span, false, x, y);
  replies.judge(x, y, result);
  return result;
}

}  // namespace

ZeroSum solve_zero_sum(const double* payoffs, int n0, int n1, double* x, double* y, double tolerance) {
  const auto [low, high] = std::minmax_element(payoffs, payoffs + n0 * n1);
  const double span = *high - *low;
  Replies replies(payoffs, n0, n1);
  ZeroSum result;
  if (saddle(payoffs, n0, n1, x, y)) {
    replies.judge(x, y, result);
  } else {
    result = pivoted<double>(payoffs, n0, n1, *low, span, x, y, replies);
    if (result.gap > kTie * span) result = pivoted<long double>(payoffs, n0, n1, *low, span, x, y, replies);
  }
  result.unique = replies.unique(x, y, tolerance * span);
  return result;
}

double zero_sum_value(const double* payoffs, int n0, int n1, double* x, double* y) {
  Buffer<double, 2 * kSmall> own(n0 + n1);
  return solve_zero_sum(payoffs, n0, n1, x ? x : own.data(), y ? y : own.data() + n0).value;
}

}  // namespace ramify
