#include "store/fair_semaphore.h"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

namespace heddle::store {
namespace {

/// Waits until the other threads have nothing to do but wait.
void settle() { std::this_thread::sleep_for(std::chrono::milliseconds(20)); }

TEST(FairSemaphore, AdmitsNoMoreThanItsPermits) {
  const std::atomic<std::uint64_t> stop{0};
  FairSemaphore semaphore(&stop, 2);
  std::atomic<int> inside{0};
  std::atomic<int> most{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < 500; ++round) {
        ASSERT_TRUE(semaphore.acquire());
        const int now = ++inside;
        for (int before = most; before < now && !most.compare_exchange_weak(before, now);) {
        }
        if (round % 16 == 0) std::this_thread::yield();
        --inside;
        semaphore.release();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_LE(most.load(), 2);
  EXPECT_TRUE(semaphore.acquire()) << "all permits are back";
  EXPECT_TRUE(semaphore.acquire());
}

TEST(FairSemaphore, AdmitsThoseFirstWhoHaveWaitedLongest) {
  const std::atomic<std::uint64_t> stop{0};
  FairSemaphore semaphore(&stop);
  ASSERT_TRUE(semaphore.acquire());
  std::vector<int> order;  // written by the holder of the permit
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&semaphore, &order, i] {
      ASSERT_TRUE(semaphore.acquire());
      order.push_back(i);
      semaphore.release();
    });
    settle();
  }
  semaphore.release();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(order, (std::vector{0, 1, 2}));
}

TEST(FairSemaphore, EndsTheWaitWithTheRun) {
  std::atomic<std::uint64_t> stop{0};
  FairSemaphore semaphore(&stop);
  ASSERT_TRUE(semaphore.acquire());
  std::thread waiting([&] { EXPECT_FALSE(semaphore.acquire()); });
  settle();
  stop.store(1);
  semaphore.wake();
  waiting.join();
  semaphore.release();
  EXPECT_TRUE(semaphore.acquire()) << "who has left the queue gets no permit";
}

}  // namespace
}  // namespace heddle::store
