#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "model/isolation.h"
#include "mvto_hands.h"
#include "protocol/mvto.h"

/// mvto below serializability.
namespace heddle {
namespace {

using test::Columns;
using test::Database;
using test::MvtoHands;
using Hand = MvtoHands::Hand;
using Keys = std::vector<std::uint64_t>;

struct Snapshots : MvtoHands {
  Snapshots() : MvtoHands(test::hand_signature(), {{"isolation", name_of(Isolation::snapshot)}}) {}
};
struct Committed : MvtoHands {
  Committed()
      : MvtoHands(test::hand_signature(), {{"isolation", name_of(Isolation::read_committed)}}) {}
};

// ---- snapshot -----------------------------------------------------------------------------------

TEST(MvtoSnapshot, ReadsWhatWasCommittedWhenItBegan) {
  Snapshots hands;
  const Hand writer = hands.begin(1);
  const Hand reader = hands.begin(0);
  ASSERT_TRUE(writer.write(10, 1) && writer.remove(20) && writer.insert(25, 2));
  EXPECT_EQ(reader.read(30), 3000);
  ASSERT_TRUE(writer.commit());
  // The writer began first, and committed later.
  EXPECT_EQ(reader.read(10), 1000);
  EXPECT_EQ(reader.read(20), 2000);
  EXPECT_FALSE(reader.read(25));
  EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  EXPECT_TRUE(reader.commit());
  const Hand later = hands.begin(2);
  EXPECT_EQ(later.read(10), 1);
  EXPECT_EQ(later.scan(10, 30), (Keys{10, 25, 30}));
}

TEST(MvtoSnapshot, AReaderIsNoObstacleToAWriter) {
  Snapshots hands;
  const Hand writer = hands.begin(0);
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.read(10), 1000);
  EXPECT_FALSE(reader.read(15));
  EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  EXPECT_TRUE(writer.write(10, 1) && writer.insert(15, 2) && writer.commit());
  EXPECT_TRUE(reader.commit());
}

TEST(MvtoSnapshot, TheFirstCommitterWins) {
  Snapshots hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_TRUE(second.write(10, 2) && first.write(10, 1));
  EXPECT_TRUE(first.commit());
  EXPECT_FALSE(second.commit());
  EXPECT_EQ(second.reason(), AbortReason::read_validation);
  second.abort();
  EXPECT_EQ(hands.committed(10), 1);
}

TEST(MvtoSnapshot, AWriteOfARowThatHasChangedSinceIsRefused) {
  Snapshots hands;
  const Hand late = hands.begin(0);
  const Hand first = hands.begin(1);
  ASSERT_TRUE(first.write(10, 1) && first.commit());
  ASSERT_TRUE(late.write(10, 2)) << "of what it read";
  EXPECT_FALSE(late.commit());
  late.abort();
  EXPECT_EQ(hands.committed(10), 1);
}

TEST(MvtoSnapshot, OfTwoInsertsOfOneRowOneCommits) {
  Snapshots hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_TRUE(first.insert(15, 1) && second.insert(15, 2));
  EXPECT_TRUE(second.commit());
  EXPECT_FALSE(first.commit());
  first.abort();
  EXPECT_EQ(hands.committed(15), 2);
}

TEST(MvtoSnapshot, ARowInsertedSinceIsNotSeenAndNotOverwritten) {
  Snapshots hands;
  const Hand late = hands.begin(0);
  const Hand first = hands.begin(1);
  ASSERT_TRUE(first.insert(15, 1) && first.commit());
  EXPECT_FALSE(late.read(15));
  EXPECT_TRUE(late.insert(15, 2));
  EXPECT_FALSE(late.commit());
  late.abort();
  EXPECT_EQ(hands.committed(15), 1);
}

TEST(MvtoSnapshot, PermitsWriteSkew) {
  Snapshots hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  EXPECT_EQ(first.read(20), 2000);
  EXPECT_EQ(second.read(10), 1000);
  EXPECT_TRUE(first.write(10, 1) && second.write(20, 2));
  EXPECT_TRUE(first.commit() && second.commit());
}

/// A commit that has locked the row and taken its timestamp, and has yet to install its version.
class HalfACommit {
 public:
  explicit HalfACommit(MvtoHands& hands)
      : record_(Database::record(hands.db.rows, 10)),
        version_(hands.runtime().timestamps.next(0, hands.db.storage.epochs())) {
    lock_record(*record_);
  }
  void install() {
    const Columns columns{.first = 7, .second = 0, .third = 0};
    copy_to_record<test::M>(record_->payload(), reinterpret_cast<const std::byte*>(&columns),
                            sizeof columns);
    unlock_record(*record_, tid::committed(version_, 1, false));
  }

