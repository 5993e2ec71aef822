#include "protocol/key_locks.h"

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"
#include "scale.h"

namespace heddle {
namespace {

class KeyLocksTest : public testing::Test {
 protected:
  static KeyRequests requests(std::vector<KeyRequest> all) {
    KeyRequests made;
    for (const KeyRequest& each : all) made.add(each.row, each.exclusive);
    made.sort();
    return made;
  }
  /// Waits until `waiting` threads have nothing else to do.
  static void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

  std::atomic<std::uint64_t> stop_{0};
  KeyLocks locks_{&stop_};
};

TEST_F(KeyLocksTest, KeepsOneRequestForARowTheStrongerOne) {
  const KeyRequests some =
      requests({{{1, 7}, false}, {{0, 9}, false}, {{1, 7}, true}, {{1, 7}, false}});
  ASSERT_EQ(some.all().size(), 2U);
  EXPECT_EQ(some.all()[0].row, (LockedKey{0, 9}));
  EXPECT_TRUE(some.covers({1, 7}, true));
  EXPECT_TRUE(some.covers({0, 9}, false));
  EXPECT_FALSE(some.covers({0, 9}, true)) << "a shared lock does not permit a write";
  EXPECT_FALSE(some.covers({0, 7}, false)) << "a row of another table";
}

TEST_F(KeyLocksTest, SharesReadsAndForgetsWhatIsFree) {
  const KeyRequests read = requests({{{0, 1}, false}});
  ASSERT_TRUE(locks_.lock(read.all()));
  ASSERT_TRUE(locks_.lock(read.all()));
  EXPECT_EQ(locks_.size(), 1U);
  locks_.unlock(read.all());
  locks_.unlock(read.all());
  EXPECT_EQ(locks_.size(), 0U);
}

/// A reader does not overtake a writer that waits, or a stream of readers would starve it.
TEST_F(KeyLocksTest, GrantsInTheOrderOfTheRequests) {
  const KeyRequests read = requests({{{0, 1}, false}});
  const KeyRequests write = requests({{{0, 1}, true}});
  ASSERT_TRUE(locks_.lock(read.all()));
  std::vector<int> order;  // written by the holder of the exclusive lock, or of the only shared one
  std::thread writer([&] {
    ASSERT_TRUE(locks_.lock(write.all()));
    order.push_back(1);
    locks_.unlock(write.all());
  });
  settle();
  std::thread reader([&] {
    ASSERT_TRUE(locks_.lock(read.all()));
    order.push_back(2);
    locks_.unlock(read.all());
  });
  settle();
  locks_.unlock(read.all());
  writer.join();
  reader.join();
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_EQ(locks_.size(), 0U);
}

TEST_F(KeyLocksTest, HoldsNothingAfterAWaitThatTheEndOfTheRunCutsOff) {
  const KeyRequests held = requests({{{0, 2}, true}});
  const KeyRequests both = requests({{{0, 1}, true}, {{0, 2}, true}});
  ASSERT_TRUE(locks_.lock(held.all()));
  std::thread waiting([&] { EXPECT_FALSE(locks_.lock(both.all())); });
  settle();
  stop_.store(1);
  locks_.wake();
  waiting.join();
  EXPECT_EQ(locks_.size(), 1U);
  locks_.unlock(held.all());
  EXPECT_EQ(locks_.size(), 0U);
}

/// Random requests of several threads: readers and writers of a row never overlap, and all end.
TEST_F(KeyLocksTest, ExcludesWhatIsIncompatible) {
  constexpr std::size_t kRows = 6;
  constexpr int kThreads = 4;
  std::array<std::atomic<int>, kRows> users{};  // -1: a writer; otherwise the number of readers
  std::atomic<int> wrong{0};
  const auto run = [&](std::uint64_t seed) {
    Random random(seed);
    KeyRequests some;
    for (std::uint64_t round = 0; round < test::scaled(2000); ++round) {
      some.clear();
      for (std::uint64_t count = random.below(4); count > 0; --count) {
        some.add({random.below(2), random.below(kRows / 2)}, random.below(2) == 0);
      }
      some.sort();
      if (!locks_.lock(some.all())) ++wrong;
      for (const KeyRequest& each : some.all()) {
        auto& use = users[each.row.table * (kRows / 2) + each.row.key];
        if (each.exclusive ? use.exchange(-1) != 0 : use.fetch_add(1) < 0) ++wrong;
      }
      if (random.below(8) == 0) std::this_thread::yield();
      for (const KeyRequest& each : some.all()) {
        auto& use = users[each.row.table * (kRows / 2) + each.row.key];
        if (each.exclusive) {
          if (use.exchange(0) != -1) ++wrong;
        } else {
          use.fetch_sub(1);
        }
      }
      locks_.unlock(some.all());
    }
  };
  std::vector<std::thread> threads;
  for (std::uint64_t seed = 0; seed < kThreads; ++seed) threads.emplace_back(run, seed);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  EXPECT_EQ(locks_.size(), 0U);
}

}  // namespace
}  // namespace heddle
