#include "machine/virtual.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/pages.h"
#include "machine/shared.h"
#include "machine/signal.h"

namespace heddle {
namespace {

using M = VirtualMachine;
using Word = Shared<M, std::uint64_t>;

/// Runs `body` on every core until all have returned.
void run(int workers, const std::function<void(int)>& body, std::uint64_t seed = 1,
         double skew_ns = 0) {
  M::resume_at(0);
  ASSERT_TRUE(M::run_crew(
      {.workers = workers, .machine = {.seed = seed, .skew_ns = skew_ns}},
      [&](M::Member& member) { body(member.worker()); }, [] { return true; }));
}

TEST(Virtual, EveryCoreRunsOnce) {
  for (const int workers : {1, 2, 48, M::kMostCores}) {
    std::vector<int> runs(static_cast<std::size_t>(workers), 0);
    run(workers, [&](int worker) { ++runs[static_cast<std::size_t>(worker)]; });
    EXPECT_EQ(runs, std::vector<int>(static_cast<std::size_t>(workers), 1));
  }
}

/// The order in which cores made their steps, with the time of each.
using Trace = std::vector<std::pair<int, M::Ticks>>;

Trace traced(int workers, std::uint64_t seed, double skew_ns = 0) {
  Trace trace;
  Word word;
  run(
      workers,
      [&](int worker) {
        for (int step = 0; step < 50; ++step) {
          word.fetch_add(1, std::memory_order_relaxed);
          trace.emplace_back(worker, M::now());
          for (int i = 0; i < worker; ++i) M::pause();
        }
      },
      seed, skew_ns);
  EXPECT_EQ(word.peek(), 50U * static_cast<unsigned>(workers));
  return trace;
}

TEST(Virtual, AccessesHappenInTheOrderOfTheirTimes) {
  const Trace trace = traced(7, 1);
  for (std::size_t step = 1; step < trace.size(); ++step) {
    EXPECT_LE(trace[step - 1].second, trace[step].second) << step;
  }
}

TEST(Virtual, NoCoreRunsAheadByMoreThanTheSkew) {
  const Trace trace = traced(7, 1, 200);
  M::Ticks latest = 0;
  M::Ticks most = 0;
  for (const auto& [core, time] : trace) {
    if (time < latest) most = std::max(most, latest - time);
    latest = std::max(latest, time);
  }
  EXPECT_GT(most, 0U);
  // The step that passes the horizon is made: a transfer, and the pause before it.
  EXPECT_LT(M::microseconds(most), 0.2 + 0.1);
}

TEST(Virtual, TheSameSeedGivesTheSameRun) {
  EXPECT_EQ(traced(7, 3), traced(7, 3));
  EXPECT_EQ(traced(7, 3, 100), traced(7, 3, 100));
  EXPECT_NE(traced(7, 3), traced(7, 4)) << "it decides which of two runs first at one time";
}

/// Two cores that share nothing take no longer than one; two that share a line do.
TEST(Virtual, OnlyWhatIsSharedCosts) {
  const auto time_of = [](int workers, bool shared) {
    struct alignas(64) Line {
      Word word;
    };
    std::vector<Line> lines(8);
    run(workers, [&](int worker) {
      Word& word = lines[shared ? 0 : static_cast<std::size_t>(worker)].word;
      for (int step = 0; step < 1000; ++step) word.fetch_add(1, std::memory_order_relaxed);
    });
    return static_cast<double>(M::now());
  };
  EXPECT_NEAR(time_of(8, false) / time_of(1, false), 1.0, 0.01);
  EXPECT_GT(time_of(2, true) / time_of(1, true), 3.0);
  EXPECT_GT(time_of(8, true) / time_of(2, true), 3.0) << "writers of one line take turns";
}

/// Waiting costs no steps: it ends when the word changes, not at a poll.
TEST(Virtual, AParkedCoreGoesOnWhenItsWordMoves) {
  Signal<M> signal;
  M::Ticks published = 0;
  M::Ticks woken = 0;
  run(2, [&](int worker) {
    if (worker == 0) {
      EXPECT_TRUE(
          signal.wait([](std::uint64_t value) { return value == 4; }, [] { return false; }));
      woken = M::now();
    } else {
      for (int i = 0; i < 1000; ++i) M::pause();
      published = M::now();
      signal.publish(4);
    }
  });
  EXPECT_GT(woken, published);
  EXPECT_LT(M::microseconds(woken - published), 0.5);
}

TEST(Virtual, EveryParkedCoreGoesOnWhenAllAreWoken) {
  constexpr std::uint64_t kTimeoutUs = 1'000'000;
  std::vector<std::atomic<std::uint64_t>> words(8);
  std::vector<M::Ticks> woken(words.size(), 0);
  run(static_cast<int>(words.size()), [&](int worker) {
    const auto own = static_cast<std::size_t>(worker);
    if (worker == 0) {
      for (int step = 0; step < 100; ++step) M::pause();
      M::unpark_all();
    } else {
      M::park(words[own], 0, kTimeoutUs);
    }
    woken[own] = M::now();
  });
  for (const M::Ticks when : woken) {
    EXPECT_GE(when, woken[0]);
    EXPECT_LT(M::microseconds(when - woken[0]), 1.0) << "and not when its time was up";
  }
}

TEST(Virtual, AParkedCoreLooksUpAfterItsTimeout) {
  const std::atomic<std::uint64_t> word{7};
  run(1, [&](int) {
    M::park(word, 8, 100);
    EXPECT_LT(M::microseconds(M::now()), 1) << "it does not hold that value";
    M::park(word, 7, 100);
    EXPECT_NEAR(M::microseconds(M::now()), 100, 1);
  });
}

TEST(Virtual, IdlingLastsAsLongAsAskedUnlessStopped) {
  std::atomic<std::uint64_t> stop{0};
  run(2, [&](int worker) {
    if (worker == 0) {
      M::idle(M::ticks(10), stop);
      EXPECT_NEAR(M::microseconds(M::now()), 10, 0.1);
      M::idle(M::ticks(1000), stop);
      EXPECT_NEAR(M::microseconds(M::now()), 50, 1);
      M::idle(M::ticks(1000), stop);
      EXPECT_NEAR(M::microseconds(M::now()), 50, 1) << "it is set already";
    } else {
      M::idle(M::ticks(50), stop);
      stop.store(1);
      M::unpark(stop);
    }
  });
}

TEST(Virtual, TheMonitorIsAskedInVirtualTime) {
  std::vector<double> asked;
  std::atomic<std::uint64_t> stop{0};
  Word seen;
  M::resume_at(M::ticks(1000));
  EXPECT_TRUE(M::run_crew(
      {.workers = 3, .poll_us = 20},
      [&](M::Member&) {
        while (stop.load() == 0) M::idle(M::ticks(1e6), stop);
      },
      [&] {
        asked.push_back(M::microseconds(M::now()));
        seen.store(1, std::memory_order_relaxed);  // costs nothing here
        if (asked.size() < 4) return true;
        stop.store(1);
        M::unpark(stop);
        return false;
      }));
  EXPECT_EQ(asked, (std::vector<double>{1000, 1020, 1040, 1060}));
  EXPECT_NEAR(M::microseconds(M::now()), 1060, 1) << "time stands where the run ended";
}

TEST(Virtual, ObjectsAreNumberedAsTheyAreTouched) {
  const std::vector<std::uint64_t> memory(1024);
  run(1, [&](int) {
    const auto late = M::number_of(&memory[1000]);
    const auto early = M::number_of(&memory[0]);
    EXPECT_LT(late, early);
    EXPECT_EQ(M::number_of(&memory[1000]), late);
    EXPECT_NE(M::number_of(&memory[1]), early) << "two objects of one line are two";
  });
}

// As by address on a real machine: if hot rows came first, because they are touched first, every
// transaction that locks in this order would hold them longest.
TEST(Virtual, OrderDoesNotDependOnFirstTouch) {
  PageArray<std::uint64_t> first(1024);
  PageArray<std::uint64_t> second(1024);
  const auto expect_order = [&] {
    EXPECT_LT(M::order_of(&first[0]), M::order_of(&first[1]));
    EXPECT_LT(M::order_of(&first[1]), M::order_of(&first[1000]));
    EXPECT_LT(M::order_of(&first[1000]), M::order_of(&second[0]));
  };
  run(1, [&](int) {
    for (const std::uint64_t* word : {&second[0], &first[1000], &first[1], &first[0]}) {
      M::on_load(word);
    }
    expect_order();
  });
  expect_order();
}

}  // namespace
}  // namespace heddle
