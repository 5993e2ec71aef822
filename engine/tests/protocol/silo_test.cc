#include "protocol/silo.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fixture.h"

namespace heddle {
namespace {

using test::Columns;
using test::Database;
using test::M;
using test::OneColumn;
using test::TwoColumns;
using Keys = std::vector<std::uint64_t>;

/// Transactions on one table, each with a worker of its own, driven by hand.
template <class T>
class SiloOn {
 public:
  using Hand = test::Hand<SiloTransaction<M>, T>;

  explicit SiloOn(T Database::* table) : table_(&(db.*table)) {
    for (int worker = 0; worker < Database::kWorkers; ++worker) {
      txns_.emplace_back(db.storage, worker);
    }
  }

  Hand begin(int worker) {
    SiloTransaction<M>& txn = txns_[static_cast<std::size_t>(worker)];
    db.storage.boundary(worker, M::now());
    txn.begin();
    return {txn, *table_};
  }

  /// Whole transactions, on the last worker.
  bool overwrite(std::uint64_t key, std::int64_t value) {
    const Hand hand = begin(kLast);
    return hand.write(key, value) && hand.commit();
  }
  bool insert(std::uint64_t key, std::int64_t value) {
    const Hand hand = begin(kLast);
    return hand.insert(key, value) && hand.commit();
  }
  bool remove(std::uint64_t key) {
    const Hand hand = begin(kLast);
    return hand.remove(key) && hand.commit();
  }

  [[nodiscard]] std::optional<std::int64_t> committed(std::uint64_t key) const {
    return Database::committed(*table_, key);
  }
  [[nodiscard]] Record<M>* record(std::uint64_t key) { return Database::record(*table_, key); }
  [[nodiscard]] std::size_t count() const { return table_->count_quiescent(); }
  T& table() { return *table_; }

  Database db;

 private:
  static constexpr int kLast = Database::kWorkers - 1;

  T* table_;
  std::deque<SiloTransaction<M>> txns_;
};

class Ordered : public SiloOn<test::OrderedTable> {
 public:
  Ordered() : SiloOn(&Database::rows) {}
};
class Hashed : public SiloOn<test::HashedTable> {
 public:
  Hashed() : SiloOn(&Database::points) {}
};

// ---- reads and commits of a transaction, on both kinds of index ---------------------------------

template <class Transactions>
class SiloRows : public testing::Test {};
using BothIndexes = testing::Types<Ordered, Hashed>;
TYPED_TEST_SUITE(SiloRows, BothIndexes);

TYPED_TEST(SiloRows, ReadsItsOwnWrites) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  ASSERT_TRUE(txn.write(10, 1));
  EXPECT_EQ(txn.read(10), 1);
  ASSERT_TRUE(txn.write(10, 2));
  EXPECT_EQ(txn.read(10), 2);
  EXPECT_EQ(silo.begin(1).read(10), 1000) << "buffered until the commit";
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(silo.committed(10), 2);
  EXPECT_EQ(silo.begin(1).read(10), 2);
}

/// A row is a copy that does not change.
TYPED_TEST(SiloRows, RowReadBeforeAnOwnWriteKeepsItsValue) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  const auto before = txn.txn().read(kNoState, silo.table(), make_key(10));
  ASSERT_TRUE(txn.write(10, 1));
  const auto between = txn.txn().read(kNoState, silo.table(), make_key(10));
  ASSERT_TRUE(txn.write(10, 2));
  EXPECT_EQ(before->first, 1000);
  EXPECT_EQ(between->first, 1);
}

TYPED_TEST(SiloRows, ReadsItsOwnInsertsAndDeletes) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  ASSERT_TRUE(txn.insert(15, 1));
  EXPECT_EQ(txn.read(15), 1);
  ASSERT_TRUE(txn.remove(20));
  EXPECT_EQ(txn.read(20), std::nullopt);
  EXPECT_EQ(txn.stop(), Outcome::rollback) << "not there: that is no conflict";
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(silo.committed(15), 1);
  EXPECT_EQ(silo.committed(20), std::nullopt);
}

