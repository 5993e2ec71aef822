#include "machine/cache_lines.h"

#include <array>
#include <cstddef>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

namespace heddle {
namespace {

using enum CacheLines::Access;

/// Costs that can be told apart, in ticks.
CostModel distinct_costs() {
  CostModel model;
  model.cores_per_socket = 2;
  model.shared_hit_ns = 10;
  model.memory_ns = 100;
  model.stream_ns = 100;  // no cheaper than any other line
  model.transfer_ns = 30;
  model.far_transfer_ns = 70;
  model.atomic_ns = 5;
  model.private_lines = 4;
  model.shared_lines = 16;
  return model;
}

class Lines : public testing::Test {
 protected:
  static constexpr int kNear = 1;  // in the socket of core 0
  static constexpr int kFar = 2;

  struct alignas(64) Memory {
    std::array<std::byte, 64> bytes;
  };

  CacheLines::Ticks cost_at(CacheLines::Ticks now, int core, CacheLines::Access access) {
    return lines_.cost(core, &memory_[0], access, now);
  }
  /// Long after whatever was before.
  CacheLines::Ticks cost(int core, std::size_t line, CacheLines::Access access) {
    now_ += 1'000'000;
    return lines_.cost(core, &memory_[line], access, now_);
  }

  std::vector<Memory> memory_{64};
  /// A database far larger than the shared cache: what nobody has touched is in memory.
  static constexpr std::size_t kHuge = std::size_t{1} << 40;
  CacheLines lines_{distinct_costs(), 4, 1.0, kHuge};
  CacheLines::Ticks now_ = 0;
};

TEST_F(Lines, TheFirstTouchComesFromMemoryTheNextFromTheOwnCache) {
  EXPECT_EQ(cost(0, 0, load), 100U);
  EXPECT_EQ(cost(0, 0, load), 0U);
}

TEST_F(Lines, AddressesOfOneLineAreOneLine) {
  (void)lines_.cost(0, memory_[0].bytes.data(), load, 0);
  EXPECT_EQ(lines_.cost(0, memory_[0].bytes.data() + 63, load, 1000), 0U);
  EXPECT_EQ(lines_.size(), 1U);
}

TEST_F(Lines, WhatTheSocketHasReadIsInItsSharedCache) {
  (void)cost(0, 0, load);
  EXPECT_EQ(cost(kNear, 0, load), 30U) << "the first reader has it alone, and gives it";
  for (std::size_t line = 4; line < 8; ++line) (void)cost(kNear, line, load);
  EXPECT_EQ(cost(kNear, 0, load), 10U) << "it has left the core's own cache";
  EXPECT_EQ(cost(kFar, 0, load), 100U) << "the other socket has a cache of its own";
}

TEST_F(Lines, WhoReadsALineAloneMayWriteIt) {
  (void)cost(0, 0, load);
  EXPECT_EQ(cost(0, 0, exchange), 5U);
}

TEST_F(Lines, ALineThatItsOwnerHasEvictedIsNotInAnotherCoresCache) {
  (void)cost(0, 0, store);
  for (std::size_t line = 4; line < 8; ++line) (void)cost(0, line, load);
  EXPECT_EQ(cost(kNear, 0, load), 10U);
}

/// Who has touched a line of late need not look it up, and must learn of all that befalls it.
TEST_F(Lines, WhatOthersDoToALineThatWasTouchedOfLateIsNoticed) {
  (void)cost(0, 0, store);
  (void)cost(0, 0, exchange);
  (void)cost(kNear, 0, load);
  EXPECT_EQ(cost(0, 0, load), 0U);
  EXPECT_EQ(cost(0, 0, store), 0U) << "the store buffer's; but it has taken the line away";
  EXPECT_EQ(cost(kNear, 0, load), 30U);
  (void)cost(kFar, 0, exchange);
  EXPECT_EQ(cost(0, 0, load), 70U);
  EXPECT_EQ(cost(kNear, 0, load), 10U) << "from the socket's cache, where that load has put it";
}

TEST(LinesFarApart, ShareAPlaceAmongTheRecentOnesAndAreBothKept) {
  constexpr std::size_t kApart = 256;
  CostModel costs = distinct_costs();
  costs.private_lines = 1024;
  CacheLines lines(costs, 70, 1.0, std::size_t{1} << 40);
  const std::vector<std::array<std::byte, 64>> memory(2 * kApart);
  (void)lines.cost(0, &memory[1], load, 0);  // the first line of all is in the shared cache
  for (int core = 0; core < 70; ++core) {
    for (int round = 0; round < 3; ++round) {
      const CacheLines::Ticks now = 1'000'000 * static_cast<CacheLines::Ticks>(3 * core + round);
      const auto one = lines.cost(core, &memory[0], load, now);
      const auto other = lines.cost(core, &memory[kApart], load, now);
      EXPECT_EQ(one, other);
      EXPECT_EQ(one == 0, round > 0) << "core " << core;
    }
  }
  EXPECT_EQ(lines.cost(69, &memory[0], exchange, 1'000'000'000), 70U + 5U);
  for (int core = 0; core < 69; ++core) {
    EXPECT_GT(lines.cost(core, &memory[0], load, 2'000'000'000), 0U) << "core " << core;
    EXPECT_EQ(lines.cost(core, &memory[kApart], load, 2'000'000'000), 0U);
  }
}

TEST_F(Lines, AWrittenLineComesOutOfItsWritersCache) {
  (void)cost(0, 0, store);
  EXPECT_EQ(cost(0, 0, store), 0U) << "it is the writer's until somebody asks";
  EXPECT_EQ(cost(kNear, 0, load), 30U);
  EXPECT_EQ(cost(kNear, 0, load), 0U);
  (void)cost(0, 1, store);
  EXPECT_EQ(cost(kFar, 1, load), 70U);
}

TEST_F(Lines, AWriteTakesTheLineAwayFromItsReaders) {
  (void)cost(0, 0, store);
  (void)cost(kNear, 0, load);
  EXPECT_EQ(cost(0, 0, load), 0U) << "reading is no reason to lose it";
  EXPECT_EQ(cost(0, 0, exchange), 30U + 5U) << "the reader must be told";
  EXPECT_EQ(cost(kNear, 0, load), 30U);
}

TEST_F(Lines, AnAtomicCostsMoreThanAStore) {
  (void)cost(0, 0, store);
  EXPECT_EQ(cost(0, 0, exchange), 5U);
}

TEST_F(Lines, WritersOfOneLineTakeTurns) {
  (void)cost_at(0, 0, exchange);
  EXPECT_EQ(cost_at(1000, kNear, exchange), 30U + 5U);
  EXPECT_EQ(cost_at(1010, 0, exchange), 20U + 30U + 5U)
      << "the line arrives at 1030, and only then leaves";
}

TEST_F(Lines, AStoreGoesOnWhileTheLineIsOnItsWay) {
  (void)cost_at(0, kNear, store);
  EXPECT_EQ(cost_at(1000, 0, store), 0U);
  EXPECT_EQ(lines_.drain(0, 1010), 20U) << "a locked instruction waits for it";
  EXPECT_EQ(cost_at(1010, kNear, load), 20U + 30U) << "and so does who wants to read it";
  EXPECT_EQ(lines_.drain(0, 1030), 0U);
}

TEST_F(Lines, ACacheHoldsSoManyLines) {
  for (std::size_t line = 0; line < 5; ++line) (void)cost(0, line, load);
  EXPECT_EQ(cost(0, 4, load), 0U);
  EXPECT_EQ(cost(0, 0, load), 10U) << "the fifth line took its place; the shared cache has it";
  for (std::size_t line = 5; line < 20; ++line) (void)cost(0, line, load);
  EXPECT_EQ(cost(0, 1, load), 100U);
}

TEST(LinesInARow, AreCheapToReadWithinAPage) {
  const Pages memory(Pages::kHugePage);
  CostModel costs = distinct_costs();
  costs.stream_ns = 3;
  CacheLines lines(costs, 2, 1.0, std::size_t{1} << 40);
  const auto read = [&](int core, std::size_t line) {
    return lines.cost(core, memory.start() + 64 * line, load, 0);
  };
  EXPECT_EQ(read(0, 10), 100U);
  EXPECT_EQ(read(0, 11), 3U);
  EXPECT_EQ(read(0, 40), 100U) << "not in a row";
  EXPECT_EQ(read(0, 12), 3U) << "it goes on with the first row";
  EXPECT_EQ(read(1, 13), 100U) << "another core's row";
  lines.read_on(1, memory.start() + 64 * 20);
  EXPECT_EQ(read(1, 21), 3U);
  EXPECT_EQ(read(0, 62), 100U);
  EXPECT_EQ(read(0, 63), 3U);
  EXPECT_EQ(read(0, 64), 100U) << "the next page is not fetched ahead";
}

TEST(LinesOfASmallDatabase, AreInTheSharedCacheFromTheStart) {
  std::array<std::byte, 64> memory{};
  const CostModel costs = distinct_costs();
  CacheLines lines(costs, 1, 1.0, costs.shared_lines + costs.private_lines);
  EXPECT_EQ(lines.cost(0, memory.data(), load, 0), 10U);
}

/// Where memory lies must not matter, or no run could be repeated.
TEST(LinesAnywhere, AreNumberedAsTheyAreTouched) {
  struct alignas(64) Memory {
    std::array<std::byte, 64> bytes;
  };
  const auto block = std::make_unique<std::array<Memory, 300'000>>();
  CacheLines upwards(distinct_costs(), 1, 1.0, 0);
  CacheLines downwards(distinct_costs(), 1, 1.0, 0);
  for (std::size_t i = 0; i < block->size(); ++i) {
    EXPECT_EQ(upwards.number_of(&(*block)[i]), i);
    EXPECT_EQ(downwards.number_of(&(*block)[block->size() - 1 - i]), i);
  }
  EXPECT_EQ(upwards.number_of(&(*block)[17]), 17U) << "also after the table has grown";
}

}  // namespace
}  // namespace heddle
