#include "protocol/snapshot.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fixture.h"
#include "protocol/silo.h"

namespace heddle {
namespace {

using test::Columns;
using test::Database;
using test::M;
using test::OneColumn;
using Keys = std::vector<std::uint64_t>;

constexpr std::uint64_t kPeriod = Epochs<M>::kEpochsPerSnapshot;

/// A snapshot of a database, read by hand.
class Reader {
 public:
  Reader(Database& db, int worker) : db_(&db), txn_(db.storage, worker) {}

  void begin() { txn_.begin(); }

  std::optional<std::int64_t> read(std::uint64_t key) {
    const auto row = txn_.read(kNoState, db_->rows, make_key(key));
    const auto point = txn_.read(kNoState, db_->points, make_key(key));
    EXPECT_EQ(bool{row}, bool{point});
    if (!row || !point) return std::nullopt;
    EXPECT_EQ(*row, *point) << "both tables have the same rows";
    return row->first;
  }

  std::optional<std::int64_t> read_narrow(std::uint64_t key) {
    const auto row = txn_.read<OneColumn>(kNoState, db_->rows, make_key(key));
    return row ? std::optional(row->first) : std::nullopt;
  }

  Keys scan(std::uint64_t lo, std::uint64_t hi, Order order = Order::ascending,
            std::uint32_t limit = 0) {
    Keys keys;
    EXPECT_TRUE(txn_.scan(kNoState, db_->rows, make_key(lo), make_key(hi), order, limit,
                          [&keys](const Key1& key, const Row<Columns>&) {
                            keys.push_back(key.words[0]);
                            return true;
                          }));
    return keys;
  }

 private:
  Database* db_;
  SnapshotTransaction<M> txn_;
};

class Snapshot : public testing::Test {
 protected:
  static constexpr int kWriterWorker = 0;

  Snapshot() {
    db_.storage.keep_snapshots();
    go_to(kPeriod);
  }

  [[nodiscard]] std::uint64_t epoch() { return db_.storage.epochs().current(); }

  /// All workers leave, and the epoch becomes `epoch`.
  void go_to(std::uint64_t epoch) {
    db_.pass_epochs(epoch - db_.storage.epochs().current());
    ASSERT_EQ(db_.storage.epochs().current(), epoch);
  }

  /// A reader that has just begun, in the present epoch.
  Reader& reader(int worker = 1) {
    db_.storage.boundary(worker, Database::kStill);
    Reader& fresh = readers_.emplace_back(db_, worker);
    fresh.begin();
    return fresh;
  }

  /// A transaction on both tables, in the present epoch.
  template <class F>
  void commit(F procedure) {
    db_.storage.boundary(kWriterWorker, Database::kStill);
    writer_.begin();
    procedure(test::Hand<SiloTransaction<M>, test::OrderedTable>(writer_, db_.rows));
    procedure(test::Hand<SiloTransaction<M>, test::HashedTable>(writer_, db_.points));
    ASSERT_TRUE(writer_.commit());
    db_.storage.leave(kWriterWorker);
  }
  void overwrite(std::uint64_t key, std::int64_t value) {
    commit([&](const auto& hand) { ASSERT_TRUE(hand.write(key, value)); });
  }
  void insert(std::uint64_t key, std::int64_t value) {
    commit([&](const auto& hand) { ASSERT_TRUE(hand.insert(key, value)); });
  }
  void remove(std::uint64_t key) {
    commit([&](const auto& hand) { ASSERT_TRUE(hand.remove(key)); });
  }

  Database db_;

