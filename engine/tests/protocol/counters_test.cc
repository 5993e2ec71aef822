#include <cstdint>

#include <gtest/gtest.h>

#include "fixture.h"
#include "protocol/silo.h"
#include "protocol/ticket_latch.h"
#include "protocol/timestamps.h"
#include "protocol/transaction_context.h"
#include "storage/epochs.h"
#include "storage/tid.h"

/// The behaviour of exhausted counters (docs/counters.md): they wait, abort or start over, and none
/// carries into its neighbour.
namespace heddle {
namespace {

using test::Database;
using test::M;
using Hand = test::Hand<SiloTransaction<M>, test::OrderedTable>;

TEST(EpochsEnd, LastEpochIsNotLeft) {
  Epochs<M> epochs(1, 4);
  epochs.enter(0);
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(epochs.used_up(), epochs.current() == 4);
    (void)epochs.advance(0);
    epochs.enter(0);
  }
  EXPECT_EQ(epochs.current(), 4U);
  EXPECT_EQ(epochs.reclaimable(), 2U) << "as if a worker held the epoch back";
}

TEST(EpochsEnd, LastEpochAndItsTimestampsFitATidWord) {
  const std::uint64_t after = tid::first_of_epoch(tid::kLastEpoch + 1);
  EXPECT_EQ(tid::epoch(after), tid::kLastEpoch + 1);
  EXPECT_GT(after, tid::first_of_epoch(tid::kLastEpoch));
}

/// A row whose version is the last of the running epoch.
class FullEpoch : public testing::Test {
 protected:
  FullEpoch() {
    db_.storage.boundary(0, Database::kStill);
    const std::uint64_t epoch = db_.storage.epochs().current();
    last_ = tid::first_of_epoch(epoch) + (tid::kVersionsPerEpoch - 1) * tid::kStep;
    // relaxed: one thread.
    Database::record(db_.rows, 10)->word.store(last_, std::memory_order_relaxed);
  }

  Hand begin() {
    db_.storage.boundary(0, Database::kStill);
    txn_.begin();
    return {txn_, db_.rows};
  }