TYPED_TEST(SiloRows, InsertOfAKeyThatExistsIsRefused) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  EXPECT_FALSE(txn.insert(10, 1));
  EXPECT_EQ(txn.stop(), Outcome::rollback);
  EXPECT_EQ(txn.read(10), 1000) << "and the row can be read";
  ASSERT_TRUE(txn.insert(15, 1));
  EXPECT_FALSE(txn.insert(15, 2)) << "its own";
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(silo.committed(10), 1000);
  EXPECT_EQ(silo.committed(15), 1);
}

/// That the key was taken counts as a read of the transaction.
TYPED_TEST(SiloRows, RefusedInsertIsValidated) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  EXPECT_FALSE(txn.insert(10, 1));
  ASSERT_TRUE(silo.remove(10));
  EXPECT_FALSE(txn.txn().validate_rollback());
  EXPECT_EQ(txn.reason(), AbortReason::read_validation);
  txn.abort();
}

TYPED_TEST(SiloRows, InsertsAndDeletesInOneTransaction) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  ASSERT_TRUE(txn.remove(10));
  ASSERT_TRUE(txn.insert(10, 1)) << "deleted, then inserted";
  ASSERT_TRUE(txn.insert(15, 2));
  ASSERT_TRUE(txn.remove(15)) << "inserted, then deleted";
  ASSERT_TRUE(txn.insert(25, 3));
  ASSERT_TRUE(txn.remove(25));
  ASSERT_TRUE(txn.insert(25, 4)) << "and inserted again";
  ASSERT_TRUE(txn.remove(20));
  ASSERT_TRUE(txn.insert(20, 5));
  ASSERT_TRUE(txn.remove(20)) << "and deleted again";
  EXPECT_EQ(txn.read(10), 1);
  EXPECT_EQ(txn.read(15), std::nullopt);
  EXPECT_EQ(txn.read(20), std::nullopt);
  EXPECT_EQ(txn.read(25), 4);
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(silo.committed(10), 1);
  EXPECT_EQ(silo.record(15), nullptr);
  EXPECT_EQ(silo.record(20), nullptr);
  EXPECT_EQ(silo.committed(25), 4);
}

TYPED_TEST(SiloRows, InsertsAndDeletesInTransactionsOneAfterTheOther) {
  for (const bool keeps_snapshots : {false, true}) {
    TypeParam silo;
    if (keeps_snapshots) silo.db.storage.keep_snapshots();
    for (std::int64_t round = 0; round < 3; ++round) {
      EXPECT_TRUE(silo.insert(15, round));
      EXPECT_FALSE(silo.insert(15, -1));
      EXPECT_EQ(silo.committed(15), round);
      EXPECT_TRUE(silo.remove(15));
      EXPECT_FALSE(silo.remove(15));
      EXPECT_EQ(silo.committed(15), std::nullopt);
    }
    EXPECT_TRUE(silo.insert(15, 7));
    silo.db.pass_epochs(100);
    for (int worker = 0; worker < Database::kWorkers; ++worker) silo.begin(worker).abort();
    EXPECT_EQ(silo.committed(15), 7) << "the last deletion's clearing away came too late";
    EXPECT_EQ(silo.count(), Database::kLoaded.size() + 1);
  }
}

TYPED_TEST(SiloRows, AbortLeavesNoTrace) {
  TypeParam silo;
  silo.db.drain();
  const std::int64_t bytes = silo.db.storage.live_bytes();
  const std::uint64_t word = silo.record(10)->word.peek();
  const auto txn = silo.begin(0);
  ASSERT_TRUE(txn.write(10, 1) && txn.remove(20) && txn.insert(15, 1));
  ASSERT_TRUE(txn.insert(25, 1) && txn.remove(25));
  txn.abort();
  EXPECT_EQ(silo.record(10)->word.peek(), word);
  EXPECT_EQ(silo.committed(10), 1000);
  EXPECT_EQ(silo.committed(20), 2000);
  EXPECT_EQ(silo.record(15), nullptr);
  EXPECT_EQ(silo.record(25), nullptr);
  silo.db.drain();
  EXPECT_EQ(silo.db.storage.live_bytes(), bytes);
}

