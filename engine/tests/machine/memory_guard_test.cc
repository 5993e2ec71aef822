#include "machine/memory_guard.h"

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <new>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "machine/pages.h"

namespace heddle {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kLimit = 200 * kMiB;

/// A control group of 200 MiB that consists of two files: smaller than the free memory of any test
/// machine.
class MemoryGuard : public testing::Test {
 protected:
  MemoryGuard()
      : folder_(std::filesystem::temp_directory_path() /
                ("heddle_memory_guard_" + std::to_string(::getpid()))) {
    std::filesystem::create_directory(folder_);
    use(0);
  }
  ~MemoryGuard() override {
    guard_memory(0, {});
    std::filesystem::remove_all(folder_);
  }

  /// From here on the group uses this much, part of which is cache.
  void use(std::uint64_t bytes, std::uint64_t cache = 0) const {
    std::ofstream(folder_ / "usage") << bytes << '\n';
    std::ofstream(folder_ / "stat") << "anon 1\ninactive_file " << cache << "\nslab 2\n";
  }
  [[nodiscard]] MemoryGroup group() const {
    return {.usage_file = folder_ / "usage", .stat_file = folder_ / "stat", .limit = kLimit};
  }

 private:
  std::filesystem::path folder_;
};

TEST_F(MemoryGuard, CountsWhatTheGroupLeavesAndNotItsCache) {
  guard_memory(kMiB, {group()});
  EXPECT_EQ(memory_left(), kLimit);
  use(50 * kMiB);
  EXPECT_EQ(memory_left(), kLimit - 50 * kMiB);
  use(50 * kMiB, 30 * kMiB);
  EXPECT_EQ(memory_left(), kLimit - 20 * kMiB);
  use(2 * kLimit);
  EXPECT_EQ(memory_left(), 0U);
}

TEST_F(MemoryGuard, AGroupWhoseFilesAreGoneLimitsNothing) {
  MemoryGroup gone = group();
  gone.usage_file += ".gone";
  guard_memory(kMiB, {gone});
  EXPECT_GT(memory_left(), kLimit);
}

TEST_F(MemoryGuard, LoadingIsRefusedWhatTouchesTheReserve) {
  guard_memory(100 * kMiB, {group()});
  EXPECT_NO_THROW(Pages(64 * kMiB));
  const LoadingGuard loading;
  EXPECT_NO_THROW(Pages(64 * kMiB));
  EXPECT_THROW(Pages(101 * kMiB), std::bad_alloc);
  use(60 * kMiB);
  EXPECT_THROW(Pages(64 * kMiB), std::bad_alloc);
}

TEST_F(MemoryGuard, SmallPartsAreCountedTogether) {
  guard_memory(100 * kMiB, {group()});
  const LoadingGuard loading;
  use(150 * kMiB);
  EXPECT_THROW(for (int i = 0; i < 16; ++i) LoadingGuard::require(2 * kMiB), std::bad_alloc);
}

TEST_F(MemoryGuard, OtherThreadsAndLaterOnesAreNotRefused) {
  guard_memory(100 * kMiB, {group()});
  use(kLimit);
  {
    const LoadingGuard loading;
    std::thread([] { EXPECT_NO_THROW(LoadingGuard::require(64 * kMiB)); }).join();
    EXPECT_THROW(LoadingGuard::require(64 * kMiB), std::bad_alloc);
  }
  EXPECT_NO_THROW(LoadingGuard::require(64 * kMiB));
}

TEST_F(MemoryGuard, WithoutAReserveNothingIsWatched) {
  guard_memory(0, {group()});
  use(kLimit);
  const LoadingGuard loading;
  EXPECT_NO_THROW(LoadingGuard::require(64 * kMiB));
  EXPECT_FALSE(MemoryWatch().is_short());
}

TEST_F(MemoryGuard, ARunThatWasShortStaysShort) {
  guard_memory(100 * kMiB, {group()});
  MemoryWatch watch;
  EXPECT_FALSE(watch.is_short());
  use(150 * kMiB);
  while (!watch.is_short()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  use(0);
  EXPECT_TRUE(watch.is_short());
  EXPECT_TRUE(watch.was_short());
}

}  // namespace
}  // namespace heddle
