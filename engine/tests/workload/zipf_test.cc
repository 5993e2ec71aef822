#include "workload/zipf.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

namespace heddle {
namespace {

std::vector<double> exact_probabilities(std::size_t n, double theta) {
  std::vector<double> p(n);
  double sum = 0;
  for (std::size_t rank = 0; rank < n; ++rank) {
    p[rank] = std::pow(static_cast<double>(rank + 1), -theta);
    sum += p[rank];
  }
  for (double& value : p) value /= sum;
  return p;
}

struct Case {
  std::size_t n;
  double theta;
};

class ZipfDistribution : public testing::TestWithParam<Case> {};

/// Pearson's test of every rank, the rare ones of the tail taken together.
TEST_P(ZipfDistribution, IsExact) {
  constexpr int kDraws = 400'000;
  const auto [n, theta] = GetParam();
  const Zipf zipf(n, theta);
  Random random(17);
  std::vector<int> counts(n);
  for (int i = 0; i < kDraws; ++i) ++counts.at(zipf(random));

  const std::vector<double> p = exact_probabilities(n, theta);
  double statistic = 0;
  double cells = 0;
  double expected = 0;
  double seen = 0;
  for (std::size_t rank = 0; rank < n; ++rank) {
    expected += p[rank] * kDraws;
    seen += counts[rank];
    if (expected < 10 && rank + 1 < n) continue;
    if (expected > 0) statistic += (seen - expected) * (seen - expected) / std::max(expected, 1.0);
    ++cells;
    expected = seen = 0;
  }
  // Mean cells - 1, deviation sqrt(2 (cells - 1)): six deviations practically never occur by
  // chance.
  EXPECT_LT(statistic, cells - 1 + 6 * std::sqrt(2 * cells) + 10);
}

INSTANTIATE_TEST_SUITE_P(SizesAndSkews, ZipfDistribution,
                         testing::Values(Case{1, 0.99}, Case{2, 1}, Case{10, 0}, Case{100, 0.2},
                                         Case{100, 0.99}, Case{129, 0.5}, Case{1000, 0},
                                         Case{1000, 0.5}, Case{1000, 0.8}, Case{1000, 0.99},
                                         Case{1000, 1}, Case{4096, 0.8}, Case{5000, 1},
                                         Case{5000, 1.5}, Case{5000, 4}));

TEST(Zipf, StaysWithinLargeRanges) {
  constexpr std::uint64_t kRanks = 10'000'000;
  const Zipf zipf(kRanks, 0.8);
  Random random(1);
  std::uint64_t largest = 0;
  for (int i = 0; i < 100'000; ++i) largest = std::max(largest, zipf(random));
  EXPECT_LT(largest, kRanks);
  EXPECT_GT(largest, kRanks * 9 / 10);
}

TEST(Zipf, DifferentSeedsDiffer) {
  const Zipf zipf(1'000'000, 0.5);
  Random a(1);
  Random b(2);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) equal += zipf(a) == zipf(b);
  EXPECT_LT(equal, 50);
}

TEST(Zipf, RefusesWhatItCannotDraw) {
  EXPECT_THROW(Zipf(0, 0.5), std::invalid_argument);
  EXPECT_THROW(Zipf(10, -0.5), std::invalid_argument);
  EXPECT_THROW(Zipf(10, std::nan("")), std::invalid_argument);
}

TEST(Scatter, IsAPermutation) {
  for (const std::uint64_t n : {1U, 2U, 3U, 4U, 7U, 10U, 64U, 100U, 4096U, 99'991U, 100'000U}) {
    const Scatter scatter(n);
    std::vector<bool> seen(n);
    for (std::uint64_t rank = 0; rank < n; ++rank) {
      const std::uint64_t slot = scatter(rank);
      ASSERT_LT(slot, n);
      ASSERT_FALSE(seen[slot]) << "n = " << n << ": two ranks share slot " << slot;
      seen[slot] = true;
    }
  }
}

TEST(Scatter, KeepsHotRanksApart) {
  constexpr std::int64_t kSlots = 1'000'000;
  const Scatter scatter(kSlots);
  for (std::uint64_t a = 0; a < 50; ++a) {
    for (std::uint64_t b = a + 1; b < 50; ++b) {
      const auto distance =
          std::abs(static_cast<std::int64_t>(scatter(a)) - static_cast<std::int64_t>(scatter(b)));
      EXPECT_GT(std::min(distance, kSlots - distance), 1000);
    }
  }
}

TEST(Scatter, RefusesSizesThatWouldOverflow) {
  EXPECT_THROW(Scatter(0), std::invalid_argument);
  EXPECT_THROW(Scatter(std::uint64_t{1} << 32), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