TYPED_TEST(SiloRows, RefusedCommitLeavesNoTrace) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  ASSERT_EQ(txn.read(30), 3000);
  ASSERT_TRUE(txn.write(10, 1) && txn.remove(20) && txn.insert(15, 1));
  ASSERT_TRUE(silo.overwrite(30, 3));
  EXPECT_FALSE(txn.commit());
  EXPECT_EQ(silo.committed(10), 1000);
  EXPECT_EQ(silo.record(15), nullptr);
  // Nothing stayed locked: all of it can be written.
  EXPECT_TRUE(silo.overwrite(10, 7));
  EXPECT_TRUE(silo.remove(20));
  EXPECT_TRUE(silo.insert(15, 7));
}

TYPED_TEST(SiloRows, DeletedRecordIsUnlinkedAndFreed) {
  TypeParam silo;
  ASSERT_TRUE(silo.insert(15, 1));
  silo.db.drain();
  const std::int64_t bytes = silo.db.storage.live_bytes();
  ASSERT_TRUE(silo.remove(15));
  EXPECT_EQ(silo.record(15), nullptr);
  silo.db.drain();
  EXPECT_LT(silo.db.storage.live_bytes(), bytes);
}

// ---- how a commit is written --------------------------------------------------------------------

TYPED_TEST(SiloRows, CommitsAreNumberedUpwards) {
  TypeParam silo;
  std::uint64_t last = tid::version(silo.record(10)->word.peek());
  for (int i = 0; i < 3; ++i) {
    ASSERT_TRUE(silo.overwrite(10, i));
    const std::uint64_t word = silo.record(10)->word.peek();
    EXPECT_FALSE(tid::locked(word));
    EXPECT_GT(tid::version(word), last);
    EXPECT_EQ(tid::epoch(word), silo.db.storage.epochs().current());
    last = tid::version(word);
  }
  // Another worker's commit comes after the version it read, though that worker has committed
  // nothing yet.
  const auto txn = silo.begin(1);
  ASSERT_EQ(txn.read(10), 2);
  ASSERT_TRUE(txn.write(20, 1) && txn.commit());
  EXPECT_GT(tid::version(silo.record(20)->word.peek()), last);
}

TYPED_TEST(SiloRows, OverwrittenVersionIsKeptForSnapshots) {
  TypeParam silo;
  silo.db.storage.keep_snapshots();
  const std::uint64_t loaded = silo.record(10)->word.peek();
  ASSERT_TRUE(silo.overwrite(10, 1));
  const Version<M>* version = silo.record(10)->past.newest();
  ASSERT_NE(version, nullptr);
  EXPECT_EQ(version->word, loaded);
  EXPECT_EQ(*reinterpret_cast<const Columns*>(version->payload()), Database::loaded(10));
  EXPECT_EQ(version->previous, nullptr);
  // Of two versions that no snapshot separates the older one is of no use to readers.
  ASSERT_TRUE(silo.overwrite(10, 2));
  EXPECT_EQ(silo.record(10)->past.newest(), version);
}

TYPED_TEST(SiloRows, VersionsAreNotKeptWithoutSnapshots) {
  TypeParam silo;
  ASSERT_TRUE(silo.overwrite(10, 1));
  EXPECT_EQ(silo.record(10)->past.newest(), nullptr);

  TypeParam skipped;
  skipped.db.storage.keep_snapshots();
  skipped.table().skip_snapshots();
  ASSERT_TRUE(skipped.overwrite(10, 1));
  EXPECT_EQ(skipped.record(10)->past.newest(), nullptr);
  ASSERT_TRUE(skipped.remove(10));
  EXPECT_EQ(skipped.record(10), nullptr) << "its past is not needed";
}

// ---- prefixes of rows ---------------------------------------------------------------------------

TYPED_TEST(SiloRows, NarrowThenWideAndBack) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  SiloTransaction<M>& raw = txn.txn();
  const auto narrow = raw.template read<OneColumn>(kNoState, silo.table(), make_key(10));
  ASSERT_EQ(narrow->first, 1000);
  ASSERT_TRUE(raw.update(kNoState, silo.table(), narrow, [](OneColumn& row) { row.first = 1; }));
  const auto wide = raw.read(kNoState, silo.table(), make_key(10));
  ASSERT_TRUE(wide);
  EXPECT_EQ(*wide, (Columns{1, 10, 10})) << "its own first column, the others as committed";
  const auto two = raw.template read<TwoColumns>(kNoState, silo.table(), make_key(10));
  ASSERT_TRUE(raw.update(kNoState, silo.table(), two, [](TwoColumns& row) {
    EXPECT_EQ(row.first, 1);
    row.second = 2;
  }));
  ASSERT_TRUE(raw.update(kNoState, silo.table(), narrow, [](OneColumn& row) { row.first += 10; }));
  EXPECT_EQ(txn.read_narrow(10), 11);
  const auto all = raw.read(kNoState, silo.table(), make_key(10));
  EXPECT_EQ(*all, (Columns{11, 2, 10}));
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(*silo.table().find_quiescent(make_key(10)), (Columns{11, 2, 10}));
}

