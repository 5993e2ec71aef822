#include "protocol/external_transaction.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "model/signature.h"
#include "protocol/external_runtime.h"
#include "protocol/fixture.h"
#include "protocol/outcome.h"
#include "protocol/snapshot.h"
#include "store/map_store.h"
#include "store/opened_stores.h"
#include "store/stores.h"

namespace heddle::test {
namespace {

/// What the next operations of a store return instead of being carried out.
struct Refusals {
  std::optional<store::Status> begin, put, commit;
  std::string error;
  std::optional<store::Status> get_all = {};
};
Refusals refusals;

class Refusing final : public store::test::Forwarding {
 public:
  using Forwarding::Forwarding;

  store::Status begin(store::Access access) override {
    return refusals.begin ? *refusals.begin : Forwarding::begin(access);
  }
  store::Status get(std::size_t table, store::Bytes key, store::RowLock lock,
                    std::span<std::byte> out) override {
    ++gets;
    return Forwarding::get(table, key, lock, out);
  }
  [[nodiscard]] bool reads_faster_together() const override { return true; }
  store::Status get_all(std::span<store::RowToRead> rows) override {
    if (refusals.get_all) return *refusals.get_all;
    const int before = gets;
    const store::Status status = Forwarding::get_all(rows);
    gets = before;
    return status;
  }
  store::Status put(std::size_t table, store::Bytes key, store::Bytes value,
                    store::Put how) override {
    ++puts;
    return refusals.put ? *refusals.put : Forwarding::put(table, key, value, how);
  }
  store::Status erase(std::size_t table, store::Bytes key) override {
    ++erasures;
    return Forwarding::erase(table, key);
  }
  store::Status commit() override {
    return refusals.commit ? *refusals.commit : Forwarding::commit();
  }
  [[nodiscard]] const std::string& error() const override { return refusals.error; }

  static inline int gets = 0;  ///< of single rows
  static inline int puts = 0;
  static inline int erasures = 0;
};

using Keys = std::vector<std::uint64_t>;

/// Transactions on a store in memory, with the rows of the fixture. Both tables have the keys 10 to
/// 60.
class ExternalTransactionTest : public testing::Test {
 protected:
  using Txn = ExternalTransaction<M>;

  ExternalTransactionTest() {
    refusals = {};
    store::add_store("refusing", [](const store::StoreSetup& setup) {
      return std::make_unique<store::test::Wrapped<Refusing>>(
          std::make_unique<store::test::MapStore>(setup));
    });
    runtime_ = std::make_unique<ExternalRuntime<M>>(
        RunSetup<M>{database_.storage, signature_, 2, stop_, {{"store", "refusing"}}, nullptr});
    txn_ = std::make_unique<Txn>(*runtime_);
    Refusing::gets = Refusing::puts = Refusing::erasures = 0;
  }

  auto begin() {
    txn_->begin(store::Access::read_write);
    return Hand(*txn_, database_.rows);
  }
  /// A transaction that has read rows of ROWS together.
  auto begin_with(std::vector<std::uint64_t> keys) {
    const auto hand = begin();
    txn_->prefetch(named(keys));
    return hand;
  }
  std::vector<HintedRow> named(const std::vector<std::uint64_t>& keys) {
    std::vector<HintedRow> rows;
    for (const std::uint64_t key : keys) rows.push_back({database_.rows.number(), key, false});
    return rows;
  }
  /// The next member of a group.
  auto begin_member() {
    txn_->begin_member();
    return Hand(*txn_, database_.rows);
  }
  /// The row's first column in the store.
  template <class T>
  std::optional<std::int64_t> stored(T& table, std::uint64_t key) {
    const auto reader = begin().on(table);
    const auto value = reader.read(key);
    EXPECT_TRUE(reader.commit());
    return value;
  }

