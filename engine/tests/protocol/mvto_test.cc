#include "protocol/mvto.h"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "mvto_hands.h"

namespace heddle {
namespace {

using test::Columns;
using test::Database;
using test::hand_signature;
using test::M;
using test::MvtoHands;
using test::OneColumn;
using Hand = MvtoHands::Hand;
using Keys = std::vector<std::uint64_t>;

/// The same, with POINTS written too.
Signature points_signature() {
  Signature signature = hand_signature();
  for (TypeSpec& type : signature.types) {
    type.accesses.push_back({"insert_point", "POINTS", AccessKind::insert, false});
  }
  return signature;
}

// ---- versions -----------------------------------------------------------------------------------

TEST(Mvto, ReadsItsOwnWritesAndCommitsThem) {
  MvtoHands hands;
  const Hand txn = hands.begin(0);
  ASSERT_TRUE(txn.write(10, 1) && txn.insert(15, 2) && txn.remove(20));
  EXPECT_EQ(txn.read(10), 1);
  EXPECT_EQ(txn.read(15), 2);
  EXPECT_FALSE(txn.read(20));
  EXPECT_EQ(txn.scan(10, 30), (Keys{10, 15, 30}));
  ASSERT_TRUE(txn.write(10, 3)) << "again";
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(hands.committed(10), 3);
  EXPECT_EQ(hands.committed(15), 2);
  EXPECT_FALSE(hands.committed(20));
}

TEST(Mvto, ReadsWhatWasThereAtItsTimestamp) {
  MvtoHands hands;
  const Hand reader = hands.begin(0);
  const Hand writer = hands.begin(1);
  ASSERT_TRUE(writer.write(10, 1) && writer.remove(20) && writer.insert(25, 2) && writer.commit());
  const Hand again = hands.begin(2);
  ASSERT_TRUE(again.write(10, 5) && again.insert(20, 6) && again.commit());
  EXPECT_EQ(reader.read(10), 1000);
  EXPECT_EQ(reader.read(20), 2000);
  EXPECT_FALSE(reader.read(25));
  EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  EXPECT_TRUE(reader.commit());
  const Hand later = hands.begin(3);
  EXPECT_EQ(later.read(10), 5);
  EXPECT_EQ(later.read(20), 6);
  EXPECT_EQ(later.read(25), 2);
}

TEST(Mvto, ARowDeletedForAWhileIsNotThereInBetween) {
  MvtoHands hands;
  const Hand remover = hands.begin(0);
  ASSERT_TRUE(remover.remove(10) && remover.commit());
  const Hand reader = hands.begin(1);
  const Hand inserter = hands.begin(2);
  ASSERT_TRUE(inserter.insert(10, 7) && inserter.commit());
  EXPECT_FALSE(reader.read(10));
  EXPECT_TRUE(reader.commit());
}

TEST(Mvto, ColumnsThatAWriteLeavesAloneComeFromTheVersionBefore) {
  MvtoHands hands;
  const Hand first = hands.begin(0);
  const auto row = first.txn().read(kNoState, hands.db.rows, make_key(10));
  ASSERT_TRUE(first.txn().update(kNoState, hands.db.rows, row, [](Columns& columns) {
    columns = {.first = 1, .second = 2, .third = 3};
  }));
  const Hand second = hands.begin(1);
  ASSERT_TRUE(second.write_narrow(10, 4));
  const Hand third = hands.begin(2);
  EXPECT_EQ(third.read_narrow(10), 4);
  const auto whole = third.txn().read(kNoState, hands.db.rows, make_key(10));
  ASSERT_TRUE(whole);
  EXPECT_EQ(*whole, (Columns{.first = 4, .second = 2, .third = 3}));
  const auto own = second.txn().read(kNoState, hands.db.rows, make_key(10));
  ASSERT_TRUE(own);
  EXPECT_EQ(*own, (Columns{.first = 4, .second = 2, .third = 3}));
  EXPECT_TRUE(first.commit() && second.commit() && third.commit());
}

// ---- refused writes -----------------------------------------------------------------------------

TEST(Mvto, AWriteIsRefusedOnceALaterTransactionHasRead) {
  MvtoHands hands;
  const Hand first = hands.begin(0);
  EXPECT_EQ(first.read(10), 1000);
  const Hand second = hands.begin(1);
  EXPECT_EQ(second.read(10), 1000);
  EXPECT_FALSE(first.write(10, 1));
  EXPECT_EQ(first.stop(), Outcome::abort);
  EXPECT_EQ(first.reason(), AbortReason::late_write);
  first.abort();
  EXPECT_TRUE(second.write(10, 2)) << "an earlier reader is no obstacle";
  EXPECT_TRUE(second.commit());
}

TEST(Mvto, ASecondWriteIsRefusedOnceTheFirstHasBeenRead) {
  MvtoHands hands;
  const Hand writer = hands.begin(0);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.read(10), 1);
  EXPECT_FALSE(writer.write(10, 2));
  writer.abort();
  EXPECT_FALSE(reader.commit()) << "it has read a version that was not committed";
}

TEST(Mvto, AnInsertIsRefusedOnceALaterTransactionHasMissedTheRow) {
  MvtoHands hands(points_signature());
  const Hand inserter = hands.begin(0);
  const Hand reader = hands.begin(1);
  EXPECT_FALSE(reader.read(15));
  EXPECT_FALSE(reader.on(hands.db.points).read(15));
  EXPECT_TRUE(reader.commit());
  EXPECT_FALSE(inserter.insert(15, 1));
  EXPECT_EQ(inserter.reason(), AbortReason::late_write);
  inserter.abort();
  const Hand other = hands.begin(2);
  const Hand last = hands.begin(3);
  EXPECT_FALSE(last.on(hands.db.points).read(17));
  EXPECT_FALSE(other.on(hands.db.points).insert(17, 1));
  other.abort();
}

TEST(Mvto, AnInsertIsRefusedOnceALaterTransactionHasScannedTheRange) {
  MvtoHands hands;
  const Hand inserter = hands.begin(0);
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  EXPECT_TRUE(reader.commit());
  EXPECT_FALSE(inserter.insert(15, 1));
  EXPECT_EQ(inserter.reason(), AbortReason::late_insert);
  inserter.abort();
  const Hand after = hands.begin(2);
  EXPECT_TRUE(after.insert(15, 1) && after.commit());
}

TEST(Mvto, AnInsertIntoAnothersPlaceholderIsRefusedToo) {
  MvtoHands hands;
  const Hand inserter = hands.begin(0);
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  EXPECT_TRUE(reader.commit());
  Record<M>* placeholder = hands.db.rows.make_record(2, make_key(15), tid::kPlaceholder);
  ASSERT_TRUE(hands.db.rows.index().insert(2, make_key(15), placeholder).inserted);
  EXPECT_FALSE(inserter.insert(15, 1));
  EXPECT_EQ(inserter.reason(), AbortReason::late_insert);
  inserter.abort();
}

/// Fills [1000, 1000 + count * step) in steps.
void fill(MvtoHands& hands, int worker, std::uint64_t count, std::uint64_t step) {
  const Hand filler = hands.begin(worker);
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_TRUE(filler.insert(1000 + i * step, 1));
  ASSERT_TRUE(filler.commit());
}

TEST(Mvto, AScanIsRememberedWhereItsLeafHasSplit) {
  MvtoHands hands;
  const Hand inserter = hands.begin(0);
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.scan(0, 5000).size(), Database::kLoaded.size());
  EXPECT_TRUE(reader.commit());
  fill(hands, 2, 100, 10);
  EXPECT_FALSE(inserter.insert(1505, 1)) << "many leaves further on";
  EXPECT_EQ(inserter.reason(), AbortReason::late_insert);
  inserter.abort();
}