TYPED_TEST(SiloRows, NarrowRowCanBeUpdatedWide) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  SiloTransaction<M>& raw = txn.txn();
  ASSERT_EQ(txn.read_narrow(10), 1000);
  const auto wide = raw.read(kNoState, silo.table(), make_key(10));
  ASSERT_TRUE(raw.update(kNoState, silo.table(), wide, [](Columns& row) { row.third = 3; }));
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(*silo.table().find_quiescent(make_key(10)), (Columns{1000, 10, 3}));
}

/// The columns of a row are all of one version.
TYPED_TEST(SiloRows, WideningARowThatHasChangedIsRefused) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  ASSERT_EQ(txn.read_narrow(10), 1000);
  ASSERT_TRUE(silo.overwrite(10, 1));
  EXPECT_EQ(txn.read(10), std::nullopt);
  EXPECT_EQ(txn.stop(), Outcome::abort);
  EXPECT_EQ(txn.reason(), AbortReason::read_validation);
  EXPECT_EQ(txn.read(20), std::nullopt) << "it must not go on";
  txn.abort();
}

// ---- transactions that may not commit -----------------------------------------------------------

TYPED_TEST(SiloRows, LostUpdateIsRefused) {
  TypeParam silo;
  const auto first = silo.begin(0);
  const auto second = silo.begin(1);
  ASSERT_TRUE(first.write(10, 1));
  ASSERT_TRUE(second.write(10, 2));
  EXPECT_TRUE(first.commit());
  EXPECT_FALSE(second.commit());
  EXPECT_EQ(second.reason(), AbortReason::read_validation);
  EXPECT_EQ(silo.committed(10), 1);
}

TYPED_TEST(SiloRows, WriteSkewIsRefused) {
  TypeParam silo;
  const auto first = silo.begin(0);
  const auto second = silo.begin(1);
  ASSERT_EQ(first.read(20), 2000);
  ASSERT_TRUE(first.write(10, 1));
  ASSERT_EQ(second.read(10), 1000);
  ASSERT_TRUE(second.write(20, 2));
  EXPECT_TRUE(first.commit());
  EXPECT_FALSE(second.commit());
  EXPECT_EQ(silo.committed(20), 2000);
}

TYPED_TEST(SiloRows, InconsistentReadIsRefused) {
  TypeParam silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.read(10), 1000);
  const auto writer = silo.begin(1);
  ASSERT_TRUE(writer.write(10, 1) && writer.write(20, 2) && writer.commit());
  ASSERT_EQ(reader.read(20), 2);
  EXPECT_FALSE(reader.commit()) << "the one of before, the other of after";
}

TYPED_TEST(SiloRows, ReadOfADeletedRowIsRefused) {
  for (const bool reinserted : {false, true}) {
    TypeParam silo;
    const auto reader = silo.begin(0);
    ASSERT_EQ(reader.read(10), 1000);
    ASSERT_TRUE(silo.remove(10));
    if (reinserted) {
      ASSERT_TRUE(silo.insert(10, 1000)) << "another row, though it looks the same";
    }
    EXPECT_FALSE(reader.commit());
  }
}

TYPED_TEST(SiloRows, WriterOfADeletedRowIsRefused) {
  TypeParam silo;
  const auto writer = silo.begin(0);
  ASSERT_TRUE(writer.write(10, 1));
  ASSERT_TRUE(silo.remove(10));
  EXPECT_FALSE(writer.commit());
  EXPECT_EQ(silo.committed(10), std::nullopt);
}

