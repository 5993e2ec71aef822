#include "protocol/two_phase_locking.h"

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "fixture.h"
#include "model/random.h"
#include "workload/tpcc/states.h"

namespace heddle {
namespace {

using test::Database;
using test::hand_signature;
using test::hand_state;
using test::kReadLoop;
using test::kWriter;
using test::M;
using Keys = std::vector<std::uint64_t>;
using Hand = test::Hand<LockingTransaction<M>, test::OrderedTable>;

/// Transactions by two-phase locking, driven by hand. ROWS is written, POINTS only read.
class LockingHands {
 public:
  explicit LockingHands(const LockingOptions& options = {})
      : runtime_(Database::kWorkers, stop, hand_signature(), options, db.storage) {
    for (int worker = 0; worker < Database::kWorkers; ++worker) {
      txns_.emplace_back(db.storage, worker, runtime_);
    }
  }

  /// Reads lock shared. Of two transactions the one that began first is the older.
  Hand begin(int worker, bool retry = false) {
    LockingTransaction<M>& txn = txns_[static_cast<std::size_t>(worker)];
    db.storage.boundary(worker, M::now());
    txn.begin(retry);
    return {txn, db.rows, test::HandStates{.read = hand_state(kWriter, kReadLoop)}};
  }

  /// From here on a worker that would wait is stopped instead. Waiting and dying both end in an
  /// abort then, but only waiting takes time; see waited().
  void forbid_waiting() { stop.store(1, std::memory_order_relaxed); }
  static bool waited(const Hand& hand) { return hand.txn().waited() > 0; }

  [[nodiscard]] bool waiting(int worker) const {
    return runtime_.owners[worker].waits_for.load(std::memory_order_acquire) != 0;
  }

  /// Whether a transaction holds a lock on the record that conflicts with an exclusive one.
  template <class T>
  bool locked(T& table, std::uint64_t key) {
    LockRequest<M> request;
    request.record = Database::record(table, key);
    request.owner = &outsider_;
    request.exclusive = true;
    if (!runtime_.table.acquire(request, false, ConflictRule::no_wait)) return true;
    runtime_.table.release(request);
    return false;
  }

  /// Lets transactions of a partition take equally long, until it is locked.
  void lock_partition(std::size_t partition) {
    while (!runtime_.modes->locks(partition)) runtime_.modes->committed(partition, 1);
  }

  Database db;
  Shared<M, std::uint64_t> stop{0};