  Database database_;
  Signature signature_;
  Shared<M, std::uint64_t> stop_;
  std::unique_ptr<ExternalRuntime<M>> runtime_;
  std::unique_ptr<Txn> txn_;
};

TEST_F(ExternalTransactionTest, CommitsItsWritesToTheStoreAndNotToMemory) {
  const auto hand = begin();
  EXPECT_EQ(hand.read(20), 2000);
  EXPECT_TRUE(hand.write(20, 1));
  EXPECT_EQ(hand.read(20), 1) << "its own write";
  EXPECT_TRUE(hand.on(database_.points).insert(25, 2));
  EXPECT_TRUE(hand.remove(30));
  EXPECT_EQ(hand.read(30), std::nullopt);
  EXPECT_EQ(Refusing::puts, 0) << "until the commit";
  EXPECT_TRUE(hand.commit());
  EXPECT_EQ(stored(database_.rows, 20), 1);
  EXPECT_EQ(stored(database_.points, 25), 2);
  EXPECT_EQ(stored(database_.rows, 30), std::nullopt);
  EXPECT_EQ(Database::committed(database_.rows, 20), 2000);
}

TEST_F(ExternalTransactionTest, ReadsWhatItHasPrefetchedWithoutTheStore) {
  const auto hand = begin_with({10, 20, 25, 30});
  EXPECT_EQ(hand.read(20), 2000);
  EXPECT_EQ(hand.read(25), std::nullopt);
  EXPECT_TRUE(hand.insert(25, 1));
  EXPECT_FALSE(hand.insert(30, 1));
  EXPECT_TRUE(hand.write(30, 2));
  EXPECT_EQ(Refusing::gets, 0);
  EXPECT_EQ(hand.read(40), 4000) << "a row that was not prefetched";
  EXPECT_EQ(Refusing::gets, 1);
  EXPECT_EQ(txn_->accesses().size(), 4U) << "10 is not accessed";
  EXPECT_TRUE(hand.commit());
  EXPECT_EQ(Refusing::puts, 2);
  EXPECT_EQ(stored(database_.rows, 25), 1);
  EXPECT_EQ(stored(database_.rows, 30), 2);
}

/// In an attempt of its own, which may be the second of a transaction.
TEST_F(ExternalTransactionTest, ForgetsWhatItHasPrefetched) {
  begin_with({20, 25}).abort();
  const auto other = begin();
  EXPECT_TRUE(other.write(20, 1) && other.insert(25, 2));
  EXPECT_TRUE(other.commit());
  const auto hand = begin();
  EXPECT_EQ(hand.read(20), 1);
  EXPECT_EQ(hand.read(25), 2);
  EXPECT_TRUE(hand.commit());
}

TEST_F(ExternalTransactionTest, AbortsIfItCannotPrefetch) {
  refusals.get_all = store::Status::conflict;
  const auto hand = begin_with({20});
  EXPECT_EQ(hand.read(20), std::nullopt);
  EXPECT_EQ(hand.stop(), Outcome::abort);
  EXPECT_EQ(hand.reason(), AbortReason::read_validation);
  EXPECT_FALSE(hand.commit());
  refusals = {};
  EXPECT_EQ(stored(database_.rows, 20), 2000);
}

/// Each sees what those before it have left, and each row is written once.
TEST_F(ExternalTransactionTest, MembersOfAGroupShareTheirRows) {
  EXPECT_TRUE(txn_->begin_group(store::Access::read_write));
  const auto first = begin_member();
  txn_->prefetch(named({10, 20, 25}));
  EXPECT_TRUE(first.write(20, 1) && first.insert(25, 1) && first.remove(30));
  EXPECT_TRUE(first.commit());
  const std::uint64_t version = txn_->last_version();

  const auto rolled_back = begin_member();
  EXPECT_EQ(rolled_back.read(20), 1);
  EXPECT_TRUE(rolled_back.write(20, 2) && rolled_back.remove(25) && rolled_back.insert(30, 2));
  EXPECT_TRUE(txn_->validate_rollback());
  rolled_back.abort();

  const auto third = begin_member();
  EXPECT_EQ(third.read(20), 1);
  EXPECT_EQ(txn_->accesses()[0].seen, tid::committed(version, 1, false));
  EXPECT_TRUE(third.write(20, 3));
  EXPECT_EQ(third.read(30), std::nullopt);
  EXPECT_TRUE(third.insert(30, 3));
  EXPECT_EQ(third.read(25), 1);
  EXPECT_TRUE(third.remove(25));
  EXPECT_TRUE(third.commit());
  EXPECT_GT(txn_->last_version(), version);

  EXPECT_EQ(begin_member().read(25), std::nullopt);
  EXPECT_TRUE(txn_->commit());
  EXPECT_EQ(Refusing::gets, 1) << "of 30, once";
  EXPECT_EQ(Refusing::puts, 0) << "until the group's commit";
  EXPECT_TRUE(txn_->commit_group());
  EXPECT_EQ(Refusing::puts, 3) << "20, 25 and 30";
  EXPECT_EQ(Refusing::erasures, 1) << "of 25, which others may have inserted meanwhile";
  EXPECT_EQ(stored(database_.rows, 20), 3);
  EXPECT_EQ(stored(database_.rows, 25), std::nullopt);
  EXPECT_EQ(stored(database_.rows, 30), 3);
}

TEST_F(ExternalTransactionTest, AScanOfAGroupFindsWhatMembersHaveWritten) {
  EXPECT_TRUE(txn_->begin_group(store::Access::read_write));
  const auto first = begin_member();
  txn_->prefetch(named({20}));
  EXPECT_TRUE(first.write(20, 1) && first.insert(25, 1) && first.remove(30));
  EXPECT_TRUE(first.commit());
  const auto second = begin_member();
  EXPECT_TRUE(second.insert(27, 1));
  EXPECT_EQ(second.scan(0, 99), (Keys{10, 20, 25, 27, 40, 50, 60}));
  EXPECT_EQ(second.read(20), 1);
  EXPECT_TRUE(second.write(20, 2) && second.remove(25));
  EXPECT_TRUE(second.write(40, 2)) << "a row that it has only scanned";
  EXPECT_TRUE(second.commit());
  EXPECT_EQ(begin_member().scan(0, 99), (Keys{10, 20, 27, 40, 50, 60}));
  EXPECT_TRUE(txn_->commit());
  EXPECT_TRUE(txn_->commit_group());
  EXPECT_EQ(stored(database_.rows, 20), 2);
  EXPECT_EQ(stored(database_.rows, 40), 2);
  EXPECT_EQ(begin().scan(0, 99), (Keys{10, 20, 27, 40, 50, 60}));
  txn_->abort();
}

TEST_F(ExternalTransactionTest, AGroupThatTheStoreRefusesHasNoEffect) {
  EXPECT_TRUE(txn_->begin_group(store::Access::read_write));
  const auto first = begin_member().at({.read = 3});
  EXPECT_TRUE(first.write(20, 1));
  EXPECT_TRUE(first.commit());
  const auto second = begin_member().at({.read = 4});
  EXPECT_TRUE(second.write(10, 1));
  EXPECT_TRUE(second.commit());
  refusals.put = store::Status::conflict;
  EXPECT_FALSE(txn_->commit_group());
  EXPECT_EQ(txn_->reason(), AbortReason::read_validation);
  EXPECT_EQ(txn_->reason_state(), 4) << "10 is sent first";
  txn_->abort_group();
  refusals = {};
  EXPECT_EQ(stored(database_.rows, 20), 2000);
  EXPECT_EQ(stored(database_.rows, 10), 1000);
}

TEST_F(ExternalTransactionTest, AbortsWithoutEffect) {
  const auto hand = begin();
  EXPECT_TRUE(hand.write(20, 1));
  EXPECT_TRUE(hand.txn().validate_rollback());
  hand.abort();
  EXPECT_EQ(stored(database_.rows, 20), 2000);
}

TEST_F(ExternalTransactionTest, KeepsTheColumnsThatAPrefixLeavesOut) {
  const auto hand = begin();
  EXPECT_TRUE(hand.write_narrow(20, 1));
  EXPECT_TRUE(hand.commit());
  const auto again = begin();
  const auto row = again.txn().read(kNoState, database_.rows, make_key(20));
  ASSERT_TRUE(row);
  EXPECT_EQ(*row, (Columns{1, 20, 20}));
  EXPECT_TRUE(again.commit());
}

TEST_F(ExternalTransactionTest, InsertsOnlyWhatIsNotThere) {
  const auto hand = begin();
  EXPECT_FALSE(hand.insert(20, 1));
  EXPECT_EQ(hand.stop(), Outcome::rollback) << "that is no conflict";
  EXPECT_TRUE(hand.insert(21, 1));
  EXPECT_FALSE(hand.insert(21, 2));
  EXPECT_TRUE(hand.remove(21));
  EXPECT_TRUE(hand.insert(21, 3));
  EXPECT_TRUE(hand.remove(30));
  EXPECT_TRUE(hand.insert(30, 4));
  EXPECT_TRUE(hand.insert(22, 5));
  EXPECT_TRUE(hand.remove(22));
  EXPECT_TRUE(hand.commit());
  EXPECT_EQ(Refusing::puts, 2) << "21 and 30; 22 has never been there";
  EXPECT_EQ(Refusing::erasures, 0);
  EXPECT_EQ(stored(database_.rows, 21), 3);
  EXPECT_EQ(stored(database_.rows, 30), 4);
}

TEST_F(ExternalTransactionTest, ScansMergeItsOwnWrites) {
  const auto hand = begin();
  for (const std::uint64_t key : {5, 25, 27, 65}) EXPECT_TRUE(hand.insert(key, 1));
  EXPECT_TRUE(hand.remove(30));
  EXPECT_TRUE(hand.remove(27));
  EXPECT_EQ(hand.scan(0, 99), (Keys{5, 10, 20, 25, 40, 50, 60, 65}));
  EXPECT_EQ(hand.scan(0, 99, Order::descending), (Keys{65, 60, 50, 40, 25, 20, 10, 5}));
  EXPECT_EQ(hand.scan(20, 40), (Keys{20, 25, 40}));
  EXPECT_EQ(hand.scan(61, 99), Keys{65});
  EXPECT_EQ(hand.scan(0, 99, Order::ascending, 1), Keys{5});
  EXPECT_EQ(hand.scan(0, 99, Order::descending, 3), (Keys{65, 60, 50}));
  EXPECT_TRUE(hand.commit());
  EXPECT_EQ(begin().scan(0, 99), (Keys{5, 10, 20, 25, 40, 50, 60, 65}));
  txn_->abort();
}

/// A set that has outgrown its first lookup, and is then used again.
TEST_F(ExternalTransactionTest, FindsItsRowsInALargeSet) {
  for (int round = 0; round < 2; ++round) {
    const auto hand = begin().on(database_.points);
    for (std::uint64_t key = 1000; key < 1500; ++key) {
      EXPECT_TRUE(hand.insert(key, static_cast<std::int64_t>(key)));
    }
    for (std::uint64_t key = 1000; key < 1500; ++key) {
      EXPECT_EQ(hand.read(key), static_cast<std::int64_t>(key));
    }
    hand.abort();
  }
}

TEST_F(ExternalTransactionTest, VersionsGrowAlsoOverADeletedRow) {
  std::uint64_t last = 0;
  const auto version = [&] {
    const auto hand = begin();
    EXPECT_EQ(hand.read(20).has_value(), true);
    EXPECT_EQ(hand.txn().accesses().size(), 1U);
    const std::uint64_t seen = hand.txn().accesses()[0].seen;
    EXPECT_TRUE(hand.commit());
    return seen;
  };
  EXPECT_EQ(version(), tid::kLoaded);
  const auto expect_newer = [&](const auto& change) {
    const auto hand = begin();
    EXPECT_TRUE(change(hand));
    EXPECT_TRUE(hand.commit());
    EXPECT_GT(txn_->last_version(), last);
    last = txn_->last_version();
  };
  expect_newer([](const auto& hand) { return hand.write(20, 1) && hand.write(20, 2); });
  EXPECT_EQ(version(), tid::committed(last, 2, false));
  expect_newer([](const auto& hand) { return hand.remove(20); });
  expect_newer([](const auto& hand) { return hand.insert(20, 3); });
  EXPECT_EQ(version(), tid::committed(last, 1, false));
}

TEST_F(ExternalTransactionTest, AbortsByTheReasonOfTheStore) {
  using store::Status;
  const std::vector<std::pair<Status, AbortReason>> reasons{
      {Status::conflict, AbortReason::read_validation},
      {Status::exists, AbortReason::read_validation},
      {Status::absent, AbortReason::read_validation},
      {Status::deadlock, AbortReason::deadlock},
      {Status::busy, AbortReason::lock_conflict},
      {Status::stopped, AbortReason::stopped}};
  for (const auto& [status, reason] : reasons) {
    refusals = {.begin = status, .put = {}, .commit = {}, .error = {}};
    EXPECT_EQ(begin().read(20), std::nullopt);
    EXPECT_EQ(txn_->stop(), Outcome::abort);
    EXPECT_FALSE(txn_->commit());
    EXPECT_EQ(txn_->reason(), reason);
    EXPECT_FALSE(txn_->validate_rollback());
    txn_->abort();

    refusals = {.begin = {}, .put = status, .commit = {}, .error = {}};
    const auto hand = begin().at({.read = 3});
    EXPECT_TRUE(hand.write(20, 1));
    EXPECT_FALSE(hand.commit());
    EXPECT_EQ(hand.reason(), reason);
    EXPECT_EQ(txn_->reason_state(), 3);

    refusals = {.begin = {}, .put = {}, .commit = status, .error = {}};
    EXPECT_TRUE(begin().write(20, 1));
    EXPECT_FALSE(txn_->commit());
    EXPECT_EQ(txn_->reason(), reason);
    txn_->abort();
    refusals = {};
    EXPECT_EQ(stored(database_.rows, 20), 2000);
  }
  EXPECT_FALSE(runtime_->failed());
}

TEST_F(ExternalTransactionTest, ALostStoreEndsTheRunAndLeavesTheRowsInMemory) {
  refusals = {.begin = {}, .put = {}, .commit = store::Status::lost, .error = "the disk is full"};
  EXPECT_TRUE(begin().write(20, 1));
  EXPECT_FALSE(txn_->commit());
  txn_->abort();
  EXPECT_EQ(txn_->reason(), AbortReason::stopped);
  EXPECT_TRUE(runtime_->failed());
  EXPECT_EQ(runtime_->failure(), "the disk is full");
  refusals = {};
  EXPECT_EQ(begin().read(20), std::nullopt) << "nothing is tried again";
  txn_->abort();
  runtime_->finish();
  EXPECT_EQ(Database::committed(database_.rows, 20), 2000);
}

/// After a run the tables in memory have what it committed, also for snapshots.
TEST_F(ExternalTransactionTest, CopiesBackWhatWasCommitted) {
  const auto hand = begin();
  EXPECT_TRUE(hand.write(20, 1) && hand.remove(30) && hand.insert(35, 2));
  const auto points = hand.on(database_.points);
  EXPECT_TRUE(points.write(20, 3) && points.remove(30) && points.insert(35, 4));
  EXPECT_TRUE(hand.commit());
  runtime_->finish();
  EXPECT_FALSE(runtime_->failed());
  std::vector<std::pair<std::uint64_t, std::int64_t>> rows;
  database_.rows.for_each(
      [&rows](const Key1& key, const Columns& row) { rows.emplace_back(key.words[0], row.first); });
  const std::vector<std::pair<std::uint64_t, std::int64_t>> expected{
      {10, 1000}, {20, 1}, {35, 2}, {40, 4000}, {50, 5000}, {60, 6000}};
  EXPECT_EQ(rows, expected);
  EXPECT_EQ(Database::committed(database_.points, 20), 3);
  EXPECT_EQ(Database::committed(database_.points, 30), std::nullopt);
  EXPECT_EQ(Database::committed(database_.points, 35), 4);
  EXPECT_EQ(database_.points.count_quiescent(), 6U);

  database_.storage.boundary(0, Database::kStill);
  SnapshotTransaction<M> snapshot(database_.storage, 0);
  snapshot.begin();
  EXPECT_EQ(Hand(snapshot, database_.rows).scan(0, 99), (Keys{10, 20, 35, 40, 50, 60}));
  database_.storage.leave(0);

  // Again, from these rows.
  ExternalRuntime<M> next(
      RunSetup<M>{database_.storage, signature_, 2, stop_, {{"store", "refusing"}}, nullptr});
  ExternalTransaction<M> txn(next);
  txn.begin(store::Access::read_only);
  EXPECT_EQ(Hand(txn, database_.rows).scan(0, 99), (Keys{10, 20, 35, 40, 50, 60}));
  EXPECT_TRUE(txn.commit());
}

TEST(ExternalOptions, AreChecked) {
  const auto refusal = [](const OptionMap& options) -> std::string {
    try {
      (void)ExternalOptions::parse(options);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  store::test::add_test_stores();
  EXPECT_EQ(refusal({{"store", "map"}}), "");
  EXPECT_EQ(refusal({{"store", "oracle"}})
                .find("protocol external: option 'store' is 'oracle'; allowed: one of sqlite, "),
            0U);
  EXPECT_EQ(refusal({{"store", "map"}, {"backoff_first_us", "10"}, {"backoff_longest_us", "5"}}),
            "protocol external: option 'backoff_longest_us' is '5.000000'; allowed: at least "
            "backoff_first_us");
}

}  // namespace
}  // namespace heddle::test