TEST(Mvto, AScanIsRememberedWhereItsLeafHasGone) {
  MvtoHands hands;
  fill(hands, 2, 100, 10);
  const Hand remover = hands.begin(2);
  for (std::uint64_t i = 20; i < 80; ++i) ASSERT_TRUE(remover.remove(1000 + i * 10));
  ASSERT_TRUE(remover.commit());
  hands.db.pass_epochs(4);
  // They begin while the rows are still in the index; the third one takes them out.
  const Hand inserter = hands.begin(0);
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.scan(1450, 1550), Keys{}) << "leaves of deleted rows only";
  EXPECT_TRUE(reader.commit());
  const std::int64_t before = hands.db.storage.live_bytes();
  hands.db.storage.leave(2);
  hands.db.storage.boundary(2, Database::kStill);
  EXPECT_EQ(Database::record(hands.db.rows, 1500), nullptr);
  EXPECT_LE(hands.db.storage.live_bytes(), before);
  EXPECT_FALSE(inserter.insert(1505, 1));
  EXPECT_EQ(inserter.reason(), AbortReason::late_insert);
  inserter.abort();
}

TEST(Mvto, AKeyThatIsTakenIsNotInserted) {
  MvtoHands hands;
  const Hand first = hands.begin(0);
  ASSERT_TRUE(first.insert(15, 1));
  const Hand second = hands.begin(1);
  EXPECT_FALSE(second.insert(15, 2));
  EXPECT_EQ(second.stop(), Outcome::rollback) << "no conflict: the row is there";
  first.abort();
  EXPECT_FALSE(second.txn().validate_rollback()) << "but in the end it was not";
  second.abort();
  EXPECT_EQ(Database::record(hands.db.rows, 15), nullptr);
}