 private:
  LockRuntime<M> runtime_;
  LockOwner<M> outsider_;
  std::deque<LockingTransaction<M>> txns_;
};

/// A read whose row is written by the next access locks it exclusively.
Hand for_update(const Hand& hand) { return hand.at(test::hand_states(kWriter)); }

// ---- reads and commits of a transaction ---------------------------------------------------------

TEST(TwoPhaseLocking, ReadsItsOwnWritesAndCommitsThem) {
  LockingHands hands;
  const Hand txn = hands.begin(0);
  ASSERT_TRUE(txn.write(10, 1) && txn.insert(15, 2) && txn.remove(20));
  EXPECT_EQ(txn.read(10), 1);
  EXPECT_EQ(txn.read(15), 2);
  EXPECT_EQ(txn.read(20), std::nullopt);
  EXPECT_FALSE(txn.insert(30, 3)) << "exists";
  ASSERT_TRUE(txn.insert(20, 4));
  ASSERT_TRUE(txn.remove(15));
  EXPECT_EQ(txn.scan(10, 30), (Keys{10, 20, 30}));
  ASSERT_TRUE(txn.commit());
  EXPECT_EQ(Database::committed(hands.db.rows, 10), 1);
  EXPECT_EQ(Database::committed(hands.db.rows, 20), 4);
  EXPECT_EQ(Database::record(hands.db.rows, 15), nullptr);
}

TEST(TwoPhaseLocking, LocksAreHeldToTheEnd) {
  for (const bool commits : {true, false}) {
    LockingHands hands;
    const Hand txn = hands.begin(0);
    ASSERT_EQ(txn.read(10), 1000);
    ASSERT_TRUE(txn.write(20, 1) && txn.insert(15, 1));
    ASSERT_FALSE(txn.insert(30, 1));
    ASSERT_EQ(txn.scan(40, 60).size(), 3U);
    for (const std::uint64_t key : {10, 15, 20, 30, 40, 50, 60}) {
      EXPECT_TRUE(hands.locked(hands.db.rows, key)) << key;
    }
    if (commits) {
      ASSERT_TRUE(txn.commit());
    } else {
      txn.abort();
    }
    for (const std::uint64_t key : Database::kLoaded) {
      EXPECT_FALSE(hands.locked(hands.db.rows, key)) << key;
    }
    EXPECT_EQ(Database::committed(hands.db.rows, 20), commits ? 1 : 2000);
    EXPECT_EQ(Database::record(hands.db.rows, 15) != nullptr, commits);
  }
}

TEST(TwoPhaseLocking, TablesThatAreNeverWrittenAreNotLocked) {
  LockingHands hands;
  const Hand txn = hands.begin(0);
  ASSERT_EQ(txn.on(hands.db.points).read(10), 1000);
  EXPECT_FALSE(hands.locked(hands.db.points, 10));
  ASSERT_TRUE(txn.write(10, 1));
  EXPECT_TRUE(txn.commit());
}

TEST(TwoPhaseLocking, PhantomsAreRefused) {
  for (const bool scans : {true, false}) {
    LockingHands hands;
    const Hand reader = hands.begin(0);
    if (scans) {
      ASSERT_EQ(reader.scan(10, 20), (Keys{10, 20}));
    } else {
      ASSERT_EQ(reader.read(15), std::nullopt);
    }
    const Hand inserter = hands.begin(1);
    ASSERT_TRUE(inserter.insert(15, 1));
    ASSERT_TRUE(inserter.commit());
    EXPECT_FALSE(reader.commit());
    EXPECT_EQ(reader.reason(), AbortReason::node_validation);
  }
}

// ---- conflicts ----------------------------------------------------------------------------------

TEST(TwoPhaseLocking, ReadersShareAndWritersDoNot) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_EQ(first.read(20), 2000);
  ASSERT_EQ(second.read(20), 2000);
  EXPECT_FALSE(second.write(20, 1)) << "the younger dies at the upgrade";
  EXPECT_EQ(second.stop(), Outcome::abort);
  EXPECT_EQ(second.reason(), AbortReason::lock_conflict);
  EXPECT_FALSE(LockingHands::waited(second));
  second.abort();
  EXPECT_TRUE(first.write(20, 1));
  EXPECT_TRUE(first.commit());
}

TEST(TwoPhaseLocking, OlderWaitsForTheUpgrade) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_EQ(first.read(20), 2000);
  ASSERT_EQ(second.read(20), 2000);
  bool wrote = false;
  std::thread thread([&] { wrote = first.write(20, 1); });
  EXPECT_TRUE(test::eventually([&] { return hands.waiting(0); }));
  EXPECT_TRUE(second.commit());
  thread.join();
  EXPECT_TRUE(wrote);
  EXPECT_TRUE(LockingHands::waited(first));
  EXPECT_TRUE(first.commit());
}

/// The older one's shared lock protects its read, also while it waits for an exclusive lock.
TEST(TwoPhaseLocking, YoungerDoesNotPassAnUpgradeThatWaits) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_EQ(first.read(20), 2000);
  ASSERT_EQ(second.read(20), 2000);
  bool committed = false;
  std::thread thread([&] { committed = first.write(20, 1) && first.commit(); });
  EXPECT_TRUE(test::eventually([&] { return hands.waiting(0); }));
  EXPECT_FALSE(second.write(20, 2) && second.commit());
  second.abort();
  thread.join();
  EXPECT_TRUE(committed) << "the older never has to run again";
  if (!committed) first.abort();
}

