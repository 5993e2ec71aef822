#include <cstdint>

#include <gtest/gtest.h>

#include "check/checker.h"
#include "check/history_builder.h"
#include "check/synthetic_history.h"

namespace heddle::check {
namespace {

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr std::uint64_t kTransactions = 10'000;
#else
constexpr std::uint64_t kTransactions = 100'000;
#endif

void expect_serializable(const HistoryShape& shape) {
  const Report report = check_history(SyntheticHistory(shape).make());
  EXPECT_EQ(report.transactions, shape.transactions);
  EXPECT_GT(report.edges, shape.transactions);
  for (const Anomaly& anomaly : report.anomalies) ADD_FAILURE() << anomaly.text;
}

TEST(LargeHistories, OfEveryShapeAreAccepted) {
  expect_serializable({.transactions = kTransactions, .keys = 50'000});
  expect_serializable({.transactions = kTransactions, .keys = 50'000, .skew = 3});
  expect_serializable({.transactions = kTransactions, .keys = 50'000, .hot = 50});
  expect_serializable({.transactions = kTransactions, .keys = 50'000, .churn = 20, .ranges = 5});
  expect_serializable({.transactions = kTransactions, .keys = 64, .churn = 20, .ranges = 5});
}

/// One read in the middle is replaced by a read of the version before the run.
TEST(LargeHistories, OneStaleReadIsFound) {
  for (const std::uint32_t churn : {0U, 20U}) {
    History history =
        SyntheticHistory({.transactions = kTransactions, .keys = 64, .churn = churn}).make();
    WorkerLog& log = history.workers[3];
    std::uint64_t at = log.operations.size() / 2;
    while (log.operations[at].kind != Kind::read) ++at;
    log.operations[at].version = history.first_version - 1;
    log.operations[at].bytes = 0;
    const Report report = check_history(history);
    ASSERT_FALSE(report.anomalies.empty());
    EXPECT_EQ(report.anomalies[0].name.substr(0, 8), "G-single");
  }
}

/// A queue: each transaction scans it from its start, takes the first row, and adds one at its end.
/// Each scan misses all rows taken before; each scan beyond the end misses all later ones.
TEST(LargeHistories, AQueueTakesNoMoreEdgesThanOperations) {
  Story story;
  const std::uint64_t count = kTransactions / 5;
  for (std::uint64_t number = 1; number <= count; ++number) {
    const std::uint64_t time = 10 * number;
    story.commit(0,
                 {range(1, number, {read({number}, number == 1 ? 0 : 1)}, time),
                  remove({number}, 2), insert({number + 1}, 1)},
                 {time, time + 9});
    story.commit(1, {range(number + 1, 2 * count, {read({number + 1}, 1)}, time + 10)},
                 {time + 9, time + 11});
  }
  const Report report = story.check();
  for (const Anomaly& anomaly : report.anomalies) ADD_FAILURE() << anomaly.text;
  EXPECT_LT(report.edges, 40 * report.operations);
}

}  // namespace
}  // namespace heddle::check