// ---- uncommitted versions -----------------------------------------------------------------------

TEST(Mvto, ACommitWaitsForThoseItHasReadFrom) {
  MvtoHands hands;
  const Hand writer = hands.begin(0);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.read(10), 1);
  EXPECT_EQ(hands.runtime().waits_for(1), -1);
  bool committed = false;
  std::thread commits([&] { committed = reader.commit(); });
  EXPECT_TRUE(test::eventually([&] { return hands.runtime().waits_for(1) == 0; }));
  EXPECT_TRUE(writer.commit());
  commits.join();
  EXPECT_TRUE(committed);
}

TEST(Mvto, AWaitEndsWithTheRun) {
  MvtoHands hands;
  const Hand writer = hands.begin(0);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1);
  EXPECT_EQ(reader.read(10), 1);
  hands.forbid_waiting();
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(reader.reason(), AbortReason::stopped);
  EXPECT_TRUE(writer.commit());
}

TEST(Mvto, AbortsCascade) {
  MvtoHands hands;
  const Hand first = hands.begin(0);
  ASSERT_TRUE(first.write(10, 1));
  const Hand second = hands.begin(1);
  EXPECT_EQ(second.read(10), 1);
  ASSERT_TRUE(second.write(20, 2));
  const Hand third = hands.begin(2);
  EXPECT_EQ(third.read(20), 2);
  first.abort();
  EXPECT_FALSE(second.commit());
  EXPECT_EQ(second.reason(), AbortReason::dirty_source);
  EXPECT_FALSE(third.commit());
  EXPECT_EQ(hands.committed(10), 1000);
  EXPECT_EQ(hands.committed(20), 2000);
  const Hand after = hands.begin(3);
  EXPECT_EQ(after.read(10), 1000);
  EXPECT_TRUE(after.commit());
}

TEST(Mvto, AnUncommittedDeleteIsBelieved) {
  MvtoHands hands;
  const Hand remover = hands.begin(0);
  ASSERT_TRUE(remover.remove(10));
  const Hand inserter = hands.begin(1);
  EXPECT_FALSE(inserter.read(10));
  EXPECT_TRUE(inserter.insert(10, 5));
  EXPECT_TRUE(remover.commit());
  EXPECT_TRUE(inserter.commit());
  EXPECT_EQ(hands.committed(10), 5);
}

TEST(Mvto, ARowInsertedAndDeletedAgainLeavesNothing) {
  MvtoHands hands;
  const Hand txn = hands.begin(0);
  ASSERT_TRUE(txn.insert(15, 1) && txn.remove(15));
  EXPECT_TRUE(txn.commit());
  EXPECT_FALSE(hands.committed(15));
  hands.db.drain();
  EXPECT_EQ(Database::record(hands.db.rows, 15), nullptr);
}

// ---- memory, and transactions that keep aborting ------------------------------------------------

TEST(Mvto, UnreachableVersionsAreFreed) {
  MvtoHands hands;
  EXPECT_LE(test::growth_by_overwriting(hands), 0);
}

TEST(Mvto, VersionsStayWhileTheyMayBeRead) {
  MvtoHands hands;
  const Hand reader = hands.begin(0);
  for (int round = 0; round < 100; ++round) {
    const Hand txn = hands.begin(1);
    ASSERT_TRUE(txn.write(10, round) && txn.commit());
  }
  EXPECT_EQ(reader.read(10), 1000);
  EXPECT_TRUE(reader.commit());
}

TEST(Mvto, NoneBeginsWhileATransactionRunsAlone) {
  MvtoHands hands;
  ASSERT_TRUE(hands.runtime().go_alone(0));
  EXPECT_FALSE(hands.runtime().go_alone(1)) << "one at a time";
  const Hand alone = hands.begin(0);
  bool began = false;
  std::thread other([&] {
    hands.begin(1).abort();
    began = true;
  });
  EXPECT_EQ(alone.read(10), 1000);
  EXPECT_TRUE(alone.write(10, 1) && alone.commit());
  EXPECT_FALSE(began);
  hands.runtime().let_others_go();
  other.join();
  EXPECT_TRUE(began);
}

TEST(Mvto, RefusesOptions) {
  Database db;
  Shared<M, std::uint64_t> stop{0};
  const Signature signature = hand_signature();
  EXPECT_THROW(Mvto::Runtime<M>(RunSetup<M>{db.storage, signature, 1, stop, {{"a", "b"}}, nullptr}),
               std::invalid_argument);
}

}  // namespace
}  // namespace heddle