/// Stopped while it waited, an upgrade still has its shared lock: the end releases it once.
TEST(TwoPhaseLocking, StoppedUpgradeReleasesItsLock) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_EQ(first.read(20), 2000);
  ASSERT_EQ(second.read(20), 2000);
  hands.forbid_waiting();
  EXPECT_FALSE(first.write(20, 1));
  EXPECT_TRUE(LockingHands::waited(first));
  const Hand third = hands.begin(2);
  ASSERT_EQ(third.read(20), 2000);
  first.abort();
  EXPECT_FALSE(second.write(20, 2)) << "the third still shares the lock";
  second.abort();
  EXPECT_TRUE(third.write(20, 3));
  EXPECT_TRUE(third.commit());
  EXPECT_FALSE(hands.locked(hands.db.rows, 20));
}

/// So that two transactions never block each other's upgrade.
TEST(TwoPhaseLocking, ReadForUpdateLocksExclusively) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_EQ(first.read(30), 3000);
  ASSERT_EQ(for_update(first).read(20), 2000);
  ASSERT_EQ(second.read(30), 3000);
  EXPECT_EQ(second.read(20), std::nullopt);
  EXPECT_EQ(second.reason(), AbortReason::lock_conflict);
  second.abort();
  EXPECT_TRUE(first.write(20, 1));
  EXPECT_TRUE(first.commit());
}

TEST(TwoPhaseLocking, OutOfOrderTheOlderWaitsAndTheYoungerDies) {
  for (const bool older : {true, false}) {
    LockingHands hands;
    const Hand first = hands.begin(0);
    const Hand second = hands.begin(1);
    const Hand& holder = older ? second : first;
    const Hand& asker = older ? first : second;
    ASSERT_TRUE(holder.write(10, 1));
    ASSERT_TRUE(asker.write(50, 1));
    hands.forbid_waiting();
    EXPECT_FALSE(asker.write(10, 2)) << "key 10 comes before key 50";
    EXPECT_EQ(LockingHands::waited(asker), older);
    EXPECT_EQ(asker.reason(), AbortReason::lock_conflict);
    asker.abort();
    EXPECT_TRUE(holder.commit());
  }
}

/// Polyjuice §7.1: a transaction that takes its locks in order never has to die.
TEST(TwoPhaseLocking, InOrderTheYoungerWaitsToo) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_TRUE(first.write(20, 1));
  bool committed = false;
  std::thread thread(
      [&] { committed = second.write(10, 2) && second.write(20, 2) && second.commit(); });
  EXPECT_TRUE(test::eventually([&] { return hands.waiting(1); }));
  EXPECT_TRUE(first.write(30, 1));
  EXPECT_TRUE(first.commit());
  thread.join();
  EXPECT_TRUE(committed);
  EXPECT_EQ(Database::committed(hands.db.rows, 20), 2) << "on top of the other's";
}

/// The order is that of all locks held, also after a lock out of order.
TEST(TwoPhaseLocking, OrderIsThatOfTheHighestLockHeld) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_TRUE(first.write(40, 1));
  ASSERT_TRUE(second.write(50, 2));
  ASSERT_TRUE(second.write(10, 2)) << "free, so taken";
  EXPECT_FALSE(second.write(40, 2)) << "above the last, below the highest";
  EXPECT_FALSE(LockingHands::waited(second));
  second.abort();
  first.abort();
}

TEST(TwoPhaseLocking, FirstLocksOfATransactionAreInOrder) {
  for (const std::uint64_t lowest : {20, 10}) {
    LockingHands hands;
    const Hand first = hands.begin(0);
    ASSERT_TRUE(first.write(20, 1));
    const Hand before = hands.begin(1);
    ASSERT_TRUE(before.write(60, 1) && before.commit());
    const Hand second = hands.begin(1);
    if (lowest == 10) {
      ASSERT_TRUE(second.write(10, 2));
    }
    hands.forbid_waiting();
    EXPECT_FALSE(second.write(20, 2));
    EXPECT_TRUE(LockingHands::waited(second)) << "the locks of its last transaction are released";
    second.abort();
    first.abort();
  }
}