/// A transaction that finds a record locked does not know its next version.
TYPED_TEST(SiloRows, ReadOfARecordBeingCommittedIsRefused) {
  TypeParam silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.read(10), 1000);
  const auto wanting_rollback = silo.begin(1);
  ASSERT_EQ(wanting_rollback.read(10), 1000);
  const std::uint64_t word = lock_record(*silo.record(10));
  EXPECT_FALSE(reader.commit());
  EXPECT_FALSE(wanting_rollback.txn().validate_rollback());
  wanting_rollback.abort();
  unlock_record(*silo.record(10), word);
}

TYPED_TEST(SiloRows, RollbackOfWhatWasNeverTrueIsRefused) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  ASSERT_EQ(txn.read(10), 1000);
  ASSERT_EQ(txn.read(15), std::nullopt);
  EXPECT_TRUE(txn.txn().validate_rollback());
  ASSERT_TRUE(silo.insert(15, 1));
  EXPECT_FALSE(txn.txn().validate_rollback());
  EXPECT_EQ(txn.reason(), AbortReason::node_validation);
  txn.abort();
}

TYPED_TEST(SiloRows, OneOfTwoInsertsOfAKeyIsRefused) {
  for (const bool first_wins : {true, false}) {
    TypeParam silo;
    const auto first = silo.begin(0);
    const auto second = silo.begin(1);
    ASSERT_TRUE(first.insert(15, 1));
    ASSERT_TRUE(second.insert(15, 2));
    EXPECT_TRUE((first_wins ? first : second).commit());
    EXPECT_FALSE((first_wins ? second : first).commit());
    EXPECT_EQ(silo.committed(15), first_wins ? 1 : 2);
  }
}

/// The placeholder that both insert into was the first one's, and is removed with it.
TYPED_TEST(SiloRows, InsertIntoAnAbortedPlaceholderIsRefused) {
  TypeParam silo;
  const auto first = silo.begin(0);
  const auto second = silo.begin(1);
  ASSERT_TRUE(first.insert(15, 1));
  ASSERT_TRUE(second.insert(15, 2));
  first.abort();
  EXPECT_FALSE(second.commit());
  EXPECT_EQ(silo.record(15), nullptr);
  EXPECT_TRUE(silo.insert(15, 3));
}

// ---- keys that were missed ----------------------------------------------------------------------

TYPED_TEST(SiloRows, PhantomOnAMissedKeyIsRefused) {
  TypeParam silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.read(15), std::nullopt);
  ASSERT_TRUE(silo.insert(15, 1));
  ASSERT_TRUE(reader.write(10, 1));
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(reader.reason(), AbortReason::node_validation);
}

TYPED_TEST(SiloRows, PhantomOnADeletedKeyIsRefused) {
  TypeParam silo;
  silo.db.storage.keep_snapshots();  // the deleted record stays in the index
  ASSERT_TRUE(silo.remove(10));
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.read(10), std::nullopt);
  ASSERT_TRUE(silo.insert(10, 1));
  EXPECT_FALSE(reader.commit());
}

TYPED_TEST(SiloRows, OwnInsertOfAMissedKeyCommits) {
  TypeParam silo;
  const auto txn = silo.begin(0);
  ASSERT_EQ(txn.read(15), std::nullopt);
  ASSERT_TRUE(txn.insert(15, 1));
  EXPECT_EQ(txn.read(15), 1);
  EXPECT_TRUE(txn.commit());
}

/// Index nodes guard more keys than the one missed.
TYPED_TEST(SiloRows, InsertsNextToAMissedKeyDoNoHarm) {
  TypeParam silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.read(1500), std::nullopt);
  for (std::uint64_t key = 1000; key < 2000; ++key) {
    if (key != 1500) {
      ASSERT_TRUE(silo.insert(key, 1));
    }
  }
  EXPECT_TRUE(reader.commit());
}

TYPED_TEST(SiloRows, UncommittedInsertOfAMissedKeyDoesNoHarm) {
  TypeParam silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.read(15), std::nullopt);
  const auto inserter = silo.begin(1);
  ASSERT_TRUE(inserter.insert(15, 1));
  EXPECT_TRUE(reader.commit()) << "it comes before the insert";
  EXPECT_TRUE(inserter.commit());
}

