#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"

/// Sessions of the workloads that have one kind of row: micro and YCSB.
namespace heddle {
namespace {

const OptionMap kMicro{{"name", "micro"},
                       {"hot_records", "32"},
                       {"records", "2000"},
                       {"own_records", "500"},
                       {"theta", "0.9"}};

OptionMap ycsb(const std::string& index, OptionMap shares) {
  shares.insert({{"name", "ycsb"},
                 {"index", index},
                 {"records", "2000"},
                 {"operations", "8"},
                 {"theta", "0.9"}});
  return shares;
}

const OptionMap kEverything{
    {"read", "40"}, {"rmw", "20"}, {"scan", "10"}, {"insert", "15"}, {"delete", "15"}};
const OptionMap kPoints{{"read", "40"}, {"rmw", "30"}, {"insert", "15"}, {"delete", "15"}};

void expect_consistent_every_way(const OptionMap& workload, int workers) {
  const auto session = open_session(workload, workers, 1);
  session_runs::expect_consistent(*session, session_runs::all_ways(session->signature()), 0.03);
}

TEST(SessionMicro, StaysConsistent) { expect_consistent_every_way(kMicro, 2); }
TEST(SessionMicro, StaysConsistentWithManyWorkers) { expect_consistent_every_way(kMicro, 8); }

TEST(SessionYcsb, StaysConsistentOverAnOrderedIndex) {
  expect_consistent_every_way(ycsb("ordered", kEverything), 2);
}
TEST(SessionYcsb, StaysConsistentOverAnOrderedIndexWithManyWorkers) {
  expect_consistent_every_way(ycsb("ordered", kEverything), 8);
}
TEST(SessionYcsb, StaysConsistentOverAHashIndex) {
  expect_consistent_every_way(ycsb("hash", kPoints), 2);
}
TEST(SessionYcsb, StaysConsistentOverAHashIndexWithManyWorkers) {
  expect_consistent_every_way(ycsb("hash", kPoints), 8);
}

TEST(SessionMicro, EveryTypeKeepsCommitting) {
  const auto session = open_session(kMicro, 4, 1);
  std::vector<session_runs::Way> ways = session_runs::seed_tables(session->signature());
  for (auto& way : session_runs::random_tables(session->signature(), test::scaled(2))) {
    ways.push_back(way);
  }
  for (session_runs::Way& way : ways) {
    SCOPED_TRACE(way.name);
    way.options.seconds = 0.3;
    const Result result =
        session_runs::run_until(session_runs::all_types_commit, *session, way.options);
    ASSERT_EQ(result.types.size(), 10u);
    for (const TypeResult& type : result.types) EXPECT_GT(type.commits, 0u) << type.name;
  }
}

/// The bytes of the rows inserted, by a run that deletes as many, if none had ever been freed.
double bytes_inserted(const Result& result) {
  constexpr double kOperations = 8;
  constexpr double kInsertShare = 0.2;
  constexpr double kRowBytes = 128;  // a record of 100 bytes and its header and key
  return static_cast<double>(result.commits) * kOperations * kInsertShare * kRowBytes;
}

/// Long enough to insert several times what the bound allows; the thread sanitizer makes that slow.
#if defined(__SANITIZE_THREAD__)
constexpr double kBriefly = 0.5;
#else
constexpr double kBriefly = 0.2;
#endif

/// If as many rows are deleted as inserted, a run three times as long takes no more memory.
void expect_bounded_memory(const std::string& index, session_runs::Way way) {
  SCOPED_TRACE(index + ", " + way.name);
  const auto session = open_session(
      ycsb(index, {{"read", "60"}, {"rmw", "0"}, {"insert", "20"}, {"delete", "20"}}), 2, 1);
  way.options.seconds = kBriefly;
  (void)session_runs::run(*session, way.options);
  const auto after_short = static_cast<double>(session->grown_bytes());
  way.options.seconds = 3 * kBriefly;
  way.options.seed = 2;
  const Result result = session_runs::run(*session, way.options);
  const auto after_long = static_cast<double>(session->grown_bytes());
  // Memory that waits for its epoch, and the random walk of the number of rows around 0.
  constexpr double kSlack = 2 << 20;
  EXPECT_LT(after_long - after_short, 0.1 * bytes_inserted(result) + kSlack);
  EXPECT_TRUE(session->check().empty());
}

TEST(SessionYcsb, MemoryStaysBounded) {
  const Signature signature = workload_signature({{"name", "ycsb"}});
  for (const std::string index : {"hash", "ordered"}) {
    for (const session_runs::Way& way :
         {session_runs::protocols().front(), session_runs::protocols()[1],
          session_runs::with_policy(tables::reckless(signature))}) {
      expect_bounded_memory(index, way);
    }
  }
}

}  // namespace
}  // namespace heddle
