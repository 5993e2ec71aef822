#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "killed/killed_run.h"
#include "killed/test_of_run.h"
#include "store/opened_stores.h"

/// What a store has after the process of a run, or its server, was killed.
namespace heddle::killed {
namespace {

constexpr double kAfterMs = 30;

/// The start of a server takes time: only many_runs_test.cc kills Heddle alone in front of one.
class KilledRuns : public testing::TestWithParam<std::string> {};

TEST_P(KilledRuns, LoseNothingThatWasAcknowledged) {
  expect_no_faults({.store = GetParam(), .after_ms = kAfterMs});
  expect_no_faults({.store = GetParam(),
                    .durability = "normal",
                    .merge = 8,
                    .locks = true,
                    .after_ms = kAfterMs});
}

INSTANTIATE_TEST_SUITE_P(Stores, KilledRuns,
                         testing::Values("sqlite", "rocksdb", "rocksdb_locking"),
                         [](const auto& test) { return test.param; });

class KilledServers : public testing::TestWithParam<std::string> {};

TEST_P(KilledServers, EndTheRunWithWhatItMeasured) {
  expect_no_faults({.store = GetParam(), .victim = Victim::server, .after_ms = kAfterMs});
}

INSTANTIATE_TEST_SUITE_P(Stores, KilledServers, testing::Values("postgresql", "mariadb"),
                         [](const auto& test) { return test.param; });

/// A store that keeps its log in memory: the test must find what it loses.
TEST(KilledRunsFaults, AreFound) {
  const Remains remains =
      remains_of({.store = "rocksdb", .durability = "off", .after_ms = kAfterMs});
  if (remains.missing) GTEST_SKIP() << *remains.missing;
  const std::vector<std::string> faults = faults_in(remains);
  ASSERT_EQ(faults.size(), 1U);
  EXPECT_EQ(faults.front().find("acknowledged and lost: "), 0U) << faults.front();
}

Remains two_entries() {
  Remains remains{.acknowledged = {entry_key(0, 0), entry_key(1, 0)}, .in_flight = 1};
  remains.found.emplace();
  remains.found->entries = {{.counter = 0, .key = entry_key(0, 0)},
                            {.counter = 2, .key = entry_key(1, 0)}};
  remains.found->counters = {{0, 1}, {1, 0}, {2, 1}, {3, 0}};
  return remains;
}

TEST(KilledRunsFaults, AreOfEveryKind) {
  EXPECT_EQ(faults_in(two_entries()), std::vector<std::string>{});
  Remains unacknowledged = two_entries();
  unacknowledged.acknowledged.pop_back();
  EXPECT_EQ(faults_in(unacknowledged), std::vector<std::string>{});
  unacknowledged.in_flight = 0;
  EXPECT_EQ(faults_in(unacknowledged).front().find("there and never acknowledged: 1:"), 0U);

  Remains half = two_entries();
  half.found->counters[0] = 2;
  EXPECT_EQ(faults_in(half), std::vector<std::string>{"counter 0 is 2 with 1 entries"});

  Remains twice = two_entries();
  twice.found->entries.push_back(twice.found->entries.front());
  twice.found->counters[0] = 2;
  EXPECT_EQ(faults_in(twice), std::vector<std::string>{"there twice: 1: 0"});
}

}  // namespace
}  // namespace heddle::killed