/// It is not known which of the two will come first.
TYPED_TEST(SiloRows, InsertBeingCommittedIsAPhantom) {
  TypeParam silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.read(15), std::nullopt);
  const auto inserter = silo.begin(1);
  ASSERT_TRUE(inserter.insert(15, 1));
  const std::uint64_t word = lock_record(*silo.record(15));
  EXPECT_FALSE(reader.commit());
  unlock_record(*silo.record(15), word);
  inserter.abort();
}

/// Each inserts what the other missed: write skew over keys that don't exist.
TYPED_TEST(SiloRows, InsertSkewIsRefused) {
  TypeParam silo;
  const auto first = silo.begin(0);
  const auto second = silo.begin(1);
  ASSERT_EQ(first.read(15), std::nullopt);
  ASSERT_EQ(second.read(25), std::nullopt);
  ASSERT_TRUE(first.insert(25, 1));
  ASSERT_TRUE(second.insert(15, 1));
  EXPECT_TRUE(first.commit());
  EXPECT_FALSE(second.commit());
  EXPECT_EQ(silo.record(15), nullptr);
}

// ---- ranges that were scanned -------------------------------------------------------------------

TEST(SiloScan, VisitsInBothOrdersUpToTheLimit) {
  Ordered silo;
  const auto txn = silo.begin(0);
  ASSERT_TRUE(txn.insert(15, 1));
  ASSERT_TRUE(txn.remove(30));
  EXPECT_EQ(txn.scan(10, 50), (Keys{10, 15, 20, 40, 50}));
  EXPECT_EQ(txn.scan(10, 50, Order::descending), (Keys{50, 40, 20, 15, 10}));
  EXPECT_EQ(txn.scan(11, 49), (Keys{15, 20, 40}));
  EXPECT_EQ(txn.scan(20, 60, Order::ascending, 2), (Keys{20, 40})) << "deleted rows don't count";
  EXPECT_EQ(txn.scan(10, 40, Order::descending, 2), (Keys{40, 20}));
  EXPECT_EQ(txn.scan(31, 39), Keys{});
  EXPECT_TRUE(txn.commit());
}

/// One scan, and what another transaction does before it commits.
struct ScanCase {
  const char* name;
  std::uint64_t lo;
  std::uint64_t hi;
  Order order;
  std::uint32_t limit;
  std::uint64_t inserted;
  bool phantom;
};

class SiloScanned : public testing::TestWithParam<ScanCase> {
 protected:
  Ordered silo_;
};

TEST_P(SiloScanned, InsertCommittedIsAPhantomInTheRangeOnly) {
  const ScanCase& c = GetParam();
  const auto reader = silo_.begin(0);
  ASSERT_FALSE(reader.scan(c.lo, c.hi, c.order, c.limit).empty());
  ASSERT_TRUE(silo_.insert(c.inserted, 1));
  EXPECT_EQ(reader.commit(), !c.phantom);
  if (c.phantom) {
    EXPECT_EQ(reader.reason(), AbortReason::node_validation);
  }
}

TEST_P(SiloScanned, InsertNotCommittedDoesNoHarm) {
  const ScanCase& c = GetParam();
  const auto reader = silo_.begin(0);
  ASSERT_FALSE(reader.scan(c.lo, c.hi, c.order, c.limit).empty());
  const auto inserter = silo_.begin(1);
  ASSERT_TRUE(inserter.insert(c.inserted, 1));
  EXPECT_TRUE(reader.commit());
  EXPECT_TRUE(inserter.commit());
}

TEST_P(SiloScanned, InsertTakenBackDoesNoHarm) {
  const ScanCase& c = GetParam();
  const auto reader = silo_.begin(0);
  ASSERT_FALSE(reader.scan(c.lo, c.hi, c.order, c.limit).empty());
  const auto inserter = silo_.begin(1);
  ASSERT_TRUE(inserter.insert(c.inserted, 1));
  inserter.abort();
  EXPECT_TRUE(reader.commit());
}

TEST_P(SiloScanned, OwnInsertDoesNoHarm) {
  const ScanCase& c = GetParam();
  const auto txn = silo_.begin(0);
  ASSERT_FALSE(txn.scan(c.lo, c.hi, c.order, c.limit).empty());
  ASSERT_TRUE(txn.insert(c.inserted, 1));
  EXPECT_TRUE(txn.commit());
}

