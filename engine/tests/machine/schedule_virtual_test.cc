#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/schedule.h"
#include "machine/shared.h"
#include "machine/signal.h"
#include "machine/virtual.h"

/// Schedules other than the cost model's, and cores that can't continue under them.
namespace heddle {
namespace {

using M = VirtualMachine;
using Word = Shared<M, std::uint64_t>;
constexpr auto kRelaxed = std::memory_order_relaxed;

constexpr ScheduleOptions kClock{};
constexpr ScheduleOptions kDelays{.kind = ScheduleKind::delays, .delay_every = 5, .delay_us = 1};
constexpr ScheduleOptions kPriorities{.kind = ScheduleKind::priorities, .steps = 40};

/// Whether all cores ended.
bool run(
    int workers, const ScheduleOptions& schedule, std::uint64_t seed,
    const std::function<void(int)>& body,
    const std::function<bool()>& monitor = [] { return true; }) {
  M::resume_at(0);
  return M::run_crew(
      {.workers = workers, .machine = {.seed = seed, .skew_ns = 0, .schedule = schedule}},
      [&](M::Member& member) { body(member.worker()); }, monitor);
}

/// The order in which cores made their steps, with the time of each.
using Trace = std::vector<std::pair<int, M::Ticks>>;

Trace traced(const ScheduleOptions& schedule, std::uint64_t seed) {
  Trace trace;
  Word word;
  EXPECT_TRUE(run(5, schedule, seed, [&](int core) {
    for (int step = 0; step < 50; ++step) {
      word.fetch_add(1, kRelaxed);
      trace.emplace_back(core, M::now());
      if (step % 10 == core) M::pause();
    }
  }));
  EXPECT_EQ(word.peek(), 250U);
  return trace;
}

TEST(Schedule, TheSameSeedGivesTheSameRun) {
  for (const ScheduleOptions& schedule : {kClock, kDelays, kPriorities}) {
    EXPECT_EQ(traced(schedule, 3), traced(schedule, 3));
    EXPECT_NE(traced(schedule, 3), traced(schedule, 4));
  }
  EXPECT_NE(traced(kClock, 3), traced(kDelays, 3));
  EXPECT_NE(traced(kClock, 3), traced(kPriorities, 3));
}

TEST(Schedule, TimeNeverGoesBack) {
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const Trace trace = traced(kPriorities, seed);
    EXPECT_TRUE(std::is_sorted(trace.begin(), trace.end(), [](const auto& one, const auto& other) {
      return one.second < other.second;
    }));
  }
}

TEST(Schedule, CoresAreHeldUpAsOftenAndAsLongAsAskedFor) {
  constexpr int kSteps = 20'000;
  const auto us = [](const ScheduleOptions& schedule) {
    Word word;
    EXPECT_TRUE(run(1, schedule, 1, [&](int) {
      for (int step = 0; step < kSteps; ++step) (void)word.load(kRelaxed);
    }));
    return M::microseconds(M::now());
  };
  const auto held_up = [&](std::uint64_t every, double longest) {
    return us({.kind = ScheduleKind::delays, .delay_every = every, .delay_us = longest}) -
           us(kClock);
  };
  EXPECT_NEAR(held_up(1, 2), kSteps, 0.05 * kSteps) << "every time, for 1 us on average";
  EXPECT_NEAR(held_up(10, 1), kSteps / 20.0, 0.1 * kSteps / 20);
}

/// Core 0 goes through two phases, one right after the other, and early. Core 1 arrives later.
/// Whether core 1 sees the first phase and, if `both`, then the second.
bool seen(bool both, const ScheduleOptions& schedule, std::uint64_t seed) {
  constexpr int kElsewhere = 8;
  Word phase;
  std::vector<Word> elsewhere(64);
  bool found = false;
  EXPECT_TRUE(run(2, schedule, seed, [&](int core) {
    if (core == 0) {
      phase.store(1, kRelaxed);
      phase.store(2, kRelaxed);
    }
    for (int i = 0; i < kElsewhere; ++i)
      (void)elsewhere[static_cast<std::size_t>(8 * i)].load(kRelaxed);
    if (core == 1) found = phase.load(kRelaxed) == 1 && (!both || phase.load(kRelaxed) == 2);
  }));
  return found;
}

/// The first seed below `seeds` under which it does.
std::optional<std::uint64_t> first_seen(bool both, const ScheduleOptions& schedule,
                                        std::uint64_t seeds) {
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    if (seen(both, schedule, seed)) return seed;
  }
  return std::nullopt;
}

/// An error of depth d in a program of n cores and k steps: one run of n * k^(d - 1) finds it.
TEST(Schedule, PrioritiesFindWhatTheClockNeverDoes) {
  constexpr std::uint64_t kCores = 2;
  constexpr std::uint64_t kSteps = 20;
  const auto of_depth = [](int depth) {
    return ScheduleOptions{.kind = ScheduleKind::priorities, .depth = depth, .steps = kSteps};
  };
  EXPECT_FALSE(first_seen(false, kClock, 1000));
  EXPECT_FALSE(first_seen(false, of_depth(1), 1000)) << "cores run one after the other";
  EXPECT_TRUE(first_seen(false, of_depth(2), kCores * kSteps));
  EXPECT_FALSE(first_seen(true, kClock, 1000));
  EXPECT_FALSE(first_seen(true, of_depth(2), 1000)) << "it takes one more change";
  EXPECT_TRUE(first_seen(true, of_depth(3), kCores * kSteps * kSteps));
}