 private:
  SiloTransaction<M> writer_{db_.storage, kWriterWorker};
  std::deque<Reader> readers_;
};

TEST(SnapshotAtTheStart, IsTheLoadedDatabase) {
  Database db;
  db.storage.keep_snapshots();
  db.storage.boundary(0, Database::kStill);
  Reader reader(db, 0);
  reader.begin();
  EXPECT_EQ(reader.read(10), 1000);
  EXPECT_EQ(reader.read(15), std::nullopt);
}

/// A snapshot is of a whole epoch: every commit in it, and none after it.
TEST_F(Snapshot, IncludesTheCommitsOfItsEpochAndNoLaterOnes) {
  overwrite(10, 1);
  go_to(kPeriod + 1);
  overwrite(20, 2);
  go_to(kPeriod + 2);
  overwrite(30, 3);
  Reader& read = reader();
  EXPECT_EQ(read.read(10), 1);
  EXPECT_EQ(read.read(20), 2000);
  EXPECT_EQ(read.read(30), 3000);
}

TEST_F(Snapshot, StaysAsItWasWhileWritersGoOn) {
  go_to(kPeriod + 2);
  Reader& read = reader();
  overwrite(10, 1);
  insert(15, 1);
  remove(20);
  remove(30);
  insert(30, 1);
  commit([](const auto& hand) {
    ASSERT_TRUE(hand.insert(35, 1));
    ASSERT_TRUE(hand.remove(35));
  });
  EXPECT_EQ(read.read(10), 1000);
  EXPECT_EQ(read.read(15), std::nullopt);
  EXPECT_EQ(read.read(20), 2000);
  EXPECT_EQ(read.read(30), 3000);
  EXPECT_EQ(read.scan(10, 60), (Keys{10, 20, 30, 40, 50, 60}));
  EXPECT_EQ(read.scan(10, 40, Order::descending), (Keys{40, 30, 20, 10}));
  EXPECT_EQ(read.scan(12, 60, Order::ascending, 2), (Keys{20, 30})) << "it can't see those between";
  EXPECT_EQ(read.scan(10, 38, Order::descending, 2), (Keys{30, 20}));

  go_to(2 * kPeriod + 2);
  Reader& later = reader(2);
  EXPECT_EQ(later.read(10), 1);
  EXPECT_EQ(later.read(15), 1);
  EXPECT_EQ(later.read(20), std::nullopt);
  EXPECT_EQ(later.read(30), 1);
  EXPECT_EQ(later.scan(10, 35), (Keys{10, 15, 30}));
}

TEST_F(Snapshot, DoesNotSeeWhatIsNotCommitted) {
  go_to(kPeriod + 2);
  SiloTransaction<M> txn(db_.storage, 3);
  db_.storage.boundary(3, Database::kStill);
  txn.begin();
  const test::Hand<SiloTransaction<M>, test::OrderedTable> rows(txn, db_.rows);
  ASSERT_TRUE(rows.write(10, 1) && rows.insert(15, 1) && rows.remove(20));
  EXPECT_EQ(reader().scan(10, 30), (Keys{10, 20, 30}));
  txn.abort();
  EXPECT_EQ(reader().scan(10, 30), (Keys{10, 20, 30}));
}

/// Two versions are newer than the snapshot: the reader finds the one behind both.
TEST_F(Snapshot, FindsItsVersionBehindNewerOnes) {
  overwrite(10, 1);
  go_to(kPeriod + 5);
  overwrite(10, 2);
  overwrite(10, 3);
  go_to(2 * kPeriod + 1);
  overwrite(10, 4);
  EXPECT_EQ(reader().read(10), 1);
  go_to(2 * kPeriod + 2);
  EXPECT_EQ(reader(2).read(10), 3);
  go_to(3 * kPeriod + 2);
  EXPECT_EQ(reader(3).read(10), 4);
}

TEST_F(Snapshot, SeesARowThatLivedBetweenTwoOthers) {
  go_to(kPeriod + 1);
  insert(15, 1);
  go_to(2 * kPeriod + 1);
  remove(15);
  EXPECT_EQ(reader().read(15), std::nullopt) << "not yet";
  go_to(2 * kPeriod + 2);
  EXPECT_EQ(reader(2).read(15), 1);
  go_to(3 * kPeriod + 2);
  EXPECT_EQ(reader(3).read(15), std::nullopt) << "no longer";
}

/// A version has all columns, whichever of them were overwritten.
TEST_F(Snapshot, VersionsAreWhole) {
  go_to(kPeriod + 2);
  Reader& read = reader();
  commit([](const auto& hand) { ASSERT_TRUE(hand.write_narrow(10, 1)); });
  EXPECT_EQ(read.read(10), 1000);
  EXPECT_EQ(read.read_narrow(10), 1000);
  go_to(2 * kPeriod + 2);
  Reader& later = reader(2);
  EXPECT_EQ(later.read_narrow(10), 1);
  EXPECT_EQ(later.read(10), 1);
}

// ---- reclamation of old versions ----------------------------------------------------------------

TEST_F(Snapshot, VersionsAreReclaimed) {
  const std::int64_t bytes = db_.storage.live_bytes();
  for (std::uint64_t round = 1; round <= 5; ++round) {
    go_to(round * kPeriod + 1);
    overwrite(10, static_cast<std::int64_t>(round));
    overwrite(20, static_cast<std::int64_t>(round));
  }
  EXPECT_GT(db_.storage.live_bytes(), bytes);
  db_.pass_epochs(2 * kPeriod + 4);
  db_.pass_boundaries();
  EXPECT_EQ(db_.storage.live_bytes(), bytes);
  EXPECT_EQ(Database::committed(db_.rows, 10), 5);
}

TEST_F(Snapshot, VersionsAReaderMayWantAreNotReclaimed) {
  go_to(kPeriod + 2);
  Reader& read = reader();
  overwrite(10, 1);
  remove(20);
  const std::int64_t bytes = db_.storage.live_bytes();
  // The reader lets the epoch advance by one, whatever the others try.
  for (int attempt = 0; attempt < 100; ++attempt) {
    db_.storage.epochs().advance(Database::kStill);
    for (int worker : {0, 2, 3}) db_.storage.boundary(worker, Database::kStill);
  }
  EXPECT_EQ(epoch(), kPeriod + 3);
  EXPECT_EQ(db_.storage.live_bytes(), bytes);
  EXPECT_EQ(read.read(10), 1000);
  EXPECT_EQ(read.read(20), 2000);
}

TEST_F(Snapshot, DeletedRecordStaysUntilNoSnapshotWantsIt) {
  insert(15, 1);
  const std::int64_t bytes = db_.storage.live_bytes();
  go_to(kPeriod + 1);
  remove(15);
  EXPECT_NE(Database::record(db_.rows, 15), nullptr);
  go_to(2 * kPeriod + 1);
  db_.pass_boundaries();
  EXPECT_EQ(reader().read(15), 1) << "the snapshot is still the one before the deletion";
  go_to(3 * kPeriod + 4);
  db_.pass_boundaries();
  EXPECT_EQ(Database::record(db_.rows, 15), nullptr);
  EXPECT_EQ(Database::record(db_.points, 15), nullptr);
  db_.pass_epochs(4);
  db_.pass_boundaries();
  EXPECT_LT(db_.storage.live_bytes(), bytes);
}

TEST_F(Snapshot, RecordThatLivesAgainIsNotUnlinked) {
  remove(10);
  const Record<M>* record = Database::record(db_.rows, 10);
  go_to(kPeriod + 2);
  Reader& read = reader();
  insert(10, 1);
  EXPECT_EQ(Database::record(db_.rows, 10), record) << "the same record, revived";
  EXPECT_EQ(read.read(10), std::nullopt) << "it replaced the absence of the row";
  go_to(4 * kPeriod);
  db_.pass_boundaries();
  EXPECT_EQ(Database::committed(db_.rows, 10), 1);
  EXPECT_EQ(reader().read(10), 1);
}

// ---- at the same time ---------------------------------------------------------------------------

/// A writer moves an amount between two rows and a third from key to key; no snapshot may see the
/// amount doubled or halved, or the third row twice or never.
TEST_F(Snapshot, IsConsistentWhileAWriterRuns) {
  constexpr int kTransactions = 4000;
  insert(100, 0);
  go_to(3 * kPeriod);
  std::atomic<bool> over{false};
  std::thread writer([this, &over] {
    for (int i = 0; i < kTransactions; ++i) {
      const auto here = static_cast<std::uint64_t>(100 + i % 2);
      commit([&](const auto& hand) {
        const auto first = hand.read(10);
        const auto second = hand.read(20);
        ASSERT_TRUE(first && second && hand.write(10, *first - i) && hand.write(20, *second + i));
        ASSERT_TRUE(hand.remove(here) && hand.insert(201 - here, i));
      });
      if (i % 8 == 0) db_.storage.epochs().advance(Database::kStill);
    }
    over = true;
  });
  Reader read(db_, 1);
  while (!over && !HasFailure()) {
    db_.storage.boundary(1, Database::kStill);
    read.begin();
    EXPECT_EQ(read.read(10).value_or(0) + read.read(20).value_or(0), 3000);
    EXPECT_EQ(read.scan(100, 101).size(), 1U);
    EXPECT_NE(read.read(100), read.read(101));
  }
  db_.storage.leave(1);
  writer.join();
}

}  // namespace
}  // namespace heddle