/// Others have changed the node before, so the own insert must be distinguished from theirs.
TEST_P(SiloScanned, OwnInsertNextToThoseOfOthersDoesNoHarm) {
  const ScanCase& c = GetParam();
  const auto txn = silo_.begin(0);
  ASSERT_FALSE(txn.scan(c.lo, c.hi, c.order, c.limit).empty());
  ASSERT_TRUE(silo_.insert(1000, 1)) << "beyond every range";
  ASSERT_TRUE(txn.insert(c.inserted, 1));
  EXPECT_TRUE(txn.commit());
}

TEST_P(SiloScanned, OwnInsertHidesNoPhantom) {
  const ScanCase& c = GetParam();
  const auto txn = silo_.begin(0);
  ASSERT_FALSE(txn.scan(c.lo, c.hi, c.order, c.limit).empty());
  ASSERT_TRUE(silo_.insert(c.inserted, 1));
  ASSERT_TRUE(txn.insert(c.inserted + 1, 1));
  EXPECT_EQ(txn.commit(), !c.phantom);
}

INSTANTIATE_TEST_SUITE_P(
    Ranges, SiloScanned,
    testing::Values(ScanCase{"ascending_inside", 10, 40, Order::ascending, 0, 25, true},
                    ScanCase{"ascending_at_lower_bound", 8, 40, Order::ascending, 0, 8, true},
                    ScanCase{"ascending_at_upper_bound", 10, 48, Order::ascending, 0, 48, true},
                    ScanCase{"ascending_below", 8, 40, Order::ascending, 0, 6, false},
                    ScanCase{"ascending_above", 10, 40, Order::ascending, 0, 45, false},
                    ScanCase{"ascending_within_limit", 10, 60, Order::ascending, 3, 25, true},
                    ScanCase{"ascending_beyond_limit", 10, 60, Order::ascending, 3, 35, false},
                    ScanCase{"descending_inside", 10, 40, Order::descending, 0, 25, true},
                    ScanCase{"descending_at_lower_bound", 8, 40, Order::descending, 0, 8, true},
                    ScanCase{"descending_at_upper_bound", 10, 48, Order::descending, 0, 48, true},
                    ScanCase{"descending_below", 8, 40, Order::descending, 0, 6, false},
                    ScanCase{"descending_above", 10, 40, Order::descending, 0, 45, false},
                    ScanCase{"descending_within_limit", 10, 60, Order::descending, 3, 55, true},
                    ScanCase{"descending_beyond_limit", 10, 60, Order::descending, 3, 35, false}),
    [](const auto& instance) { return std::string(instance.param.name); });

/// Rows after the visitor's end of the scan were not read.
TEST(SiloScan, EndsWhereTheVisitorEndsIt) {
  for (const auto& [inserted, phantom] : {std::pair{15U, true}, std::pair{25U, false}}) {
    Ordered silo;
    const auto txn = silo.begin(0);
    ASSERT_TRUE(txn.txn().scan(kNoState, silo.table(), make_key(10), make_key(60), Order::ascending,
                               0, [](const Key1& key, const auto&) { return key.words[0] != 20; }));
    ASSERT_TRUE(silo.insert(inserted, 1));
    EXPECT_EQ(txn.commit(), !phantom);
  }
}

TEST(SiloScan, PhantomInAnEmptyRangeIsRefused) {
  Ordered silo;
  const auto reader = silo.begin(0);
  ASSERT_TRUE(reader.scan(31, 39).empty());
  ASSERT_TRUE(silo.insert(35, 1));
  EXPECT_FALSE(reader.commit());
}

TEST(SiloScan, ChangeOfARowSeenIsRefused) {
  for (const bool removed : {false, true}) {
    Ordered silo;
    const auto reader = silo.begin(0);
    ASSERT_EQ(reader.scan(10, 30).size(), 3U);
    ASSERT_TRUE(removed ? silo.remove(20) : silo.overwrite(20, 1));
    EXPECT_FALSE(reader.commit());
  }
}

/// The placeholder was there when the range was scanned, and became a row.
TEST(SiloScan, InsertUnderWayBecomesAPhantomWhenItCommits) {
  Ordered silo;
  const auto inserter = silo.begin(1);
  ASSERT_TRUE(inserter.insert(15, 1));
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.scan(10, 30), (Keys{10, 20, 30}));
  ASSERT_TRUE(inserter.commit());
  EXPECT_FALSE(reader.commit());
}

