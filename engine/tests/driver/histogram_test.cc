#include "driver/histogram.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "driver/latency_distribution.h"
#include "model/random.h"

namespace heddle {
namespace {

constexpr double kRelativeError = 1.0 / 32;
constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max();

double quantile(const Histogram& histogram, double q) {
  return LatencyDistribution(histogram, Histogram{}).quantile(q);
}

TEST(Histogram, OfNothingIsZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.mean(), 0.0);
  EXPECT_EQ(quantile(histogram, 0.5), 0.0);
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t value = 0; value < 32; ++value) histogram.add(value);
  EXPECT_EQ(quantile(histogram, 0.0), 0.0);
  EXPECT_EQ(quantile(histogram, 0.5), 15.0);
  EXPECT_EQ(quantile(histogram, 1.0), 31.0);
  EXPECT_EQ(histogram.mean(), 15.5);
}

/// One value at a time: any quantile is that value, to the promised precision.
TEST(Histogram, AnyValueIsFoundAgain) {
  std::vector<std::uint64_t> values{0, 1, 31, 32, 33, 63, 64, 65, kLargest - 1, kLargest};
  for (int shift = 6; shift < 64; ++shift) {
    const std::uint64_t power = std::uint64_t{1} << shift;
    values.insert(values.end(), {power - 1, power, power + 1, power + power / 2});
  }
  for (const std::uint64_t value : values) {
    Histogram histogram;
    histogram.add(value);
    const auto exact = static_cast<double>(value);
    EXPECT_NEAR(quantile(histogram, 0.5), exact, exact * kRelativeError) << value;
    EXPECT_EQ(histogram.max(), value);
  }
}

TEST(Histogram, QuantilesAreThoseOfTheValues) {
  Random random(1);
  Histogram histogram;
  std::vector<double> values;
  double sum = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t value = random.below(std::uint64_t{1} << (4 + random.below(30)));
    histogram.add(value);
    values.push_back(static_cast<double>(value));
    sum += static_cast<double>(value);
  }
  std::sort(values.begin(), values.end());
  for (const double q : {0.001, 0.01, 0.1, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0}) {
    const auto rank = static_cast<std::size_t>(std::ceil(q * 20'000)) - 1;
    EXPECT_NEAR(quantile(histogram, q), values[rank], values[rank] * kRelativeError + 0.5) << q;
  }
  EXPECT_EQ(histogram.count(), 20'000U);
  EXPECT_NEAR(histogram.mean(), sum / 20'000, 1e-6 * sum / 20'000);
  EXPECT_EQ(static_cast<double>(histogram.max()), values.back());
}

TEST(Histogram, NoQuantileExceedsTheLargestValue) {
  Histogram histogram;
  for (int i = 0; i < 100; ++i) histogram.add(1024);  // the lower end of a bucket
  EXPECT_EQ(quantile(histogram, 0.5), 1024.0);
  EXPECT_EQ(quantile(histogram, 1.0), 1024.0);
}

TEST(Histogram, MergedIsAsIfAllHadBeenAddedToOne) {
  Random random(2);
  Histogram one;
  Histogram other;
  Histogram all;
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t value = random.below(1'000'000);
    (i % 3 == 0 ? one : other).add(value);
    all.add(value);
  }
  one.merge(other);
  EXPECT_EQ(one.count(), all.count());
  EXPECT_EQ(one.max(), all.max());
  EXPECT_EQ(one.mean(), all.mean());
  for (const double q : {0.1, 0.5, 0.99}) EXPECT_EQ(quantile(one, q), quantile(all, q));
}

TEST(Histogram, ClearedIsEmpty) {
  Histogram histogram;
  histogram.add(7);
  histogram.clear();
  EXPECT_EQ(histogram.count(), 0U);
  EXPECT_EQ(histogram.max(), 0U);
  EXPECT_EQ(histogram.mean(), 0.0);
  EXPECT_EQ(quantile(histogram, 0.5), 0.0);
}

}  // namespace
}  // namespace heddle
