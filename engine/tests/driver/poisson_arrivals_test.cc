#include "driver/poisson_arrivals.h"

#include <cmath>
#include <vector>

#include <gtest/gtest.h>

namespace heddle {
namespace {

constexpr double kRate = 1e6;  // one arrival per microsecond
constexpr int kWorkers = 4;

/// The gaps between a worker's arrivals.
std::vector<double> gaps(PoissonArrivals& arrivals, int worker, int count) {
  std::vector<double> found;
  double before = 0;
  for (int at = 0; at < count; ++at) {
    found.push_back(arrivals.next_us(worker) - before);
    before = arrivals.next_us(worker);
    arrivals.take(worker);
  }
  return found;
}

/// A Poisson process: exponential gaps, whose mean and standard deviation are the same.
TEST(PoissonArrivals, GapsAreExponentialAtTheRateOfAWorker) {
  PoissonArrivals arrivals(kRate, kWorkers);
  arrivals.begin(1);
  constexpr int kCount = 40'000;
  for (int worker = 0; worker < kWorkers; ++worker) {
    double sum = 0;
    double squares = 0;
    for (const double gap : gaps(arrivals, worker, kCount)) {
      ASSERT_GE(gap, 0);
      sum += gap;
      squares += gap * gap;
    }
    const double mean = sum / kCount;
    EXPECT_NEAR(mean, kWorkers, 0.03 * kWorkers);
    EXPECT_NEAR(std::sqrt(squares / kCount - mean * mean), mean, 0.03 * mean);
  }
}

TEST(PoissonArrivals, CountsWhatHasArrivedAndWhatWasTaken) {
  PoissonArrivals arrivals(kRate, kWorkers);
  arrivals.begin(2);
  EXPECT_EQ(arrivals.arrived(0), 0);
  EXPECT_NEAR(arrivals.arrived(10'000), 10'000, 400);
  const double before = arrivals.arrived(500);
  double taken = 0;
  for (int worker = 0; worker < kWorkers; ++worker) {
    for (; arrivals.next_us(worker) < 500; ++taken) arrivals.take(worker);
  }
  EXPECT_EQ(taken, before);
  EXPECT_EQ(arrivals.begun(), before);
  EXPECT_EQ(arrivals.arrived(500), before) << "what was taken has arrived";
}

/// An hour at the highest rate is not counted one by one.
TEST(PoissonArrivals, ManyAreCountedByTheirMean) {
  PoissonArrivals arrivals(1e9, kWorkers);
  arrivals.begin(5);
  EXPECT_DOUBLE_EQ(arrivals.arrived(3.6e9), 3.6e12);
  EXPECT_NEAR(arrivals.arrived(3'999), 3'999'000, 12'000) << "one by one";
  EXPECT_NEAR(arrivals.arrived(4'001), 4'001'000, 12'000) << "by the mean";
}

TEST(PoissonArrivals, TheSeedDecidesTheProcessOfARun) {
  PoissonArrivals arrivals(kRate, kWorkers);
  arrivals.begin(3);
  const std::vector<double> first = gaps(arrivals, 0, 100);
  const std::vector<double> other = gaps(arrivals, 1, 100);
  EXPECT_NE(first, other) << "workers have streams of their own";
  arrivals.begin(3);
  EXPECT_EQ(arrivals.begun(), 0);
  EXPECT_EQ(gaps(arrivals, 0, 100), first);
  arrivals.begin(4);
  EXPECT_NE(gaps(arrivals, 0, 100), first);
}

}  // namespace
}  // namespace heddle