/// A row that appeared after the scan, and was then read, must not pass for an own one.
TEST(SiloScan, RowReadAfterTheScanMissedItIsAPhantom) {
  Ordered silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.scan(10, 20), (Keys{10, 20}));
  ASSERT_TRUE(silo.insert(15, 1));
  ASSERT_EQ(reader.read(15), 1);
  EXPECT_FALSE(reader.commit());
}

/// The index has to grow under a scanned range.
TEST(SiloScan, SplitsOfTheScannedNodesDoNoHarm) {
  constexpr std::uint64_t kMany = 500;
  Ordered silo;
  const auto txn = silo.begin(0);
  ASSERT_EQ(txn.scan(10, 10'000).size(), Database::kLoaded.size());
  for (std::uint64_t i = 0; i < kMany; ++i) ASSERT_TRUE(txn.insert(1000 + i * 2, 1));
  EXPECT_TRUE(txn.commit()) << "its own inserts";

  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.scan(1000, 1100).size(), 51U);
  const auto split_aside = silo.begin(1);
  for (std::uint64_t i = 0; i < kMany; ++i) {
    ASSERT_TRUE(split_aside.insert(1101 + i * 2, 1));
  }
  ASSERT_TRUE(split_aside.commit());
  EXPECT_TRUE(reader.commit()) << "inserts next to its range";
}

/// An own insert into a node split by others doesn't vouch for their inserts.
TEST(SiloScan, PhantomBehindASplitIsRefused) {
  constexpr std::uint64_t kMany = 100;
  Ordered silo;
  const auto reader = silo.begin(0);
  ASSERT_EQ(reader.scan(10, 10'000).size(), Database::kLoaded.size());
  for (std::uint64_t i = 0; i < kMany; ++i) ASSERT_TRUE(reader.insert(1000 + i * 2, 1));
  ASSERT_TRUE(silo.insert(1000 + kMany * 2 - 1, 1));
  EXPECT_FALSE(reader.commit());
  EXPECT_EQ(silo.count(), Database::kLoaded.size() + 1);
}

// ---- at the same time ---------------------------------------------------------------------------

#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 300;
#else
constexpr int kRounds = 3000;
#endif

TYPED_TEST(SiloRows, ConcurrentIncrementsAreAllCounted) {
  TypeParam silo;
  const auto increment = [&silo](int worker) {
    for (int done = 0; done < kRounds;) {
      const auto txn = silo.begin(worker);
      const auto value = txn.read(10);
      const auto other = txn.read(20);
      if (value && other && txn.write(10, *value + 1) && txn.write(20, *other - 1)) {
        done += txn.commit() ? 1 : 0;
      } else {
        txn.abort();
      }
    }
    silo.db.storage.leave(worker);
  };
  std::thread thread(increment, 1);
  increment(0);
  thread.join();
  EXPECT_EQ(silo.committed(10), 1000 + 2 * kRounds);
  EXPECT_EQ(silo.committed(20), 2000 - 2 * kRounds);
}

/// Either key 15 exists or key 25 does; each transaction finds one and puts the other in its place.
TYPED_TEST(SiloRows, ConcurrentInsertsAndDeletesOfAKeyExcludeEachOther) {
  TypeParam silo;
  ASSERT_TRUE(silo.insert(15, 0));
  const auto flip = [&silo](int worker) {
    for (int done = 0; done < kRounds;) {
      const auto txn = silo.begin(worker);
      const std::uint64_t here = txn.read(15) ? 15 : 25;
      const std::uint64_t there = 40 - here;
      const auto value = txn.read(here);
      if (value && txn.remove(here) && txn.insert(there, *value + 1)) {
        done += txn.commit() ? 1 : 0;
      } else {
        txn.abort();
      }
    }
    silo.db.storage.leave(worker);
  };
  std::thread thread(flip, 1);
  flip(0);
  thread.join();
  EXPECT_EQ(silo.count(), Database::kLoaded.size() + 1);
  EXPECT_EQ(silo.committed(15), 2 * kRounds);
}

}  // namespace
}  // namespace heddle
