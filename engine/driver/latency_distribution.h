#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "driver/histogram.h"

namespace heddle {

/// The distribution of a type's latency, from transactions that ended in the window and those that
/// its end cut off.
///
/// The latency of the latter is only known to exceed their age (it is censored). Leaving them out
/// would reward a policy that keeps a type waiting beyond the window: its slowest transactions
/// would be missing. The product-limit estimator (Kaplan and Meier, "Nonparametric estimation from
/// incomplete observations", JASA 53, 1958) gives the ended ones the weight of those that were cut
/// off before them. What remains beyond the longest ended one is taken to have ended at the
/// greatest age.
class LatencyDistribution {
 public:
  LatencyDistribution(const Histogram& ended, const Histogram& cut_off) {
    std::uint64_t at_risk = ended.count() + cut_off.count();
    double alive = 1;
    for (std::size_t bucket = 0; bucket < Histogram::buckets() && at_risk != 0; ++bucket) {
      const std::uint64_t ends = ended.count_in(bucket);
      if (ends != 0) {
        const double weight = alive * static_cast<double>(ends) / static_cast<double>(at_risk);
        const auto greatest = static_cast<double>(ended.max());
        points_.push_back({std::min(Histogram::middle_of(bucket), greatest), weight});
        alive -= weight;
      }
      at_risk -= ends + cut_off.count_in(bucket);
    }
    max_ = static_cast<double>(std::max(ended.max(), cut_off.max()));
    if (alive > kRounding) points_.push_back({max_, alive});
    mean_ = ended.mean();
    // The exact mean of the ended ones, corrected by what the estimator adds.
    if (cut_off.count() != 0) mean_ *= ratio_to_ended(ended);
  }

  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double max() const { return max_; }

  /// The value below which a share `q` of the latencies lie; 0 if there are none.
  [[nodiscard]] double quantile(double q) const {
    double below = 0;
    for (const Point& point : points_) {
      below += point.weight;
      if (below >= q - kRounding) return point.value;
    }
    return max_;
  }

  /// The p-th root of the mean p-th power: the L_p norm of the latencies (predictability thesis,
  /// eq. 3.1) divided by that of as many ones, so that runs of different lengths compare.
  [[nodiscard]] double norm(int p) const {
    if (max_ == 0) return 0;
    double sum = 0;
    for (const Point& point : points_) sum += point.weight * std::pow(point.value / max_, p);
    return max_ * std::pow(sum, 1.0 / p);
  }

 private:
  struct Point {
    double value;
    double weight;
  };

  static constexpr double kRounding = 1e-9;

  [[nodiscard]] double ratio_to_ended(const Histogram& ended) const {
    double estimated = 0;
    for (const Point& point : points_) estimated += point.weight * point.value;
    double plain = 0;
    for (std::size_t bucket = 0; bucket < Histogram::buckets(); ++bucket) {
      plain += static_cast<double>(ended.count_in(bucket)) * Histogram::middle_of(bucket);
    }
    return plain == 0 ? 1 : estimated * static_cast<double>(ended.count()) / plain;
  }

  std::vector<Point> points_;  ///< in the order of their values; the weights sum to 1
  double mean_ = 0;
  double max_ = 0;
};

}  // namespace heddle