 private:
  Record<test::M>* record_;
  std::uint64_t version_;
};

TEST(MvtoSnapshot, AReadWaitsForACommitThatIsBeforeIt) {
  Snapshots hands;
  HalfACommit commit(hands);
  const Hand reader = hands.begin(1);
  std::optional<std::int64_t> seen;
  std::thread reads([&] { seen = reader.read(10); });
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  commit.install();
  reads.join();
  EXPECT_EQ(seen, 7) << "it has read the version before";
}

TEST(MvtoSnapshot, AReadDoesNotWaitForACommitThatIsAfterIt) {
  Snapshots hands;
  const Hand reader = hands.begin(1);
  const Hand writer = hands.begin(2);
  ASSERT_TRUE(writer.write(10, 1) && writer.commit());
  HalfACommit commit(hands);
  EXPECT_EQ(reader.read(10), 1000);
  commit.install();
  EXPECT_EQ(reader.read(10), 1000);
}

TEST(MvtoSnapshot, VersionsStayWhileTheyMayBeReadAndNoLonger) {
  Snapshots hands;
  const Hand reader = hands.begin(0);
  for (int round = 0; round < 100; ++round) {
    const Hand txn = hands.begin(1);
    ASSERT_TRUE(txn.write(10, round) && txn.commit());
  }
  EXPECT_EQ(reader.read(10), 1000);
  EXPECT_TRUE(reader.commit());
  EXPECT_LE(test::growth_by_overwriting(hands), 0);
}

TEST(MvtoSnapshot, AnAbortLeavesNothing) {
  Snapshots hands;
  const Hand txn = hands.begin(0);
  ASSERT_TRUE(txn.write(10, 1) && txn.insert(15, 2) && txn.remove(20));
  txn.abort();
  EXPECT_EQ(hands.committed(10), 1000);
  EXPECT_EQ(hands.committed(20), 2000);
  EXPECT_EQ(Database::record(hands.db.rows, 15), nullptr);
}

// ---- read committed -----------------------------------------------------------------------------

TEST(MvtoReadCommitted, ReadsWhatIsCommittedByThen) {
  Committed hands;
  const Hand reader = hands.begin(0);
  EXPECT_EQ(reader.read(30), 3000);
  const Hand writer = hands.begin(1);
  ASSERT_TRUE(writer.write(10, 1) && writer.insert(15, 2));
  EXPECT_EQ(reader.read(20), 2000);
  ASSERT_TRUE(writer.commit());
  EXPECT_EQ(reader.read(10), 1);
  EXPECT_EQ(reader.scan(10, 30), (Keys{10, 15, 20, 30}));
  EXPECT_TRUE(reader.commit());
}

TEST(MvtoReadCommitted, NothingUncommittedIsRead) {
  Committed hands;
  const Hand writer = hands.begin(0);
  ASSERT_TRUE(writer.write(10, 1) && writer.insert(15, 2) && writer.remove(20));
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.read(10), 1000);
  EXPECT_FALSE(reader.read(15));
  EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  writer.abort();
  EXPECT_TRUE(reader.commit());
}

TEST(MvtoReadCommitted, PermitsLostUpdates) {
  Committed hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_TRUE(first.write(10, 1) && second.write(10, 2));
  EXPECT_TRUE(first.commit());
  EXPECT_EQ(hands.committed(10), 1);
  EXPECT_TRUE(second.commit());
  EXPECT_EQ(hands.committed(10), 2);
}

TEST(MvtoReadCommitted, ColumnsThatAWriteLeavesAloneStayThoseOfTheLastVersion) {
  Committed hands;
  const Hand narrow = hands.begin(0);
  ASSERT_TRUE(narrow.write_narrow(10, 4));
  const Hand wide = hands.begin(1);
  const auto row = wide.txn().read(kNoState, hands.db.rows, make_key(10));
  ASSERT_TRUE(wide.txn().update(kNoState, hands.db.rows, row, [](Columns& columns) {
    columns = {.first = 1, .second = 2, .third = 3};
  }));
  EXPECT_TRUE(wide.commit() && narrow.commit());
  const Hand reader = hands.begin(2);
  const auto whole = reader.txn().read(kNoState, hands.db.rows, make_key(10));
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, (Columns{.first = 4, .second = 2, .third = 3}));
}

TEST(MvtoReadCommitted, ADeletedRowIsNotOverwritten) {
  Committed hands;
  const Hand late = hands.begin(0);
  ASSERT_TRUE(late.write(10, 1));
  const Hand remover = hands.begin(1);
  ASSERT_TRUE(remover.remove(10) && remover.commit());
  EXPECT_FALSE(late.commit());
  EXPECT_EQ(late.reason(), AbortReason::read_validation);
  late.abort();
  EXPECT_FALSE(hands.committed(10));
}

TEST(MvtoReadCommitted, AnInsertOfARowThatItMissedIsTriedAgain) {
  Committed hands;
  const Hand late = hands.begin(0);
  EXPECT_FALSE(late.read(15));
  const Hand first = hands.begin(1);
  ASSERT_TRUE(first.insert(15, 1) && first.commit());
  EXPECT_FALSE(late.insert(15, 2));
  EXPECT_EQ(late.stop(), Outcome::abort);
  late.abort();
  const Hand again = hands.begin(0);
  EXPECT_FALSE(again.insert(15, 2));
  EXPECT_EQ(again.stop(), Outcome::rollback) << "the row was there when it began";
  again.abort();
}

}  // namespace
}  // namespace heddle
