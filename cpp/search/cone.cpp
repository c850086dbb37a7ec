#include "search/cone.hpp"

#include <bit>

#include "base/error.hpp"

namespace ramify {

void Cone::add(std::span<const double> ray, Touched touched) {
  rays_.insert(rays_.end(), ray.begin(), ray.end());
  touched_.push_back(touched);
}

void Cone::cut_plane(std::span<const double> normal, double tolerance) {
  ++planes_;
  cut(normal, 0, tolerance);
}

// A face of two rays touches at least size - 2 half-spaces (fewer by the planes cut, which have no bit), and no third
// ray touches all of them.
bool Cone::neighbours(int a, int b) {
  const Touched common = touched(a) & touched(b);
  if (std::popcount(common) < size_ - 2 - planes_) return false;
  for (int k = 0; k < count(); ++k)
    if ((touched(k) & common) == common && k != a && k != b) {
      looks_ += k;
      return false;
    }
  looks_ += count();
  return true;
}

void Cone::join(int inner, int outer, double inner_slack, double outer_slack, Touched bit, Cone& next) const {
  if (next.count() >= kMaxRays || looks_ > kMaxLooks)
    throw InvalidInput("too many extreme strategies to list; leave out outcomes, or in a constant-sum game "
                       "choose \"any\"");
  const auto a = ray(inner), b = ray(outer);
  const std::size_t start = next.rays_.size();
  double sum = 0.0;
  for (int i = 0; i < size_; ++i) {
    next.rays_.push_back(a[i] * -outer_slack + b[i] * inner_slack);
    if (i < weighed_) sum += next.rays_.back();
  }
  for (std::size_t k = start; k < next.rays_.size(); ++k) next.rays_[k] /= sum;
  next.touched_.push_back((touched(inner) & touched(outer)) | bit);
}

// bit 0: a plane, of which both sides go.
void Cone::cut(std::span<const double> normal, Touched bit, double tolerance) {
  std::vector<double> slacks(touched_.size());
  std::vector<int> inside, outside;
  Cone next(size_, weighed_);
  next.planes_ = planes_;
  next.looks_ = looks_;
  for (int k = 0; k < count(); ++k) {
    double slack = 0.0;
    for (int i = 0; i < size_; ++i) slack += normal[i] * ray(k)[i];
    slacks[k] = slack;
    if (slack > tolerance) inside.push_back(k);
    else if (slack < -tolerance) outside.push_back(k);
    else next.add(ray(k), touched(k) | bit);
    if (slack > tolerance && bit) next.add(ray(k), touched(k));
  }
  if (outside.empty() && bit) {
    *this = std::move(next);
    return;
  }
  for (const int a : inside)
    for (const int b : outside)
      if (neighbours(a, b))
        join(a, b, slacks[a], slacks[b], bit, next);
  next.looks_ = looks_;
  *this = std::move(next);
}

}  // namespace ramify