// ---- partitions ---------------------------------------------------------------------------------

/// Key 10 is in partition 1 of 3, key 20 in partition 2.
LockingOptions three_partitions() {
  LockingOptions options;
  options.partitions = 3;
  options.span = 2;
  return options;
}

TEST(PartitionedLocking, OnlyLockedPartitionsAreLocked) {
  LockingHands hands(three_partitions());
  hands.lock_partition(2);
  const Hand txn = hands.begin(0);
  ASSERT_TRUE(txn.write(10, 1) && txn.write(20, 2) && txn.insert(16, 3));
  EXPECT_FALSE(hands.locked(hands.db.rows, 10));
  EXPECT_FALSE(hands.locked(hands.db.rows, 16));
  EXPECT_TRUE(hands.locked(hands.db.rows, 20));
  ASSERT_TRUE(txn.commit());
  EXPECT_FALSE(hands.locked(hands.db.rows, 20));
  EXPECT_EQ(Database::committed(hands.db.rows, 10), 1);
  EXPECT_EQ(Database::committed(hands.db.rows, 16), 3);
  EXPECT_EQ(Database::committed(hands.db.rows, 20), 2);
}

TEST(PartitionedLocking, WhatIsNotLockedIsValidated) {
  for (const bool locked_meanwhile : {false, true}) {
    LockingHands hands(three_partitions());
    const Hand reader = hands.begin(0);
    ASSERT_EQ(reader.read(10), 1000);
    // A transaction that begins later locks the row, which the reader has not.
    if (locked_meanwhile) hands.lock_partition(1);
    const Hand writer = hands.begin(1);
    ASSERT_TRUE(writer.write(10, 1) && writer.commit());
    ASSERT_TRUE(reader.write(30, 1));
    EXPECT_FALSE(reader.commit());
    EXPECT_EQ(reader.reason(), AbortReason::read_validation);
    reader.abort();
  }
}

/// A row is written as it was read, also if its partition has been locked since.
TEST(PartitionedLocking, AWriteFollowsItsRead) {
  LockingHands hands(three_partitions());
  const Hand first = hands.begin(0);
  ASSERT_EQ(first.read(10), 1000);
  hands.lock_partition(1);
  const Hand second = hands.begin(1);
  ASSERT_EQ(second.read(10), 1000);
  ASSERT_TRUE(first.write(10, 1) && first.commit()) << "the lock is not its own, and no obstacle";
  EXPECT_FALSE(second.commit()) << "the lock alone does not protect its read";
  second.abort();
}

TEST(TwoPhaseLocking, NoWaitDies) {
  LockingHands hands({.rule = ConflictRule::no_wait});
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  ASSERT_TRUE(second.write(20, 2));
  EXPECT_FALSE(first.write(20, 1)) << "older, and in order";
  EXPECT_EQ(first.reason(), AbortReason::lock_conflict);
  EXPECT_FALSE(LockingHands::waited(first));
  first.abort();
  EXPECT_TRUE(second.commit());
}

/// A transaction keeps its age over its retries, and wins in the end.
TEST(TwoPhaseLocking, RetryKeepsTheAge) {
  for (const bool retry : {true, false}) {
    LockingHands hands;
    hands.begin(0).abort();
    const Hand other = hands.begin(1);
    ASSERT_TRUE(other.write(10, 1));
    const Hand again = hands.begin(0, retry);
    ASSERT_TRUE(again.write(50, 1));
    hands.forbid_waiting();
    EXPECT_FALSE(again.write(10, 2));
    EXPECT_EQ(LockingHands::waited(again), retry);
    again.abort();
    other.abort();
  }
}

// ---- inserts ------------------------------------------------------------------------------------

TEST(TwoPhaseLocking, InsertedKeyIsLocked) {
  LockingHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  const Hand third = hands.begin(2);
  ASSERT_TRUE(first.insert(15, 1));
  ASSERT_TRUE(second.write(50, 1));
  ASSERT_TRUE(third.write(60, 1));
  EXPECT_EQ(second.read(15), std::nullopt);
  EXPECT_EQ(second.reason(), AbortReason::lock_conflict);
  EXPECT_FALSE(third.insert(15, 3));
  EXPECT_EQ(third.reason(), AbortReason::lock_conflict);
  second.abort();
  third.abort();
  EXPECT_TRUE(first.commit());
}

