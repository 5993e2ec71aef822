#include <string>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"

/// Sessions of the workloads that the SMF paper (VLDB 2024, §5.1) adds, on real cores.
namespace heddle {
namespace {

const OptionMap kSmallBank{{"name", "smallbank"}, {"accounts", "50"}, {"hot_accounts", "5"}};
const OptionMap kEpinions{
    {"name", "epinions"}, {"users", "60"}, {"items", "30"}, {"reviews", "20"}, {"trusted", "20"}};
const OptionMap kTaoBench{{"name", "taobench"}, {"objects", "40"}, {"writes", "50"}};

void expect_consistent_every_way(OptionMap workload, int workers, const char* reads) {
  workload["reads"] = reads;
  const auto session = open_session(workload, workers, 1);
  session_runs::expect_consistent(*session, session_runs::all_ways(session->signature()), 0.03);
}

TEST(SessionSmallBank, StaysConsistent) { expect_consistent_every_way(kSmallBank, 8, "latest"); }
TEST(SessionSmallBank, StaysConsistentWithSnapshotReaders) {
  expect_consistent_every_way(kSmallBank, 2, "snapshot");
}

TEST(SessionEpinions, StaysConsistent) { expect_consistent_every_way(kEpinions, 8, "latest"); }
TEST(SessionEpinions, StaysConsistentWithSnapshotReaders) {
  expect_consistent_every_way(kEpinions, 2, "snapshot");
}

TEST(SessionTaoBench, StaysConsistent) { expect_consistent_every_way(kTaoBench, 8, "latest"); }
TEST(SessionTaoBench, StaysConsistentWithSnapshotReaders) {
  expect_consistent_every_way(kTaoBench, 2, "snapshot");
}

}  // namespace
}  // namespace heddle
