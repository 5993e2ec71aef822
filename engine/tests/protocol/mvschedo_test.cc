#include "protocol/mvschedo.h"

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fixture.h"

namespace heddle {
namespace {

using test::Database;
using test::hand_signature;
using test::hand_states;
using test::kWriter;
using test::M;
using Hand = test::Hand<MultiversionTransaction<M, ExpectedWrites<M>>, test::OrderedTable>;

/// Transactions with expected writes, driven by hand.
class ScheduledHands {
 public:
  ScheduledHands()
      : signature_(hand_signature()),
        runtime_(RunSetup<M>{db.storage, signature_, Database::kWorkers, stop, {}, nullptr}) {
    for (int worker = 0; worker < Database::kWorkers; ++worker) {
      txns_.emplace_back(db.storage, worker, runtime_,
                         ExpectedWrites<M>(runtime_.queues, runtime_.owners[worker]));
    }
  }

  /// @param keys of ROWS that it is expected to write
  Hand begin(int worker, const std::vector<std::uint64_t>& keys = {}) {
    auto& txn = txns_[static_cast<std::size_t>(worker)];
    std::vector<ExpectedAccess> expected;
    for (const std::uint64_t key : keys) expected.push_back({key, db.rows.number(), true});
    txn.expected().expect(expected);
    db.storage.boundary(worker, Database::kStill);
    txn.begin();
    return {txn, db.rows, hand_states(kWriter)};
  }

  /// Reads a row in a thread of its own.
  std::thread reads(const Hand& hand, std::uint64_t key, std::optional<std::int64_t>& value) {
    return std::thread([hand, key, &value] { value = hand.read(key); });
  }
  [[nodiscard]] bool waits(int worker, int for_whom) const {
    return test::eventually([&] { return runtime_.waits_for(worker) == for_whom; });
  }

  Database db;
  Shared<M, std::uint64_t> stop{0};

 private:
  Signature signature_;
  MvSchedO::Runtime<M> runtime_;
  std::deque<MultiversionTransaction<M, ExpectedWrites<M>>> txns_;
};

TEST(MvSchedO, ALaterReadWaitsForAnExpectedWriteAndSeesIt) {
  ScheduledHands hands;
  const Hand first = hands.begin(0, {10});
  const Hand second = hands.begin(1, {10});
  EXPECT_EQ(first.read(10), 1000);
  std::optional<std::int64_t> value;
  std::thread reads = hands.reads(second, 10, value);
  EXPECT_TRUE(hands.waits(1, 0));
  EXPECT_TRUE(first.write(10, 1)) << "no other transaction has read it meanwhile";
  reads.join();
  EXPECT_EQ(value, 1) << "before it is committed";
  EXPECT_TRUE(second.write(10, 2));
  EXPECT_TRUE(first.commit());
  EXPECT_TRUE(second.commit());
}

TEST(MvSchedO, NoneWaitsForLaterTransactions) {
  ScheduledHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1, {10});
  EXPECT_EQ(first.read(10), 1000);
  EXPECT_EQ(first.read(20), 2000);
  EXPECT_TRUE(second.write(10, 2));
  EXPECT_TRUE(second.commit());
  EXPECT_TRUE(first.commit());
}

TEST(MvSchedO, AWriteThatDoesNotComeIsWaitedForUntilItsTransactionEnds) {
  for (const bool commits : {true, false}) {
    ScheduledHands hands;
    const Hand first = hands.begin(0, {10, 20});
    const Hand second = hands.begin(1);
    ASSERT_TRUE(first.write(20, 1));
    std::optional<std::int64_t> value;
    std::thread reads = hands.reads(second, 10, value);
    EXPECT_TRUE(hands.waits(1, 0));
    if (commits) {
      EXPECT_TRUE(first.commit());
    } else {
      first.abort();
    }
    reads.join();
    EXPECT_EQ(value, 1000);
    EXPECT_TRUE(second.commit());
  }
}

TEST(MvSchedO, ATransactionThatWroteNothingIsWaitedForAsWell) {
  ScheduledHands hands;
  const Hand first = hands.begin(0, {10});
  const Hand second = hands.begin(1);
  std::optional<std::int64_t> value;
  std::thread reads = hands.reads(second, 10, value);
  EXPECT_TRUE(hands.waits(1, 0));
  EXPECT_TRUE(first.commit());
  reads.join();
  EXPECT_EQ(value, 1000);
}

TEST(MvSchedO, AWaitEndsWithTheRun) {
  ScheduledHands hands;
  const Hand first = hands.begin(0, {10});
  const Hand second = hands.begin(1);
  hands.stop.store(1, std::memory_order_relaxed);
  EXPECT_FALSE(second.read(10));
  EXPECT_EQ(second.stop(), Outcome::abort);
  EXPECT_EQ(second.reason(), AbortReason::stopped);
  second.abort();
  first.abort();
}

TEST(MvSchedO, AnUnexpectedWriteIsOrderedByTimestamps) {
  ScheduledHands hands;
  const Hand first = hands.begin(0);
  const Hand second = hands.begin(1);
  EXPECT_EQ(second.read(10), 1000);
  EXPECT_FALSE(first.write(10, 1));
  EXPECT_EQ(first.reason(), AbortReason::late_write);
  first.abort();
  EXPECT_TRUE(second.commit());
}

TEST(MvSchedO, RefusesOptions) {
  Database db;
  Shared<M, std::uint64_t> stop{0};
  const Signature signature = hand_signature();
  EXPECT_THROW(
      MvSchedO::Runtime<M>(RunSetup<M>{db.storage, signature, 1, stop, {{"a", "b"}}, nullptr}),
      std::invalid_argument);
}

}  // namespace
}  // namespace heddle
