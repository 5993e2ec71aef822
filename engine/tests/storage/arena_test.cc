#include "storage/arena.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"

namespace heddle {
namespace {

struct Block {
  void* start;
  std::size_t bytes;
  unsigned char mark;
};

void fill(const Block& block) { std::memset(block.start, block.mark, block.bytes); }

testing::AssertionResult intact(const Block& block) {
  const auto* bytes = static_cast<const unsigned char*>(block.start);
  for (std::size_t at = 0; at < block.bytes; ++at) {
    if (bytes[at] != block.mark) {
      return testing::AssertionFailure() << block.bytes << " bytes, changed at " << at;
    }
  }
  return testing::AssertionSuccess();
}

TEST(Arena, BlocksAreAligned) {
  Arena arena;
  for (std::size_t bytes = 1; bytes <= 1000; ++bytes) {
    (void)arena.allocate(8);  // so that none is aligned by chance
    const auto address = reinterpret_cast<std::uintptr_t>(arena.allocate(bytes));
    EXPECT_EQ(address % (bytes % 64 == 0 ? 64 : 16), 0U) << bytes;
  }
}

/// A block has lines of its own, unless it would leave a third of them empty or more.
TEST(Arena, BlocksShareNoLinesWhereLittleIsLost) {
  for (const std::size_t bytes : {64U, 86U, 100U, 128U, 150U, 700U}) {
    Arena arena;
    const auto first = reinterpret_cast<std::uintptr_t>(arena.allocate(bytes));
    const auto second = reinterpret_cast<std::uintptr_t>(arena.allocate(bytes));
    EXPECT_EQ(first % 64, 0U) << bytes;
    EXPECT_EQ(second - first, (bytes + 63) / 64 * 64) << bytes;
  }
  Arena arena;
  const auto first = reinterpret_cast<std::uintptr_t>(arena.allocate(72));
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(arena.allocate(72)) - first, 80U);
}

/// Blocks of all sizes, allocated and released at random, never overlap.
TEST(Arena, BlocksStayApart) {
  Arena arena;
  Random random(1);
  std::deque<Block> blocks;
  std::int64_t asked = 0;
  for (int step = 0; step < 4000; ++step) {
    const bool large = random.below(50) == 0;
    const std::size_t bytes = 1 + random.below(large ? 100'000 : 300);
    blocks.push_back({arena.allocate(bytes), bytes, static_cast<unsigned char>(step)});
    fill(blocks.back());
    asked += static_cast<std::int64_t>(bytes);
    if (blocks.size() > 500) {
      const std::size_t at = random.below(blocks.size());
      ASSERT_TRUE(intact(blocks[at]));
      asked -= static_cast<std::int64_t>(blocks[at].bytes);
      arena.release(blocks[at].start, blocks[at].bytes);
      blocks.erase(blocks.begin() + static_cast<std::ptrdiff_t>(at));
    }
    ASSERT_GE(arena.live_bytes(), asked);
  }
  for (const Block& block : blocks) {
    ASSERT_TRUE(intact(block));
    arena.release(block.start, block.bytes);
  }
  EXPECT_EQ(arena.live_bytes(), 0);
}

/// For any size, released blocks are allocated again before the system is asked for more.
TEST(Arena, ReleasedBlocksAreReused) {
  for (const std::size_t bytes :
       {0U, 1U, 16U, 63U, 64U, 100U, 8192U, 8193U, 300'000U, 3'000'000U}) {
    Arena arena;
    std::set<void*> first;
    for (int i = 0; i < 10; ++i) first.insert(arena.allocate(bytes));
    ASSERT_EQ(first.size(), 10U) << bytes;
    const std::size_t held = arena.held_bytes();
    for (void* block : first) arena.release(block, bytes);
    EXPECT_EQ(arena.live_bytes(), 0);
    std::set<void*> second;
    for (int i = 0; i < 10; ++i) second.insert(arena.allocate(bytes));
    EXPECT_EQ(second, first) << bytes;
    EXPECT_EQ(arena.held_bytes(), held);
  }
}

TEST(Arena, ReusedBlockIsLargeEnoughForItsClass) {
  Arena arena;
  void* small = arena.allocate(100);
  arena.release(small, 100);
  EXPECT_EQ(arena.allocate(128), small) << "100 to 128 bytes are one class";
  EXPECT_NE(arena.allocate(129), small);
}

TEST(Arena, LargeBlockIsKeptForItsOwnSize) {
  Arena arena;
  void* large = arena.allocate(300'000);
  arena.release(large, 300'000);
  EXPECT_NE(arena.allocate(100'000), large) << "most of it would be lost";
  EXPECT_EQ(arena.allocate(300'000), large);
}

TEST(Arena, MemoryIsTakenInChunks) {
  Arena arena;
  EXPECT_EQ(arena.held_bytes(), 0U);
  (void)arena.allocate(8);
  const std::size_t chunk = arena.held_bytes();
  for (std::size_t taken = 0; taken + 1024 < chunk / 2; taken += 1024) (void)arena.allocate(1024);
  EXPECT_EQ(arena.held_bytes(), chunk);
  for (std::size_t taken = 0; taken < chunk; taken += 1024) (void)arena.allocate(1024);
  EXPECT_EQ(arena.held_bytes(), 2 * chunk);
}

/// A record allocated by one worker is freed by the one that deleted it.
TEST(Arena, TakesBlocksOfAnother) {
  Arena from;
  Arena to;
  void* block = from.allocate(100);
  to.release(block, 100);
  EXPECT_EQ(to.live_bytes(), -from.live_bytes());
  EXPECT_EQ(to.allocate(100), block);
}

/// A queue that advances through memory gets its old memory back from the arena.
TEST(Arena, ServesContainers) {
  Arena arena;
  {
    std::deque<std::uint64_t, ArenaAllocator<std::uint64_t>> queue{
        ArenaAllocator<std::uint64_t>(arena)};
    for (std::uint64_t i = 0; i < 1000; ++i) queue.push_back(i);
    const std::size_t held = arena.held_bytes();
    for (std::uint64_t i = 1000; i < 1'000'000; ++i) {
      queue.push_back(i);
      ASSERT_EQ(queue.front(), i - 1000);
      queue.pop_front();
    }
    EXPECT_EQ(arena.held_bytes(), held);
    EXPECT_GT(arena.live_bytes(), 1000 * 8);
  }
  EXPECT_EQ(arena.live_bytes(), 0);
}

#if defined(__SANITIZE_ADDRESS__)
TEST(Arena, ReleasedBlocksArePoisoned) {
  Arena arena;
  auto* block = static_cast<std::byte*>(arena.allocate(100));
  EXPECT_FALSE(__asan_address_is_poisoned(block + 50));
  arena.release(block, 100);
  EXPECT_TRUE(__asan_address_is_poisoned(block + 50));
  EXPECT_FALSE(__asan_address_is_poisoned(static_cast<std::byte*>(arena.allocate(100)) + 50));
}
#endif

}  // namespace
}  // namespace heddle
