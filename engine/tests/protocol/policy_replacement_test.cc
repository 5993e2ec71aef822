#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "fixture.h"
#include "protocol/ticket_latch.h"

/// The latch that a transaction keeps from a dirty read to the publication of the write that
/// follows.
namespace heddle {
namespace {

using test::Database;
using test::hand_state;
using test::kModify;
using test::kRead;
using test::kReader;
using test::kReadLater;
using test::kUpdate;
using test::kUpdateLater;
using test::kWriter;
using test::M;
using test::PolicyHands;
using test::PolicyInWords;
using Hand = PolicyHands::PolicyHand;

constexpr std::chrono::milliseconds kAMoment{5};

// ---- the latch ----------------------------------------------------------------------------------

TEST(TicketLatch, IsHeldByOneAndPassesItsNumberOn) {
  TicketLatch<M> latch;
  EXPECT_EQ(latch.number(), 0U);
  ASSERT_TRUE(latch.try_latch());
  EXPECT_FALSE(latch.try_latch());
  latch.unlatch(7);
  EXPECT_EQ(latch.number(), 7U);
  latch.latch();
  EXPECT_FALSE(latch.try_latch()) << "a refused request takes no ticket";
  EXPECT_EQ(latch.number(), 7U);
  latch.unlatch(8);
  EXPECT_TRUE(latch.try_latch());
}

TEST(TicketLatch, GuardsWhatItsHoldersChange) {
  constexpr int kThreads = 4;
  constexpr int kRounds = 5000;
  TicketLatch<M> latch;
  std::uint32_t changes = 0;  // not atomic: the latch guards it
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, waits = thread % 2 == 0] {
      for (int round = 0; round < kRounds; ++round) {
        if (waits) {
          latch.latch();
        } else {
          while (!latch.try_latch()) std::this_thread::yield();
        }
        latch.unlatch(++changes);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(changes, kThreads * kRounds);
  EXPECT_EQ(latch.number(), changes);
}

// ---- the states that keep it --------------------------------------------------------------------

AccessId replaced_at(const PolicyInWords& words, test::HandAccess access) {
  return CompiledPolicy(words.policy()).state(hand_state(kWriter, access)).replaced_at;
}

PolicyInWords modifies() {
  return PolicyInWords().reads_dirty(kWriter, kModify).publishes(kWriter, kModify);
}
PolicyInWords reads_then_updates() {
  return PolicyInWords().reads_dirty(kWriter, kRead).publishes(kWriter, kUpdate);
}

TEST(CompiledPolicy, AStateThatReadsAndWritesReplacesWhatItReads) {
  EXPECT_EQ(replaced_at(modifies(), kModify), hand_state(kWriter, kModify));
  EXPECT_EQ(replaced_at(PolicyInWords().publishes(kWriter, kModify), kModify), kNoState)
      << "a clean read is of no list";
}

TEST(CompiledPolicy, AReadIsReplacedByTheNextState) {
  EXPECT_EQ(replaced_at(reads_then_updates(), kRead), hand_state(kWriter, kUpdate));
  EXPECT_EQ(replaced_at(reads_then_updates().reads_dirty(kWriter, kReadLater), kReadLater),
            kNoState)
      << "the write after this one is private";
}

TEST(CompiledPolicy, NothingIsReplacedBehindAnotherPointOrAWait) {
  EXPECT_EQ(replaced_at(reads_then_updates().validates(kWriter, kRead), kRead), kNoState);
  EXPECT_EQ(replaced_at(reads_then_updates().waits(kWriter, test::kInsert, kReader, kRead), kRead),
            kNoState)
      << "the wait is before the validation";
}

// ---- keeping it ---------------------------------------------------------------------------------

/// A transaction that has read a row, and will replace it.
class Replacement : public testing::TestWithParam<test::HandAccess> {
 protected:
  static constexpr int kOther = 1;

  [[nodiscard]] static AccessId read_state() { return hand_state(kWriter, GetParam()); }
  [[nodiscard]] static AccessId write_state() {
    return hand_state(kWriter, GetParam() == kModify ? kModify : kUpdate);
  }
  [[nodiscard]] static test::HandStates states() {
    return {.read = read_state(), .update = write_state()};
  }

  Hand begin(int worker) { return hands_.begin(worker, kWriter).at(states()); }

  /// Whether no transaction keeps the latch of the row's list.
  bool is_free(std::uint64_t key) {
    auto& bucket = hands_.runtime.lists.bucket(Database::record(hands_.db.rows, key));
    if (!bucket.try_latch()) return false;
    bucket.unlatch();
    return true;
  }

  bool update(const Hand& hand, const Row<test::Columns>& row, std::int64_t value) {
    return hand.txn().update(write_state(), hands_.db.rows, row,
                             [value](test::Columns& columns) { columns.first = value; });
  }
  [[nodiscard]] Row<test::Columns> read(const Hand& hand, std::uint64_t key) {
    return hand.txn().read(read_state(), hands_.db.rows, make_key(key));
  }

  PolicyHands hands_{modifies().reads_dirty(kWriter, kRead).publishes(kWriter, kUpdate)};
};

TEST_P(Replacement, TheNextReaderWaitsForTheWriteAndReadsIt) {
  const Hand first = begin(0);
  const auto row = read(first, 10);
  ASSERT_TRUE(row);
  std::optional<std::int64_t> seen;
  std::atomic<bool> done{false};
  std::thread thread([&] {
    const Hand second = begin(kOther);
    seen = second.read(10);
    EXPECT_TRUE(second.write(10, 2)) << "nobody has published since it read";
    done = true;
    EXPECT_TRUE(second.commit());
  });
  std::this_thread::sleep_for(kAMoment);
  EXPECT_FALSE(done);
  EXPECT_TRUE(update(first, row, 1));
  EXPECT_TRUE(test::eventually([&] { return done.load(); }));
  EXPECT_TRUE(first.commit());
  thread.join();
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(Database::committed(hands_.db.rows, 10), 2);
}

TEST_P(Replacement, TheWriteFreesTheLatch) {
  const Hand hand = begin(0);
  const auto row = read(hand, 10);
  EXPECT_FALSE(is_free(10));
  ASSERT_TRUE(update(hand, row, 1));
  EXPECT_TRUE(is_free(10));
  EXPECT_TRUE(hands_.published(10));
  EXPECT_TRUE(hand.commit());
  EXPECT_FALSE(hands_.listed(10));
}

TEST_P(Replacement, AnotherAccessGivesItUp) {
  const Hand hand = begin(0);
  const auto row = read(hand, 10);
  ASSERT_FALSE(is_free(10));
  EXPECT_TRUE(hand.at({.read = hand_state(kWriter, kReadLater)}).read(20));
  EXPECT_TRUE(is_free(10));
  EXPECT_TRUE(update(hand, row, 1)) << "it publishes as any other write";
  EXPECT_TRUE(hand.commit());
  EXPECT_EQ(Database::committed(hands_.db.rows, 10), 1);
}

TEST_P(Replacement, AReadOfAnotherRowGivesItUp) {
  const Hand hand = begin(0);
  ASSERT_TRUE(read(hand, 10));
  ASSERT_TRUE(read(hand, 20));
  EXPECT_TRUE(is_free(10));
  EXPECT_FALSE(is_free(20));
  ASSERT_TRUE(read(hand, 20)) << "again";
  EXPECT_TRUE(hand.commit());
  EXPECT_TRUE(is_free(20));
}

TEST_P(Replacement, TheEndGivesItUp) {
  for (const bool commits : {true, false}) {
    const Hand hand = begin(0);
    ASSERT_TRUE(read(hand, 10));
    ASSERT_FALSE(is_free(10));
    if (commits) {
      EXPECT_TRUE(hand.commit());
    } else {
      hand.abort();
    }
    EXPECT_TRUE(is_free(10));
  }
  const Hand hand = begin(0);
  ASSERT_TRUE(read(hand, 10));
  EXPECT_TRUE(hand.txn().validate_rollback());
  EXPECT_TRUE(is_free(10));
  hand.abort();
}

TEST_P(Replacement, ADeletedRowIsReplacedToo) {
  const Hand hand = begin(0);
  const auto row = read(hand, 10);
  ASSERT_TRUE(hand.txn().remove(write_state(), hands_.db.rows, row));
  EXPECT_TRUE(is_free(10));
  EXPECT_TRUE(hands_.published(10));
  EXPECT_TRUE(hand.commit());
}

/// With the latch of a list it waits for no other: if that is taken, it latches all in order.
TEST_P(Replacement, PublishesWithEarlierWritesWithoutADeadlock) {
  const Hand hand = begin(0);
  const auto later = hand.at({.read = kNoState, .update = hand_state(kWriter, kUpdateLater)});
  ASSERT_TRUE(later.write(20, 5)) << "private, and published with the next";
  const auto row = read(hand, 10);
  ASSERT_TRUE(row);
  auto& taken = hands_.runtime.lists.bucket(Database::record(hands_.db.rows, 20));
  ASSERT_NE(&taken, &hands_.runtime.lists.bucket(Database::record(hands_.db.rows, 10)));
  taken.latch();
  std::atomic<bool> done{false};
  std::thread thread([&] {
    EXPECT_TRUE(update(hand, row, 1));
    done = true;
  });
  std::this_thread::sleep_for(kAMoment);
  EXPECT_FALSE(done);
  taken.unlatch();
  thread.join();
  EXPECT_TRUE(hands_.published(10) && hands_.published(20));
  EXPECT_TRUE(is_free(10) && is_free(20));
  EXPECT_TRUE(hand.commit());
  EXPECT_EQ(Database::committed(hands_.db.rows, 20), 5);
}

INSTANTIATE_TEST_SUITE_P(ByState, Replacement, testing::Values(kModify, kRead),
                         [](const auto& test) {
                           return test.param == kModify ? "OneState" : "TwoStates";
                         });

// ---- the end of a writer ------------------------------------------------------------------------

/// Its dependents can validate while it leaves the lists.
TEST(PolicyCommitted, WriterIsKnownToHaveEndedBeforeItLeavesTheLists) {
  PolicyHands hands(PolicyInWords().publishes(kWriter).reads_dirty(kReader));
  const Hand writer = hands.begin(0, kWriter);
  ASSERT_TRUE(writer.write(10, 1));
  const Hand reader = hands.begin(1, kReader);
  ASSERT_EQ(reader.read(10), 1);

  auto& bucket = hands.runtime.lists.bucket(Database::record(hands.db.rows, 10));
  const std::uint64_t incarnation = writer.txn().incarnation();
  bucket.latch();
  std::thread thread([&] { EXPECT_TRUE(writer.commit()); });
  EXPECT_TRUE(test::eventually([&] { return hands.runtime.contexts[0].finished(incarnation); }));
  EXPECT_NE(bucket.first(), nullptr) << "it can't leave while the list is latched";
  EXPECT_EQ(Database::committed(hands.db.rows, 10), 1);
  EXPECT_TRUE(reader.txn().validate_rollback()) << "what it read dirty is committed";
  bucket.unlatch();
  thread.join();
  EXPECT_EQ(bucket.first(), nullptr);
  reader.abort();
}

}  // namespace
}  // namespace heddle
