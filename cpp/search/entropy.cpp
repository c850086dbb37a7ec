#include "search/entropy.hpp"

#include <algorithm>
#include <cmath>

namespace ramify {
namespace {

using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

// Orthonormal directions that span the differences of the vertices (Gram-Schmidt, twice against rounding, the longest
// remaining difference first).
Strategies directions(const Strategies& vertices, const Vector& centre) {
  Strategies rest, found;
  for (const Vector& vertex : vertices) {
    rest.push_back(vertex);
    for (std::size_t i = 0; i < centre.size(); ++i) rest.back()[i] -= centre[i];
  }
  while (found.size() < centre.size()) {
    const auto longest = std::max_element(rest.begin(), rest.end(),
                                          [](const Vector& a, const Vector& b) { return dot(a, a) < dot(b, b); });
    const double length = std::sqrt(dot(*longest, *longest));
    if (length < 1e-8) break;
    Vector unit = *longest;
    for (double& entry : unit) entry /= length;
    for (Vector& difference : rest)
      for (int again = 0; again < 2; ++again) {
        const double along = dot(difference, unit);
        for (std::size_t i = 0; i < unit.size(); ++i) difference[i] -= along * unit[i];
      }
    found.push_back(std::move(unit));
  }
  return found;
}

// sum x log x - weight * sum log slack over x = centre + sum u_k direction_k, as a function of u. Only coordinates and
// constraints that are positive at the centre take part: the others are 0 on the whole hull.
class Barrier {
 public:
  Barrier(const Vector& centre, const Strategies& along, const Strategies& constraints) : size_(along.size()) {
    for (std::size_t i = 0; i < centre.size(); ++i)
      if (centre[i] > 1e-12) take(centre[i], along, [&](const Vector& d) { return d[i]; });
    coordinates_ = at_centre_.size();
    for (const Vector& row : constraints)
      if (const double slack = dot(row, centre); slack > 1e-13)
        take(slack, along, [&](const Vector& d) { return dot(row, d); });
  }

  // Greater than any value where x or a slack is not positive.
  double value(const Vector& u, double weight) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < at_centre_.size(); ++i) {
      const double t = at_centre_[i] + dot(slopes_[i], u);
      if (t <= 0.0) return HUGE_VAL;
      sum += i < coordinates_ ? t * std::log(t) : -weight * std::log(t);
    }
    return sum;
  }

  // Newton's step from u, and the decrease it promises.
  double newton(const Vector& u, double weight, Vector& move) const {
    Vector gradient(size_, 0.0), hessian(size_ * size_, 0.0);
    for (std::size_t i = 0; i < at_centre_.size(); ++i) {
      const double t = at_centre_[i] + dot(slopes_[i], u);
      const double first = i < coordinates_ ? std::log(t) + 1.0 : -weight / t;
      const double second = i < coordinates_ ? 1.0 / t : weight / (t * t);
      for (std::size_t a = 0; a < size_; ++a) {
        gradient[a] += first * slopes_[i][a];
        for (std::size_t b = 0; b <= a; ++b) hessian[a * size_ + b] += second * slopes_[i][a] * slopes_[i][b];
      }
    }
    move = gradient;
    solve(hessian, move);
    for (double& entry : move) entry = -entry;
    return -dot(gradient, move);
  }

 private:
  template <class F>
  void take(double centre, const Strategies& along, F slope) {
    at_centre_.push_back(centre);
    Vector& row = slopes_.emplace_back();
    for (const Vector& direction : along) row.push_back(slope(direction));
  }

  // Cholesky; only the lower triangle is read.
  void solve(Vector& a, Vector& right) const {
    for (std::size_t i = 0; i < size_; ++i)
      for (std::size_t j = 0; j <= i; ++j) {
        double sum = a[i * size_ + j];
        for (std::size_t k = 0; k < j; ++k) sum -= a[i * size_ + k] * a[j * size_ + k];
        a[i * size_ + j] = i == j ? std::sqrt(std::max(sum, 1e-300)) : sum / a[j * size_ + j];
      }
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t k = 0; k < i; ++k) right[i] -= a[i * size_ + k] * right[k];
      right[i] /= a[i * size_ + i];
    }
    for (std::size_t i = size_; i-- > 0;) {
      for (std::size_t k = i + 1; k < size_; ++k) right[i] -= a[k * size_ + i] * right[k];
      right[i] /= a[i * size_ + i];
    }
  }

  std::size_t size_, coordinates_ = 0;
  Vector at_centre_;
  Strategies slopes_;
};

void minimise(const Barrier& barrier, double weight, Vector& u) {
  Vector move, next;
  for (int count = 0; count < 50; ++count) {
    const double decrease = barrier.newton(u, weight, move);
    if (!(decrease > 1e-15)) return;
    const double before = barrier.value(u, weight);
    double length = 1.0;
    do {
      next = u;
      for (std::size_t k = 0; k < u.size(); ++k) next[k] += length * move[k];
      length *= 0.5;
    } while (barrier.value(next, weight) > before - 0.2 * length * decrease && length > 1e-12);
    if (length <= 1e-12) return;
    u = next;
  }
}

}  // namespace

std::vector<double> centroid(const Strategies& strategies) {
  std::vector<double> mean(strategies.front().size(), 0.0);
  for (const Vector& strategy : strategies)
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += strategy[i] / static_cast<double>(strategies.size());
  return mean;
}

std::vector<double> maximum_entropy(const Strategies& vertices, const Strategies& constraints) {
  Vector x = centroid(vertices);
  const Strategies along = directions(vertices, x);
  if (along.empty()) return x;
  const Barrier barrier(x, along, constraints);
  Vector u(along.size(), 0.0);
  for (double weight = 1e-2; weight > 1e-14; weight *= 0.1) minimise(barrier, weight, u);
  double sum = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t k = 0; k < u.size(); ++k) x[i] += u[k] * along[k][i];
    sum += x[i] = std::max(x[i], 0.0);
  }
  for (double& probability : x) probability /= sum;
  return x;
}

}  // namespace ramify
