#include "model/random.h"

#include <array>
#include <cmath>
#include <set>

#include <gtest/gtest.h>

namespace heddle {
namespace {

TEST(Random, SameSeedSameNumbers) {
  Random a(7);
  Random b(7);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(a.next(), b.next());
}

TEST(Random, DifferentSeedsAndStreamsDiffer) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    firsts.insert(Random(seed).next());
    for (std::uint64_t part = 1; part < 100; ++part) {
      firsts.insert(Random::stream(seed, part).next());
    }
  }
  EXPECT_EQ(firsts.size(), 100U * 100U);
}

TEST(Random, FirstNumbersOfTheReferenceImplementation) {
  // xoshiro256** from the state that SplitMix64 makes of seed 0 begins with this number.
  EXPECT_EQ(Random(0).next(), 0x99ec5f36cb75f2b4U);
}

TEST(Random, BelowIsUniform) {
  constexpr int kCells = 10;
  constexpr int kDraws = 100'000;
  Random random(3);
  std::array<int, kCells> counts{};
  for (int i = 0; i < kDraws; ++i) ++counts.at(random.below(kCells));
  constexpr double kExpected = double{kDraws} / kCells;
  for (const int count : counts) EXPECT_NEAR(count, kExpected, 6 * std::sqrt(kExpected));
}

TEST(Random, BetweenIncludesBothEnds) {
  Random random(5);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(random.between(-2, 2));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2}));
  EXPECT_EQ(random.between(9, 9), 9);
}

TEST(Random, UnitStaysBelowOne) {
  Random random(11);
  double sum = 0;
  for (int i = 0; i < 100'000; ++i) {
    const double u = random.unit();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
  }
  EXPECT_NEAR(sum / 100'000, 0.5, 0.01);
}

TEST(Random, ScaleCoversItsRange) {
  EXPECT_EQ(Random::scale(0, 10), 0U);
  EXPECT_EQ(Random::scale(0xffff'ffff, 10), 9U);
}

}  // namespace
}  // namespace heddle
