#include "machine/core_log.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "machine/sampling.h"
#include "machine/timeline.h"

namespace heddle {
namespace {

constexpr std::uint16_t kCore = 3;
constexpr std::uint16_t kSomething = 7;
constexpr std::uint64_t kOrigin = 1'000'000;
constexpr std::uint64_t kLength = 500;

Stretches always() { return {kOrigin, kLength, 1.0}; }

TEST(Stretches, AShareOfOneIsEverything) {
  Stretches stretches = always();
  for (std::uint64_t time = kOrigin; time < kOrigin + 20 * kLength; time += 7) {
    EXPECT_TRUE(stretches.contains(time)) << time;
  }
}

TEST(Stretches, OnePerPeriodAtADifferentPlace) {
  constexpr std::uint64_t kPeriods = 200;
  constexpr double kShare = 0.1;
  Stretches stretches(kOrigin, kLength, kShare);
  std::vector<std::uint64_t> places;
  std::uint64_t inside = 0;
  bool before = false;
  constexpr std::uint64_t kPeriod = kLength * 10;
  for (std::uint64_t time = kOrigin; time < kOrigin + kPeriods * kPeriod; ++time) {
    const bool now = stretches.contains(time);
    if (now && !before) places.push_back((time - kOrigin) % kPeriod);
    before = now;
    inside += now ? 1 : 0;
  }
  // Two stretches may touch, and then begin once.
  EXPECT_GE(places.size(), kPeriods - 5);
  EXPECT_EQ(inside, kPeriods * kLength);
  std::uint64_t early = 0;
  for (const std::uint64_t place : places) early += place < kPeriod / 2 ? 1 : 0;
  EXPECT_GT(early, kPeriods / 4);
  EXPECT_LT(early, kPeriods * 3 / 4);
}

TEST(Stretches, AreTheSameHoweverOftenACoreAsks) {
  Stretches often(kOrigin, kLength, 0.3);
  Stretches seldom(kOrigin, kLength, 0.3);
  for (std::uint64_t time = kOrigin; time < kOrigin + 100 * kLength; ++time) {
    const bool inside = often.contains(time);
    if (time % 1711 == 0) {
      EXPECT_EQ(seldom.contains(time), inside) << time;
    }
  }
}

TEST(CoreLog, RecordsOnceTheWindowHasBegun) {
  std::atomic<bool> full{false};
  std::array<TimelineEvent, 10> place{};
  CoreLog log(kCore, place, always(), {}, full);
  EXPECT_FALSE(log.records(kOrigin));
  log.open();
  EXPECT_TRUE(log.records(kOrigin + 1));
}

TEST(CoreLog, CountsWhatDoesNotFitAndStopsAllCores) {
  std::atomic<bool> full{false};
  std::array<TimelineEvent, 2> place{};
  CoreLog log(kCore, place, always(), {}, full);
  CoreLog other(kCore, {}, always(), {}, full);
  other.open();
  for (std::uint64_t time = 0; time < 2; ++time) log.add(time, kSomething, 0, 0);
  EXPECT_TRUE(other.records(kOrigin));
  log.add(2, kSomething, 0, 0);
  EXPECT_FALSE(other.records(kOrigin));
  EXPECT_EQ(log.events().size(), 2U);
  EXPECT_EQ(log.dropped(), 1U);
  log.add_spin(3, 4, false);
  EXPECT_EQ(log.events().back().time, 1U);
}

TEST(CoreLog, ASpinningWaitIsOneEvent) {
  std::atomic<bool> full{false};
  std::array<TimelineEvent, 10> place{};
  CoreLog log(kCore, place, always(), {}, full);
  log.add_spin(10, 12, true);
  log.add_spin(13, 17, false);
  log.add_spin(20, 21, true);
  ASSERT_EQ(log.events().size(), 2U);
  EXPECT_EQ(log.events()[0].time, 10U);
  EXPECT_EQ(log.events()[0].number, 7U);
  EXPECT_EQ(log.events()[0].what, Timeline::kSpun);
  EXPECT_EQ(log.events()[0].core, kCore);
  EXPECT_EQ(log.events()[1].number, 1U);
}

TEST(CoreLog, LeavesOutTheAccessesOfSkippedStates) {
  std::atomic<bool> full{false};
  constexpr std::array<std::uint32_t, 2> kSkipped{2, 5};
  const CoreLog log(kCore, {}, always(), kSkipped, full);
  for (const std::uint32_t state : {0U, 1U, 3U, 4U, 6U, 0xffffU}) {
    EXPECT_TRUE(log.records_access(state)) << state;
  }
  for (const std::uint32_t state : kSkipped) EXPECT_FALSE(log.records_access(state)) << state;
}

}  // namespace
}  // namespace heddle