TEST(Schedule, DelaysFindWhatTheClockNeverDoes) {
  EXPECT_TRUE(first_seen(false, kDelays, 1000));
  EXPECT_TRUE(first_seen(true, kDelays, 10'000));
}

TEST(Schedule, CoresThatSpinLetOthersGoOn) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Word turn;
    EXPECT_TRUE(run(4, kPriorities, seed, [&](int core) {
      for (int spins = 0; turn.load(kRelaxed) != static_cast<unsigned>(core);) M::relax(spins);
      turn.fetch_add(1, kRelaxed);
    }));
    EXPECT_EQ(turn.peek(), 4U);
  }
}

/// A wait that never ends, under a schedule without rescue, in a run that would last long.
TEST(Schedule, AWaitThatNeverEndsIsReported) {
  for (ScheduleOptions schedule : {kClock, kDelays, kPriorities}) {
    schedule.rescue = false;
    Signal<M> signal;
    EXPECT_FALSE(run(3, schedule, 1, [&](int core) {
      if (core == 0) return signal.publish(2);
      (void)signal.wait([](std::uint64_t value) { return value == 4; }, [] { return false; });
    }));
    EXPECT_EQ(M::left_behind(),
              "every core that has not left is parked, and no core is left to wake it");
  }
}

/// The others continue: only a core that reads the word sees it.
TEST(Schedule, ALostWakeUpIsReported) {
  for (ScheduleOptions schedule : {kClock, kDelays, kPriorities}) {
    schedule.rescue = false;
    Word word;
    int polls = 0;
    EXPECT_FALSE(run(
        2, schedule, 1,
        [&](int core) {
          if (core == 0) return M::park(word.raw(), 0, 1000);
          M::idle(M::ticks(10), word.raw());
          word.store(1, kRelaxed);
          while (polls < 100) M::pause();
        },
        [&] { return ++polls < 100; }));
    EXPECT_LT(polls, 5);
    EXPECT_EQ(M::left_behind(),
              "core 0 is parked on a word that has changed: its wake-up was lost");
  }
}

TEST(Schedule, RescueEndsAWait) {
  for (ScheduleOptions schedule : {kDelays, kPriorities}) {
    schedule.rescue = true;
    const std::atomic<std::uint64_t> word{0};
    EXPECT_TRUE(run(2, schedule, 1, [&](int) { M::park(word, 0, 1000); }));
    EXPECT_EQ(M::left_behind(), "");
    EXPECT_NEAR(M::microseconds(M::now()), 1000, 10);
  }
}

TEST(Schedule, AWaitingCoreSeesTheRunEnd) {
  for (ScheduleOptions schedule : {kClock, kDelays, kPriorities}) {
    schedule.rescue = false;
    Signal<M> signal;
    Word stop;
    int polls = 0;
    EXPECT_TRUE(run(
        3, schedule, 1,
        [&](int core) {
          const auto stopped = [&] { return stop.load(kRelaxed) != 0; };
          while (core == 0 && !stopped()) M::idle(M::ticks(7), stop.raw());
          const bool done = core != 0 && signal.wait([](std::uint64_t) { return false; }, stopped);
          EXPECT_FALSE(done);
        },
        [&] {
          if (++polls < 10) return true;
          stop.store(1, kRelaxed);
          M::unpark(stop.raw());
          M::unpark_all();
          return false;
        }));
  }
}

/// Its last look at the stop flag was just before the run ended.
TEST(Schedule, ACoreThatParksAfterTheEndOfTheRunLeaves) {
  for (ScheduleOptions schedule : {kClock, kDelays, kPriorities}) {
    schedule.rescue = false;
    Signal<M> signal;
    Word stop;
    EXPECT_TRUE(run(
        2, schedule, 1,
        [&](int core) {
          while (core == 0 && stop.load(kRelaxed) == 0) M::idle(M::ticks(7), stop.raw());
          const auto stopped = [&, asked = false]() mutable {
            if (std::exchange(asked, true)) return stop.load(kRelaxed) != 0;
            while (stop.load(kRelaxed) == 0) M::pause();
            return false;
          };
          if (core != 0) (void)signal.wait([](std::uint64_t) { return false; }, stopped);
        },
        [&, polls = 0]() mutable {
          if (++polls < 3) return true;
          stop.store(1, kRelaxed);
          M::unpark_all();
          return false;
        }));
  }
}

TEST(Schedule, ACoreThatDoesNotLeaveIsReported) {
  for (const ScheduleOptions& schedule : {kClock, kDelays, kPriorities}) {
    Word never;
    EXPECT_FALSE(M::run_crew(
        {.workers = 2, .grace_us = 500, .machine = {.schedule = schedule}},
        [&](M::Member& member) {
          for (int spins = 0; member.worker() == 1 && never.load(kRelaxed) == 0;) M::relax(spins);
        },
        [] { return false; }));
    EXPECT_EQ(M::left_behind(),
              "some cores did not leave within 500 us of virtual time after they were asked to");
  }
}

/// Idling is by time: an idle core is not chosen before, and time jumps if no other core can run.
TEST(Schedule, IdlingLastsAsLongAsAskedFor) {
  const std::atomic<std::uint64_t> stop{0};
  std::vector<int> order;
  EXPECT_TRUE(run(3, kPriorities, 1, [&](int core) {
    M::idle(M::ticks(10.0 * (3 - core)), stop);
    EXPECT_NEAR(M::microseconds(M::now()), 10.0 * (3 - core), 0.1);
    order.push_back(core);
  }));
  EXPECT_EQ(order, (std::vector{2, 1, 0}));
}

}  // namespace
}  // namespace heddle
