#include "storage/reclaim.h"

#include <cstddef>
#include <cstdint>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "storage/hash_index.h"
#include "storage/table.h"

namespace heddle {
namespace {

using M = ThreadsMachine;

struct Value {
  std::uint64_t number;
};
using Rows = Table<M, Key1, Value, HashIndex>;

constexpr M::Ticks kStill = 0;  // epochs advance only when a test advances them

class Reclamation : public testing::Test {
 protected:
  static constexpr std::size_t kBytes = 128;

  /// Advances the epoch by one, as far as running workers allow, and makes a boundary of worker 0.
  void pass_epoch() {
    storage_.epochs().advance(kStill);
    storage_.boundary(0, kStill);
  }

  Record<M>* record(std::uint64_t key) {
    NodeVersion<M> seen;
    return rows_.index().find(make_key(key), seen);
  }

  /// Leaves a row deleted, as a commit does; returns the word it left.
  std::uint64_t remove(std::uint64_t key) {
    const std::uint64_t word =
        tid::committed(tid::first_of_epoch(storage_.epochs().current()), 1, true);
    unlock_record(*record(key), word);
    return word;
  }

  Storage<M> storage_{2};
  Rows rows_{storage_, "ROWS", 16};
};

TEST_F(Reclamation, RetiredBlockIsFreedTwoEpochsLater) {
  storage_.boundary(0, kStill);
  const std::int64_t before = storage_.live_bytes();
  void* block = storage_.allocate(0, kBytes);
  storage_.retire(0, block, kBytes);
  pass_epoch();
  EXPECT_GT(storage_.live_bytes(), before);
  pass_epoch();
  EXPECT_EQ(storage_.live_bytes(), before);
  EXPECT_EQ(storage_.allocate(0, kBytes), block);
}

TEST_F(Reclamation, BlockAWorkerMayHoldIsNotFreed) {
  storage_.boundary(0, kStill);
  storage_.boundary(1, kStill);  // and stays in its transaction
  storage_.retire(0, storage_.allocate(0, kBytes), kBytes);
  const std::int64_t retired = storage_.live_bytes();
  for (int i = 0; i < 10; ++i) pass_epoch();
  EXPECT_EQ(storage_.live_bytes(), retired);
  storage_.leave(1);
  for (int i = 0; i < 2; ++i) pass_epoch();
  EXPECT_LT(storage_.live_bytes(), retired);
}

TEST_F(Reclamation, ReleasedBlockIsFreedAtOnce) {
  const std::int64_t before = storage_.live_bytes();
  void* block = storage_.allocate(0, kBytes);
  storage_.release(0, block, kBytes);
  EXPECT_EQ(storage_.live_bytes(), before);
}

TEST_F(Reclamation, DrainFreesEverything) {
  const std::int64_t before = storage_.live_bytes();
  for (int worker : {0, 1}) {
    storage_.retire(worker, storage_.allocate(0, kBytes), kBytes);
    storage_.retire_version(worker, storage_.allocate(1, kBytes), kBytes, 1000);
  }
  rows_.load(make_key(1), {1});
  storage_.unlink_later(1, &rows_, record(1), remove(1));
  storage_.drain();
  EXPECT_EQ(record(1), nullptr);
  EXPECT_EQ(storage_.live_bytes(), before);
}

/// A version is freed once every running reader's snapshot includes the one that replaced it.
TEST_F(Reclamation, VersionIsFreedOnceNoSnapshotNeedsIt) {
  constexpr std::uint64_t kPeriod = Epochs<M>::kEpochsPerSnapshot;
  const std::int64_t before = storage_.live_bytes();
  storage_.retire_version(0, storage_.allocate(0, kBytes), kBytes, kPeriod);
  while (storage_.live_bytes() > before) {
    ASSERT_LT(storage_.epochs().current(), 2 * kPeriod) << "it ought to have gone by now";
    pass_epoch();
  }
  EXPECT_GE(Epochs<M>::snapshot_of(storage_.epochs().current()), kPeriod);
}

// ---- deleted records ----------------------------------------------------------------------------

TEST_F(Reclamation, UnlinkingMarksTheRecordDead) {
  rows_.load(make_key(1), {1});
  Record<M>* deleted = record(1);
  const std::uint64_t word = remove(1);
  storage_.boundary(0, kStill);
  storage_.unlink_if_still(0, &rows_, deleted, word);
  EXPECT_EQ(record(1), nullptr);
  // Still readable for workers that found it before; they see that it is gone.
  EXPECT_TRUE(tid::dead(deleted->word.peek()));
  EXPECT_FALSE(tid::locked(deleted->word.peek()));
}

TEST_F(Reclamation, RecordThatLivesAgainStays) {
  rows_.load(make_key(1), {1});
  const std::uint64_t word = remove(1);
  const std::uint64_t revived = tid::committed(tid::first_of_epoch(9), 1, false);
  unlock_record(*record(1), revived);
  storage_.unlink_if_still(0, &rows_, record(1), word);
  ASSERT_NE(record(1), nullptr);
  EXPECT_EQ(record(1)->word.peek(), revived) << "and unlocked";
}

TEST_F(Reclamation, LaterUnlinkingWaitsForItsEpoch) {
  rows_.load(make_key(1), {1});
  storage_.boundary(0, kStill);
  storage_.unlink_later(0, &rows_, record(1), remove(1));
  EXPECT_NE(record(1), nullptr);
  pass_epoch();
  EXPECT_NE(record(1), nullptr);
  for (int i = 0; i < 3; ++i) pass_epoch();
  EXPECT_EQ(record(1), nullptr);
}

/// Both workers have deleted the record, the first long ago. If both unlinked it, the second would
/// access memory that has been reused by then.
TEST_F(Reclamation, RecordDeletedTwiceIsUnlinkedByTheFirstToDeleteIt) {
  rows_.load(make_key(1), {1});
  Record<M>* const deleted = record(1);
  storage_.unlink_later(1, &rows_, deleted, remove(1));
  unlock_record(*deleted, tid::committed(tid::first_of_epoch(3), 1, false));
  for (int i = 0; i < 3; ++i) pass_epoch();
  storage_.unlink_later(0, &rows_, deleted, remove(1));
  for (int i = 0; i < 9; ++i) pass_epoch();
  ASSERT_EQ(record(1), deleted) << "worker 1 has not come by";
  storage_.boundary(1, kStill);
  storage_.leave(1);
  EXPECT_EQ(record(1), deleted) << "it sees that it has been deleted again, and waits again";
  for (int i = 0; i < 9; ++i) pass_epoch();
  storage_.boundary(1, kStill);
  EXPECT_EQ(record(1), nullptr);
}

TEST_F(Reclamation, RecordThatLivedWhenItWasToBeUnlinkedIsUnlinkedTheNextTime) {
  rows_.load(make_key(1), {1});
  storage_.boundary(0, kStill);
  storage_.unlink_later(0, &rows_, record(1), remove(1));
  unlock_record(*record(1), tid::committed(tid::first_of_epoch(3), 1, false));
  for (int i = 0; i < 9; ++i) pass_epoch();
  ASSERT_NE(record(1), nullptr);
  storage_.unlink_later(0, &rows_, record(1), remove(1));
  for (int i = 0; i < 9; ++i) pass_epoch();
  EXPECT_EQ(record(1), nullptr);
}

/// Versions are added and removed in the past of a record that is to be unlinked.
TEST(Past, KeepsVersionsAndWhetherToUnlinkApart) {
  alignas(16) Version<M> version{1, nullptr};
  Past<M> past;
  EXPECT_EQ(past.newest(), nullptr);
  past.set_to_unlink(true);
  EXPECT_EQ(past.newest(), nullptr);
  past.add(&version);
  EXPECT_TRUE(past.to_unlink());
  EXPECT_EQ(past.newest(std::memory_order_acquire), &version);
  past.set_to_unlink(false);
  EXPECT_FALSE(past.to_unlink());
  EXPECT_EQ(past.newest(), &version);
}

}  // namespace
}  // namespace heddle
