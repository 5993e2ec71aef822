#include "driver/latency_distribution.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "driver/histogram.h"
#include "model/random.h"

namespace heddle {
namespace {

Histogram of(const std::vector<std::uint64_t>& values) {
  Histogram histogram;
  for (const std::uint64_t value : values) histogram.add(value);
  return histogram;
}

TEST(LatencyDistribution, OfNothingIsZero) {
  const LatencyDistribution nothing(Histogram{}, Histogram{});
  EXPECT_EQ(nothing.mean(), 0.0);
  EXPECT_EQ(nothing.quantile(0.99), 0.0);
  EXPECT_EQ(nothing.norm(2), 0.0);
  EXPECT_EQ(nothing.max(), 0.0);
}

TEST(LatencyDistribution, WithoutCutOffOnesDescribesThoseThatEnded) {
  const LatencyDistribution latency(of({1, 2, 3, 10}), Histogram{});
  EXPECT_EQ(latency.mean(), 4.0);
  EXPECT_EQ(latency.quantile(0.25), 1.0);
  EXPECT_EQ(latency.quantile(0.5), 2.0);
  EXPECT_EQ(latency.quantile(1.0), 10.0);
  EXPECT_NEAR(latency.norm(2), std::sqrt((1.0 + 4 + 9 + 100) / 4), 1e-9);
}

/// The example that Kaplan and Meier's estimator is defined by, worked by hand: of 4 at risk one
/// ends at 1, one is cut off at 2, so that each of the two that are left has 3/8.
TEST(LatencyDistribution, GivesTheWeightOfCutOffOnesToLaterOnes) {
  const LatencyDistribution latency(of({1, 3, 5}), of({2}));
  EXPECT_EQ(latency.quantile(0.25), 1.0);
  EXPECT_EQ(latency.quantile(0.62), 3.0);
  EXPECT_EQ(latency.quantile(0.63), 5.0);
  EXPECT_NEAR(latency.mean(), 1 * 0.25 + 3 * 0.375 + 5 * 0.375, 1e-9);
}

TEST(LatencyDistribution, TakesTheOldestForEndedIfItWasCutOff) {
  const LatencyDistribution latency(of({1, 1, 1}), of({20}));
  EXPECT_EQ(latency.quantile(0.75), 1.0);
  EXPECT_EQ(latency.quantile(0.76), 20.0);
  EXPECT_EQ(latency.max(), 20.0);
}

/// A window cuts off a third of all transactions, the slowest ones most often. The estimate is that
/// of the uncut latencies; those that ended alone have a 90th percentile of little more than half.
TEST(LatencyDistribution, EstimatesWhatAWindowCutsOff) {
  Random random(1);
  Histogram all;
  Histogram ended;
  Histogram cut_off;
  for (int at = 0; at < 200'000; ++at) {
    const double mean = 1000;
    const auto latency = static_cast<std::uint64_t>(
        -mean * std::log1p(-static_cast<double>(random.below(1'000'000)) / 1e6));
    const std::uint64_t left = random.below(3000);
    all.add(latency);
    if (latency <= left) {
      ended.add(latency);
    } else {
      cut_off.add(left);
    }
  }
  const LatencyDistribution whole(all, Histogram{});
  const LatencyDistribution estimate(ended, cut_off);
  EXPECT_NEAR(estimate.quantile(0.9), whole.quantile(0.9), 0.04 * whole.quantile(0.9));
  EXPECT_NEAR(estimate.mean(), whole.mean(), 0.07 * whole.mean());
  EXPECT_LT(LatencyDistribution(ended, Histogram{}).quantile(0.9), 0.75 * whole.quantile(0.9));
}

}  // namespace
}  // namespace heddle
