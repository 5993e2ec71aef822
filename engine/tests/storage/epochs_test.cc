#include "storage/epochs.h"

#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"

namespace heddle {
namespace {

using M = ThreadsMachine;

constexpr M::Ticks kStill = 0;

TEST(Epochs, MoveOnOnceEveryRunningWorkerHasAnnouncedTheLast) {
  Epochs<M> epochs(3);
  const std::uint64_t first = epochs.current();
  EXPECT_TRUE(epochs.enter(0));
  EXPECT_TRUE(epochs.enter(1));
  EXPECT_TRUE(epochs.advance(kStill)) << "worker 2 does not run";
  EXPECT_EQ(epochs.current(), first + 1);
  EXPECT_FALSE(epochs.advance(kStill));
  EXPECT_TRUE(epochs.enter(0));
  EXPECT_FALSE(epochs.advance(kStill)) << "worker 1 lags behind";
  EXPECT_TRUE(epochs.enter(1));
  EXPECT_TRUE(epochs.advance(kStill));
  EXPECT_EQ(epochs.current(), first + 2);
}

TEST(Epochs, WorkerThatLeavesDoesNotDelayTheEpoch) {
  Epochs<M> epochs(2);
  epochs.enter(0);
  epochs.enter(1);
  ASSERT_TRUE(epochs.advance(kStill));
  epochs.enter(0);
  ASSERT_FALSE(epochs.advance(kStill));
  epochs.leave(1);
  EXPECT_EQ(epochs.announced(1), Epochs<M>::kIdle);
  EXPECT_TRUE(epochs.advance(kStill));
}

TEST(Epochs, EnterTellsWhetherTheEpochHasMoved) {
  Epochs<M> epochs(1);
  EXPECT_TRUE(epochs.enter(0));
  EXPECT_FALSE(epochs.enter(0));
  ASSERT_TRUE(epochs.advance(kStill));
  EXPECT_TRUE(epochs.enter(0));
  EXPECT_EQ(epochs.announced(0), epochs.current());
  EXPECT_FALSE(epochs.enter(0));
}

TEST(Epochs, AreDueAfterAPeriod) {
  Epochs<M> epochs(1);
  const M::Ticks period = M::ticks(Epochs<M>::kPeriodUs);
  const std::uint64_t first = epochs.current();
  epochs.advance_if_due(period - 1);
  EXPECT_EQ(epochs.current(), first);
  epochs.advance_if_due(period);
  EXPECT_EQ(epochs.current(), first + 1);
  epochs.advance_if_due(2 * period - 1);
  EXPECT_EQ(epochs.current(), first + 1) << "counted from the last time";
  epochs.advance_if_due(2 * period);
  EXPECT_EQ(epochs.current(), first + 2);
}

/// Memory retired at r may be reused once every running worker has announced r + 2.
TEST(Epochs, ReclaimableLagsTwoBehindTheOldestWorker) {
  Epochs<M> epochs(2);
  for (int i = 0; i < 10; ++i) {
    epochs.enter(0);
    epochs.enter(1);
    ASSERT_TRUE(epochs.advance(kStill));
  }
  const std::uint64_t now = epochs.current();
  EXPECT_EQ(epochs.reclaimable(), now - 3) << "both workers announced the epoch before";
  epochs.enter(0);
  EXPECT_EQ(epochs.reclaimable(), now - 3);
  epochs.enter(1);
  EXPECT_EQ(epochs.reclaimable(), now - 2);
  epochs.leave(0);
  epochs.leave(1);
  EXPECT_EQ(epochs.reclaimable(), now - 2) << "no worker runs: the present epoch counts";
}

TEST(Epochs, NothingIsReclaimableAtTheStart) {
  Epochs<M> epochs(1);
  EXPECT_EQ(epochs.reclaimable(), 0U);
  epochs.enter(0);
  EXPECT_EQ(epochs.reclaimable(), 0U);
}

// ---- snapshots ----------------------------------------------------------------------------------

constexpr std::uint64_t kPeriod = Epochs<M>::kEpochsPerSnapshot;

TEST(EpochsSnapshot, IsAMultipleWhoseCommitsAreComplete) {
  EXPECT_EQ(Epochs<M>::snapshot_of(2), 1U) << "the loaded database";
  EXPECT_EQ(Epochs<M>::snapshot_of(kPeriod + 1), 1U);
  EXPECT_EQ(Epochs<M>::snapshot_of(kPeriod + 2), kPeriod);
  EXPECT_EQ(Epochs<M>::snapshot_of(2 * kPeriod + 1), kPeriod);
  EXPECT_EQ(Epochs<M>::snapshot_of(2 * kPeriod + 2), 2 * kPeriod);
  for (std::uint64_t epoch = 2; epoch < 10 * kPeriod; ++epoch) {
    const std::uint64_t snapshot = Epochs<M>::snapshot_of(epoch);
    EXPECT_TRUE(snapshot + 2 <= epoch || snapshot == 1) << epoch;
    EXPECT_GE(Epochs<M>::snapshot_of(epoch + 1), snapshot) << epoch;
  }
}

/// Two versions are of the same snapshot iff no snapshot sees the one and not the other.
TEST(EpochsSnapshot, SameSnapshotIsWhatNoSnapshotSeparates) {
  std::vector<std::uint64_t> snapshots{1};
  for (std::uint64_t i = 1; i < 5; ++i) snapshots.push_back(i * kPeriod);
  for (std::uint64_t a = 1; a < 4 * kPeriod; ++a) {
    for (std::uint64_t b = a; b < 4 * kPeriod; ++b) {
      bool separated = false;
      for (const std::uint64_t snapshot : snapshots) {
        separated = separated || (a <= snapshot && snapshot < b);
      }
      ASSERT_EQ(Epochs<M>::same_snapshot(a, b), !separated) << a << ", " << b;
    }
  }
}

// ---- at the same time ---------------------------------------------------------------------------

/// No worker ever lags more than one epoch behind, however they enter, leave and advance.
TEST(Epochs, RunningWorkersLagByOneAtMost) {
  constexpr int kWorkers = 3;
  constexpr int kRounds = 20'000;
  Epochs<M> epochs(kWorkers);
  std::atomic<int> lagging{0};
  std::vector<std::thread> threads;
  for (int worker = 0; worker < kWorkers; ++worker) {
    threads.emplace_back([&, worker] {
      for (int round = 0; round < kRounds; ++round) {
        epochs.enter(worker);
        const std::uint64_t mine = epochs.announced(worker);
        epochs.advance(kStill);
        if (epochs.current() > mine + 1) ++lagging;
        if (epochs.reclaimable() + 2 > mine) ++lagging;
        if (round % 5 == worker) epochs.leave(worker);
      }
      epochs.leave(worker);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(lagging, 0);
  EXPECT_GT(epochs.current(), 10U);
}

}  // namespace
}  // namespace heddle