/// A reader in order waits for the insert's outcome, and finds it.
TEST(TwoPhaseLocking, ReaderWaitsForTheOutcomeOfAnInsert) {
  for (const bool commits : {true, false}) {
    LockingHands hands;
    const Hand inserter = hands.begin(0);
    ASSERT_TRUE(inserter.insert(15, 1));
    const Hand reader = hands.begin(1);
    std::optional<std::int64_t> seen;
    std::thread thread([&] { seen = reader.read(15); });
    EXPECT_TRUE(test::eventually([&] { return hands.waiting(1); }));
    if (commits) {
      EXPECT_TRUE(inserter.commit());
    } else {
      inserter.abort();
    }
    thread.join();
    EXPECT_EQ(seen, commits ? std::optional(1) : std::nullopt);
    EXPECT_TRUE(reader.commit());
  }
}

TEST(TwoPhaseLocking, DeletedRowIsLookedUpAgain) {
  LockingHands hands;
  const Hand remover = hands.begin(0);
  ASSERT_TRUE(remover.remove(10));
  const Hand reader = hands.begin(1);
  std::optional<std::int64_t> seen = 0;
  std::thread thread([&] { seen = reader.read(10); });
  EXPECT_TRUE(test::eventually([&] { return hands.waiting(1); }));
  EXPECT_TRUE(remover.commit());
  thread.join();
  EXPECT_EQ(seen, std::nullopt);
  EXPECT_TRUE(reader.commit());
}

// ---- lock plans, derived before a run -----------------------------------------------------------

TEST(LockPlan, TpccTablesFollowEachOtherAsItsTransactionsDo) {
  const LockPlan plan = plan_locks(tpcc::signature());
  const auto rank = [&plan](const char* table) { return plan.ranks.at(table); };
  const std::vector<std::vector<const char*>> orders{
      {"WAREHOUSE", "DISTRICT", "STOCK", "NEW_ORDER", "OORDER", "OORDER_C_ID_IDX", "ORDER_LINE",
       "CUSTOMER"},
      {"WAREHOUSE", "DISTRICT", "CUSTOMER", "HISTORY"},
      {"NEW_ORDER", "OORDER", "ORDER_LINE", "CUSTOMER"}};
  for (const auto& order : orders) {
    for (std::size_t i = 0; i + 1 < order.size(); ++i) {
      EXPECT_LT(rank(order[i]), rank(order[i + 1])) << order[i] << " before " << order[i + 1];
    }
  }
}

TEST(LockPlan, TpccReadsThatAreFollowedByTheirWriteLockForUpdate) {
  const LockPlan plan = plan_locks(tpcc::signature());
  const std::vector<AccessId> expected{
      tpcc::kNewOrderReadDistrict, tpcc::kNewOrderReadStock,     tpcc::kPaymentReadWarehouse,
      tpcc::kPaymentReadDistrict,  tpcc::kPaymentReadCustomer,   tpcc::kDeliveryScanNewOrder,
      tpcc::kDeliveryReadOrder,    tpcc::kDeliveryScanOrderLine, tpcc::kDeliveryReadCustomer};
  std::vector<AccessId> found;
  ASSERT_EQ(plan.reads_for_update.size(), std::size_t{tpcc::kStateCount});
  for (AccessId state = 0; state < tpcc::kStateCount; ++state) {
    if (plan.reads_for_update[state]) found.push_back(state);
  }
  EXPECT_EQ(found, expected);
}

