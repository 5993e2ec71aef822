#include "protocol/access_set.h"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "storage/record.h"

namespace heddle {
namespace {

using M = ThreadsMachine;

/// Sets are filled with records of this pool; the other fields of an access do not matter here.
class AccessSetOf : public testing::Test {
 protected:
  static constexpr std::size_t kMany = 5000;

  std::uint32_t add(std::size_t record) {
    Access<M> access{};
    access.record = &records_[record];
    access.seen = record;
    return set_.add(access);
  }
  [[nodiscard]] std::uint32_t find(std::size_t record) const {
    return set_.find(&records_[record]);
  }

  /// Records [0, count) are in the set, in this order; the others are not.
  void expect_first(std::size_t count, std::size_t of) {
    ASSERT_EQ(set_.size(), count);
    for (std::size_t i = 0; i < of; ++i) {
      ASSERT_EQ(find(i), i < count ? static_cast<std::uint32_t>(i) : AccessSet<M>::kNone) << i;
    }
    for (std::uint32_t entry = 0; entry < count; ++entry) ASSERT_EQ(set_[entry].seen, entry);
  }

  std::vector<Record<M>> records_ = std::vector<Record<M>>(kMany);
  AccessSet<M> set_;
};

TEST_F(AccessSetOf, NothingFindsNothing) { expect_first(0, kMany); }

TEST_F(AccessSetOf, ManyRecordsFindsEach) {
  for (std::size_t i = 0; i < kMany; ++i) ASSERT_EQ(add(i), i);
  expect_first(kMany, kMany);
}

/// The set outgrows its first table at 128 entries; around that nothing may be lost.
TEST_F(AccessSetOf, AnySizeFindsExactlyWhatWasAdded) {
  for (std::size_t i = 0; i < 300; ++i) {
    (void)add(i);
    expect_first(i + 1, 310);
  }
}

/// A table that is not cleared must not return old entries.
TEST_F(AccessSetOf, EarlierTransactionsIsForgotten) {
  for (std::size_t round = 0; round < 2000; ++round) {
    const std::size_t size = round % 7 * 17;
    for (std::size_t i = 0; i < size; ++i) (void)add(i);
    if (round % 100 == 0) expect_first(size, 150);
    set_.clear();
    ASSERT_EQ(set_.size(), 0U);
    ASSERT_EQ(find(round % 100), AccessSet<M>::kNone);
  }
}

TEST_F(AccessSetOf, TruncationForgetsTheRest) {
  for (const std::size_t kept : {0U, 1U, 60U, 119U, 120U}) {
    for (std::size_t i = 0; i < 120; ++i) (void)add(i);
    set_.truncate(static_cast<std::uint32_t>(kept));
    expect_first(kept, 130);
    for (std::size_t i = kept; i < 120; ++i) ASSERT_EQ(add(i), i) << "and it can be added again";
    expect_first(120, 130);
    set_.clear();
  }
}

TEST_F(AccessSetOf, TruncationAfterGrowthForgetsTheRest) {
  for (std::size_t i = 0; i < kMany; ++i) (void)add(i);
  set_.truncate(3);
  expect_first(3, kMany);
  for (int again = 0; again < 1000; ++again) set_.truncate(3);
  expect_first(3, kMany);
}

// ---- the memory of its values -------------------------------------------------------------------

/// Blocks that must not overlap, each filled with a mark of its own.
class Blocks {
 public:
  void add(ValueArena& arena, std::size_t bytes) {
    std::byte* block = arena.allocate(bytes);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 16, 0U) << bytes;
    const auto mark = static_cast<unsigned char>(blocks_.size() % 251 + 1);
    std::memset(block, mark, bytes);
    blocks_.push_back({block, bytes});
  }

  void expect_intact() const {
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto mark = static_cast<std::byte>(i % 251 + 1);
      for (std::size_t at = 0; at < blocks_[i].bytes; ++at) {
        ASSERT_EQ(blocks_[i].start[at], mark) << "block " << i << ", byte " << at;
      }
    }
  }

 private:
  struct Block {
    const std::byte* start;
    std::size_t bytes;
  };
  std::vector<Block> blocks_;
};

TEST(ValueArena, BlocksStayApart) {
  ValueArena arena;
  for (int round = 0; round < 3; ++round) {
    Blocks blocks;
    for (std::size_t i = 0; i < 3000; ++i) blocks.add(arena, 8 + i % 13 * 24);
    blocks.expect_intact();
    arena.reset();
  }
}

/// One larger than a chunk, or than what is left of it, has a chunk of its own or a new one.
TEST(ValueArena, LargeBlocksStayApart) {
  ValueArena arena;
  Blocks blocks;
  for (const std::size_t bytes : {40'000U, 8U, 30'000U, 24U, 100'000U, 8U, 16'384U, 16'384U,
                                  16'384U, 16'384U, 65'536U, 8U, 65'537U, 8U, 60'000U, 6'000U}) {
    blocks.add(arena, bytes);
  }
  blocks.expect_intact();
  arena.reset();
  Blocks after;
  for (int i = 0; i < 10; ++i) after.add(arena, 10'000);
  after.expect_intact();
}

TEST(ValueArena, StartsOverWhenReset) {
  ValueArena arena;
  const std::byte* first = arena.allocate(8);
  (void)arena.allocate(200'000);
  (void)arena.allocate(60'000);
  arena.reset();
  EXPECT_EQ(arena.allocate(8), first);
}

}  // namespace
}  // namespace heddle
