#include "client/scheduler.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "client/admission.h"

namespace heddle::client {
namespace {

constexpr std::chrono::hours kNever{1};

Request writes(std::uint64_t key) { return {.keys = {{key, true}}}; }

TEST(ClientScheduler, ThreadsWithACommonKeyTakeTurns) {
  for (const Mode mode : {Mode::kSmf, Mode::kLocks}) {
    Scheduler scheduler(
        {.mode = mode, .concurrency = 3, .barrier = 1'000'000, .longest_wait = kNever});
    std::array<int, 2> counts{};  // not atomic: the scheduler alone excludes other threads
    std::atomic<int> running{0};
    std::atomic<bool> exceeded{false};
    std::vector<std::jthread> threads;
    for (std::size_t number = 0; number < 4; ++number) {
      threads.emplace_back([&, number] {
        for (std::size_t turn = 0; turn < 500; ++turn) {
          const std::size_t key = (number + turn) % 2;
          const Admission admission(scheduler, writes(key));
          // relaxed: the counters order nothing.
          if (running.fetch_add(1, std::memory_order_relaxed) >= 3) exceeded = true;
          ++counts[key];
          running.fetch_sub(1, std::memory_order_relaxed);
        }
      });
    }
    threads.clear();
    EXPECT_EQ(counts[0] + counts[1], 2'000);
    EXPECT_FALSE(exceeded);
    EXPECT_EQ(scheduler.counters().running, 0U);
    EXPECT_EQ(scheduler.keys(), 0U);
  }
}

TEST(ClientScheduler, ARequestKeepsTheStrongerModeOfAKey) {
  Scheduler scheduler({.longest_wait = kNever});
  const auto first = scheduler.submit({.keys = {{1, false}, {1, true}, {1, false}}});
  EXPECT_TRUE(first.started);
  const auto second = scheduler.submit({.keys = {{1, false}}});
  EXPECT_FALSE(second.started);
  bool called = false;
  EXPECT_TRUE(scheduler.on_start(second.ticket, [&] { called = true; }));
  scheduler.release(first.ticket);
  EXPECT_TRUE(called);
  EXPECT_FALSE(scheduler.on_start(second.ticket, [] {}));
  EXPECT_FALSE(scheduler.cancel(second.ticket));
  scheduler.release(second.ticket);
  EXPECT_THROW(scheduler.release(second.ticket), std::invalid_argument);
}

TEST(ClientScheduler, AWaitingThreadBecomesDueWithoutARelease) {
  Scheduler scheduler({.longest_wait = std::chrono::milliseconds(5)});
  const auto holder = scheduler.submit(writes(1));
  {
    const Admission admission(scheduler, writes(1));
    EXPECT_EQ(scheduler.counters().forced, 1U);
  }
  scheduler.release(holder.ticket);
  EXPECT_EQ(scheduler.keys(), 0U);
}

TEST(ClientScheduler, SwitchedOffItCountsNothing) {
  Scheduler scheduler({.concurrency = 1});
  const auto running = scheduler.submit(writes(1));
  const auto waiting = scheduler.submit(writes(1));
  EXPECT_FALSE(waiting.started);
  scheduler.enable(false);
  EXPECT_FALSE(scheduler.cancel(waiting.ticket));
  const auto passed = scheduler.submit(writes(1));
  EXPECT_TRUE(passed.started);
  for (const auto& one : {running, waiting, passed}) scheduler.release(one.ticket);
  EXPECT_EQ(scheduler.counters().passed, 1U);
  EXPECT_EQ(scheduler.counters().running, 0U);
}

}  // namespace
}  // namespace heddle::client