/// What the analytical query reads is locked, and shared.
TEST(LockPlan, TpccAnalyticalQueriesTakeSharedLocks) {
  const Signature signature = tpcc::signature(/*analytical=*/true);
  const LockPlan plan = plan_locks(signature);
  for (AccessId state = tpcc::kStateCount; state < tpcc::kStateCountWithAnalytical; ++state) {
    EXPECT_FALSE(plan.reads_for_update[state]) << signature.access(state).name;
    EXPECT_TRUE(plan.written.at(signature.access(state).table));
  }
  EXPECT_EQ(plan.ranks, plan_locks(tpcc::signature()).ranks)
      << "it follows the order of the others";
}

TEST(LockPlan, TpccItemsNeedNoLocks) {
  const LockPlan plan = plan_locks(tpcc::signature());
  for (const auto& [table, written] : plan.written) EXPECT_EQ(written, table != "ITEM") << table;
  EXPECT_FALSE(plan.ranks.contains("ITEM"))
      << "it is never waited for: it has no place in the order";
}

TEST(LockPlan, ReadModifyWriteLocksForUpdate) {
  using enum AccessKind;
  const LockPlan plan = plan_locks({.workload = "w",
                                    .types = {{"t",
                                               {{"a", "A", read_modify_write, false},
                                                {"b", "A", read, false},
                                                {"c", "B", update, false},
                                                {"d", "B", read, false},
                                                {"e", "B", insert, false}}},
                                              {"u", {{"f", "B", update, false}}}}});
  EXPECT_EQ(plan.reads_for_update, (std::vector<bool>{true, false, false, false, false, false}));
  EXPECT_TRUE(plan.written.at("A")) << "though it is only read at last";
}

/// No order suits both; there is one all the same, and no table is left out.
TEST(LockPlan, TypesThatDisagreeStillGetAnOrder) {
  using enum AccessKind;
  const LockPlan plan = plan_locks(
      {.workload = "w",
       .types = {
           {"t", {{"a", "A", update, false}, {"b", "B", update, false}, {"c", "C", update, false}}},
           {"u",
            {{"d", "B", update, false}, {"e", "A", update, false}, {"f", "C", update, false}}}}});
  EXPECT_NE(plan.ranks.at("A"), plan.ranks.at("B"));
  EXPECT_EQ(plan.ranks.at("C"), 2U) << "on this they agree";
}

// ---- as the driver starts it --------------------------------------------------------------------

class OptionsOfLocking : public testing::Test {
 protected:
  TwoPhaseLocking::Runtime<M> with(const std::map<std::string, std::string>& options) {
    return TwoPhaseLocking::Runtime<M>(
        RunSetup<M>{db_.storage, signature_, Database::kWorkers, stop_, options, nullptr});
  }

  Database db_;
  const Signature signature_ = hand_signature();
  Shared<M, std::uint64_t> stop_{0};
};

TEST_F(OptionsOfLocking, NameTheRule) {
  EXPECT_EQ(with({}).rule, ConflictRule::wait_die);
  EXPECT_EQ(with({{"conflict", "wait_die"}}).rule, ConflictRule::wait_die);
  EXPECT_EQ(with({{"conflict", "no_wait"}}).rule, ConflictRule::no_wait);
  EXPECT_EQ(with({{"conflict", "detect"}}).rule, ConflictRule::detect);
  for (const std::string& grant : grant::Policies::names()) {
    EXPECT_EQ(with({{"conflict", "detect"}, {"grant", grant}}).rule, ConflictRule::detect);
  }
}

/// An option that would have no effect is a mistake; the message names the cure.
TEST_F(OptionsOfLocking, WithoutEffectAreRefused) {
  using Options = std::map<std::string, std::string>;
  for (const auto& [options, cure] :
       {std::pair{Options{{"grant", "vats"}}, "need conflict=detect"},
        std::pair{Options{{"conflict", "no_wait"}, {"grant", "cats"}}, "need conflict=detect"},
        std::pair{Options{{"conflict", "detect"}, {"grant", "vats"}, {"dependency", "exact"}},
                  "needs grant=ldsf"},
        std::pair{Options{{"conflict", "detect"}, {"grant", "ldsf"}, {"delay", "sqrt"}},
                  "need grant=bldsf"}}) {
    try {
      (void)with(options);
      ADD_FAILURE() << cure << ": accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_NE(std::string(error.what()).find(cure), std::string::npos) << error.what();
    }
  }
}