  Database db_;
  SiloTransaction<M> txn_{db_.storage, 0};
  std::uint64_t last_ = 0;
};

TEST_F(FullEpoch, AbortsAWriterAndLeavesTheRow) {
  const Hand writer = begin();
  ASSERT_TRUE(writer.write(10, 7));
  EXPECT_FALSE(writer.commit());
  EXPECT_EQ(writer.reason(), AbortReason::epoch_full);
  writer.txn().abort();
  EXPECT_EQ(Database::record(db_.rows, 10)->word.peek(), last_);
  EXPECT_EQ(Database::committed(db_.rows, 10), 1000);
}

TEST_F(FullEpoch, AbortsAReaderOfTheRowThatWritesAnother) {
  const Hand writer = begin();
  ASSERT_EQ(writer.read(10), 1000);
  ASSERT_TRUE(writer.write(20, 7));
  EXPECT_FALSE(writer.commit());
  EXPECT_EQ(writer.reason(), AbortReason::epoch_full);
  writer.txn().abort();
  EXPECT_EQ(Database::committed(db_.rows, 20), 2000);
}

TEST_F(FullEpoch, CommitsThoseThatDidNotReadIt) {
  const Hand writer = begin();
  ASSERT_TRUE(writer.write(20, 7));
  EXPECT_TRUE(writer.commit());
}

TEST_F(FullEpoch, CommitsInTheNext) {
  db_.pass_epochs(1);
  const Hand writer = begin();
  ASSERT_TRUE(writer.write(10, 7));
  ASSERT_TRUE(writer.commit());
  const std::uint64_t word = Database::record(db_.rows, 10)->word.peek();
  EXPECT_EQ(tid::epoch(word), tid::epoch(last_) + 1);
  EXPECT_GT(tid::version(word), last_);
}

TEST(TicketsEnd, AreGrantedInOrderOverTheBound) {
  TicketLatch<M> latch(UINT32_MAX - 1);
  for (std::uint32_t number = 1; number <= 4; ++number) {
    latch.latch();
    EXPECT_FALSE(latch.try_latch());
    latch.unlatch(number);
    EXPECT_EQ(latch.number(), number) << "a turn that starts over leaves the number";
    ASSERT_TRUE(latch.try_latch());
    latch.unlatch(number);
  }
}

constexpr std::uint64_t kAllButOne = tid::kVersionsPerEpoch - 2;

TEST(TimestampsEnd, NextEpochBeginsWhenOneIsUsedUp) {
  Epochs<M> epochs(1);
  epochs.enter(0);
  const std::uint64_t epoch = epochs.current();
  Timestamps<M> timestamps(1, epoch, kAllButOne);
  const auto never = [] { return false; };
  const std::uint64_t last = timestamps.take(0, epochs, never);
  EXPECT_EQ(tid::epoch(last), epoch);
  const std::uint64_t next = timestamps.take(0, epochs, never);
  EXPECT_EQ(tid::epoch(next), epoch + 1);
  EXPECT_EQ(epochs.current(), epoch + 1) << "no timestamp is of an epoch to come";
  EXPECT_EQ(epochs.announced(0), epoch + 1);
}

TEST(TimestampsEnd, WaitForAWorkerThatHoldsTheEpochBackUntilTheRunStops) {
  Epochs<M> epochs(2);
  epochs.enter(0);
  epochs.enter(1);
  ASSERT_TRUE(epochs.advance(0));
  epochs.enter(0);  // worker 1 is still in the epoch before
  const std::uint64_t epoch = epochs.current();
  Timestamps<M> timestamps(2, epoch, kAllButOne + 1);
  int asked = 0;
  EXPECT_EQ(timestamps.take(0, epochs, [&asked] { return ++asked == 10; }), Timestamps<M>::kNone);
  EXPECT_EQ(epochs.current(), epoch);
  epochs.leave(1);
  const std::uint64_t next = timestamps.take(0, epochs, [] { return false; });
  EXPECT_EQ(tid::epoch(next), epoch + 1);
}

TEST(TimestampsEnd, NoCommitIsOfAnEpochToCome) {
  Epochs<M> epochs(1);
  epochs.enter(0);
  const std::uint64_t epoch = epochs.current();
  Timestamps<M> timestamps(1, epoch, kAllButOne);
  EXPECT_EQ(tid::epoch(timestamps.next(0, epochs)), epoch);
  EXPECT_EQ(timestamps.next(0, epochs), Timestamps<M>::kNone);
  EXPECT_EQ(epochs.current(), epoch) << "the worker is inside a transaction";
  EXPECT_EQ(tid::epoch(timestamps.take(0, epochs, [] { return false; })), epoch + 1);
}

TEST(TimestampsEnd, LastEpochIsNotCarriedOutOf) {
  Epochs<M> epochs(1);
  epochs.skip_to(tid::kLastEpoch);
  epochs.enter(0);
  Timestamps<M> timestamps(1, tid::kLastEpoch, kAllButOne + 1);
  for (int i = 0; i < 3; ++i) {
    int asked = 0;
    EXPECT_EQ(timestamps.take(0, epochs, [&asked] { return ++asked == 3; }), Timestamps<M>::kNone);
  }
  EXPECT_EQ(tid::epoch(timestamps.last().peek()), tid::kLastEpoch + 1) << "and not back at 0";
}

using ShortContext = TransactionContext<M, 4, 4>;

TEST(IncarnationsEnd, StartAgainFromTheFirst) {
  ShortContext context;
  const std::uint64_t first = context.incarnation();
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t incarnation = context.incarnation();
    ASSERT_EQ(incarnation, first + i % 15);
    context.announce(static_cast<std::uint32_t>(i));
    ASSERT_TRUE(context.reached(incarnation, static_cast<std::uint32_t>(i)));
    ASSERT_FALSE(context.reached(incarnation, static_cast<std::uint32_t>(i) + 1));
    context.finish(1000 + i);
    ASSERT_TRUE(context.finished(incarnation));
    ASSERT_NE(context.incarnation(), 0U) << "0 stands for none";
  }
}

TEST(IncarnationsEnd, OutcomeIsRememberedOrCountsAsAborted) {
  ShortContext context;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const std::uint64_t incarnation = context.incarnation();
    context.finish(1000 + i);
    const std::uint64_t outcome = context.outcome(incarnation);
    const bool started_over = context.incarnation() < incarnation;
    EXPECT_EQ(outcome, started_over ? ShortContext::kAborted : 1000 + i);
  }
}

TEST(ProgressEnd, SaturatesAtTheGreatestNumber) {
  constexpr std::uint32_t kMost = (1U << 23) - 1;
  TransactionContext<M> context;
  const std::uint64_t incarnation = context.incarnation();
  context.announce(kMost + 5);
  EXPECT_EQ(context.incarnation(), incarnation);
  EXPECT_EQ(context.progress(), kMost);
  EXPECT_FALSE(context.reached(incarnation, kMost + 1)) << "a wait for more is a wait for the end";
  context.finish(1);
  EXPECT_TRUE(context.reached(incarnation, kMost + 1));
}

}  // namespace
}  // namespace heddle