TEST_F(OptionsOfLocking, OthersAreRefusedByName) {
  for (const auto& [key, value, valid] :
       {std::tuple{"conflict", "wound_wait", "one of wait_die, no_wait, detect"},
        std::tuple{"conflicts", "no_wait", "valid options: conflict, grant, dependency, delay"},
        std::tuple{"grant", "lifo", "one of fifo, vats, mlf, mblf, ddf, ldsf, bldsf, hldsf, cats"},
        std::tuple{"dependency", "some", "one of approximate, exact"},
        std::tuple{"delay", "log", "one of log2, sqrt, sqrt_log2, one, linear"}}) {
    try {
      (void)with({{key, value}});
      ADD_FAILURE() << key << "=" << value << " was accepted";
    } catch (const std::invalid_argument& error) {
      const std::string what = error.what();
      EXPECT_NE(what.find(key), std::string::npos) << what;
      EXPECT_NE(what.find(valid), std::string::npos) << what;
    }
  }
}

// ---- at the same time ---------------------------------------------------------------------------

#if defined(__SANITIZE_THREAD__)
constexpr int kRounds = 100;
#else
constexpr int kRounds = 1000;
#endif

LockingOptions detecting(const std::string& grant) {
  return LockingOptions::parse({{"conflict", "detect"}, {"grant", grant}});
}

/// Transfers between rows taken in random order, some of them upgrades: all commit in the end.
class LockingStress : public testing::TestWithParam<LockingOptions> {};

TEST_P(LockingStress, TransfersInRandomOrderEnd) {
  LockingHands hands(GetParam());
  std::atomic<int> running{Database::kWorkers};
  const auto transfer = [&](int worker) {
    Random random(static_cast<std::uint64_t>(worker) + 1);
    for (int round = 0; round < kRounds; ++round) {
      const std::uint64_t from = Database::kLoaded[random.below(Database::kLoaded.size())];
      const std::uint64_t to = Database::kLoaded[random.below(Database::kLoaded.size())];
      const bool upgrades = random.below(2) == 0;
      for (bool done = false, retry = false; !done; retry = true) {
        const Hand txn = hands.begin(worker, retry);
        const Hand reads = upgrades ? txn : for_update(txn);
        const auto taken = reads.read(from);
        done = taken && reads.write(from, *taken - round);
        const auto given = done ? reads.read(to) : std::nullopt;
        done = given && reads.write(to, *given + round);
        if (done) {
          done = txn.commit();
        } else {
          txn.abort();
        }
        if (!done && hands.stop.load(std::memory_order_relaxed) != 0) return;
        if (!done) std::this_thread::yield();
      }
    }
    hands.db.storage.leave(worker);
    --running;
  };
  std::vector<std::thread> threads;
  for (int worker = 0; worker < Database::kWorkers; ++worker) {
    threads.emplace_back(transfer, worker);
  }
  EXPECT_TRUE(test::eventually([&] { return running == 0; })) << "a deadlock, or starvation";
  hands.forbid_waiting();
  for (std::thread& thread : threads) thread.join();
  std::int64_t sum = 0;
  for (const std::uint64_t key : Database::kLoaded) {
    sum += Database::committed(hands.db.rows, key).value_or(0);
  }
  EXPECT_EQ(sum, 21'000);
}

INSTANTIATE_TEST_SUITE_P(Rules, LockingStress,
                         testing::Values(LockingOptions{},
                                         LockingOptions{.rule = ConflictRule::no_wait},
                                         detecting("fifo"), detecting("vats"), detecting("mlf"),
                                         detecting("bldsf"), detecting("cats")),
                         [](const auto& instance) {
                           const LockingOptions& options = instance.param;
                           if (options.rule == ConflictRule::detect) return options.grant;
                           return std::string(options.rule == ConflictRule::no_wait ? "no_wait"
                                                                                    : "wait_die");
                         });

}  // namespace
}  // namespace heddle
