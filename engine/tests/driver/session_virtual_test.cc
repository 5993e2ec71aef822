#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "protocol/compiled_policy.h"
#include "protocol/policy.h"
#include "tables.h"

/// Sessions on virtual cores: the same engine, exactly repeatable.
namespace heddle {
namespace {

using session_runs::Way;

constexpr double kSeconds = 0.001;  // of virtual time
const std::uint64_t kRandomTables = test::scaled(2);

std::unique_ptr<Session> open_virtual(const OptionMap& workload, int cores) {
  MachineOptions machine;
  machine.kind = "virtual";
  return open_session(workload, cores, 1, machine);
}

OptionMap tpcc() { return {{"name", "tpcc"}, {"warehouses", "1"}, {"mix", "full"}}; }
OptionMap few_records() { return {{"name", "ycsb"}, {"records", "1000"}}; }

/// A database for tests of which each may run after the others.
Session& crowded_tpcc() {
  static const auto session = open_virtual(tpcc(), 16);
  return *session;
}

Result run_once(Session& session, Way way, std::uint64_t seed = 1) {
  way.options.seconds = kSeconds;
  way.options.seed = seed;
  return session_runs::run(session, way.options);
}

std::vector<Way> ways(const Signature& signature) {
  std::vector<Way> all = session_runs::protocols();
  for (Way& way : session_runs::seed_tables(signature)) all.push_back(std::move(way));
  for (Way& way : session_runs::random_tables(signature, kRandomTables))
    all.push_back(std::move(way));
  return all;
}

TEST(SessionVirtual, EveryWayCommitsAndStaysConsistent) {
  Session& session = crowded_tpcc();
  for (const Way& way : ways(session.signature())) {
    SCOPED_TRACE(way.name);
    const Result result = run_once(session, way);
    EXPECT_GT(result.commits, 0U);
    EXPECT_EQ(result.machine, "virtual");
    EXPECT_EQ(result.cores, 16);
    EXPECT_NEAR(result.duration_s, kSeconds, 0.2 * kSeconds);
    for (const std::string& violation : session.check()) ADD_FAILURE() << violation;
  }
}

TEST(SessionVirtual, TellsToWhatTheBackoffOfATableHasAdapted) {
  Session& session = crowded_tpcc();
  Policy doubling = tables::occ(session.signature())->policy();
  for (BackoffRow& row : doubling.backoff) {
    row = {.initial_us = 1.0, .abort = {1.0, 1.0, 1.0}, .commit = {1.0, 1.0, 1.0}};
  }
  Way way = session_runs::with_policy(std::make_shared<const CompiledPolicy>(doubling));
  for (const TypeResult& type : run_once(session, way).types) {
    EXPECT_FALSE(type.backoff_us.has_value()) << "exponential backoff is not the table's";
  }
  way.options.backoff = "policy";
  const Result result = run_once(session, way);
  bool adapted = false;
  for (const TypeResult& type : result.types) {
    if (!type.backoff_us) continue;  // it has not aborted
    EXPECT_GE(*type.backoff_us, kBackoffInitialsUs.front());
    EXPECT_LE(*type.backoff_us, kBackoffInitialsUs.back());
    adapted |= *type.backoff_us > 1.0;
  }
  EXPECT_TRUE(adapted) << "sixteen cores at one warehouse back off";
}

TEST(SessionVirtual, MixedThroughputIsMadeOfWhatTheTypesTake) {
  Session& session = crowded_tpcc();
  for (const Way& way : ways(session.signature())) {
    SCOPED_TRACE(way.name);
    const Result result = run_once(session, way);
    double begun = 0;
    double all_s = 0;
    double mean_s = 0;  // per transaction, times `begun`
    for (const TypeResult& type : result.types) {
      const auto of_type = static_cast<double>(type.commits + type.unfinished);
      begun += of_type;
      all_s += type.time_s;
      if (of_type > 0) mean_s += of_type * type.time_s / static_cast<double>(type.commits);
    }
    const double expected = all_s / kSeconds * begun / mean_s;  // 0 where a type has no commit
    EXPECT_NEAR(result.mixed_throughput, expected, 1e-3 * expected);
    EXPECT_NEAR(all_s, 16 * kSeconds, 0.2 * 16 * kSeconds);
  }
}

/// Two workers that access the same few rows: one is in a long backoff while the other commits.
/// That is also so when the window opens, which is no reason to leave its worker out.
TEST(SessionVirtual, MixedThroughputOfOneTypeIsWhatItCommits) {
  const auto session = open_virtual({{"name", "ycsb"}, {"records", "100"}}, 2);
  Way way = ways(session->signature()).front();
  way.options.seconds = 0.01;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    way.options.seed = seed;
    const Result result = session_runs::run(*session, way.options);
    const double commits_per_second = static_cast<double>(result.commits) / way.options.seconds;
    EXPECT_NEAR(result.mixed_throughput, commits_per_second, 0.01 * commits_per_second);
  }
}

/// Workers that back off from the warm-up to the end miss the window.
TEST(SessionVirtual, TheWindowHoldsNothingOfTheWarmUp) {
  const auto session = open_virtual({{"name", "ycsb"}, {"records", "20"}, {"theta", "0.9"}}, 4);
  const Result result = session_runs::run(
      *session, {.backoff = "static", .backoff_us = 1e9, .seconds = 0.001, .warmup = 0.002});
  EXPECT_NEAR(result.duration_s, 0.001, 1e-5);
  double time_s = 0;
  std::uint64_t unfinished = 0;
  for (const TypeResult& type : result.types) {
    time_s += type.time_s;
    unfinished += type.unfinished;
  }
  EXPECT_GE(unfinished, 3U) << "the others back off";
  EXPECT_LE(time_s, 4 * 0.001 * 1.01);
  const double commits_per_second = static_cast<double>(result.commits) / 0.001;
  EXPECT_NEAR(result.mixed_throughput, commits_per_second, 0.01 * commits_per_second);
  EXPECT_NEAR(result.throughput, commits_per_second, 0.01 * commits_per_second);
}

TEST(SessionVirtual, AWindowThatNeverOpensIsEmpty) {
  const auto session = open_virtual(few_records(), 2);
  int polls = 0;
  const Result result =
      session->run({.seconds = 10, .warmup = 3600}, [&] { return ++polls > 100; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.commits, 0U);
  EXPECT_EQ(result.duration_s, 0.0);
  EXPECT_EQ(result.throughput, 0.0);
  EXPECT_EQ(result.mixed_throughput, 0.0);
}

/// The results of several runs, one after the other, each in a database of its own.
std::vector<std::string> series(const OptionMap& workload, int cores) {
  const auto session = open_virtual(workload, cores);
  std::vector<std::string> results;
  for (const Way& way : ways(session->signature())) {
    results.push_back(run_once(*session, way).to_json());
  }
  return results;
}

TEST(SessionVirtual, TheSameRunsGiveTheSameResultsToTheBit) {
  std::vector<OptionMap> workloads{
      {{"name", "ycsb"}, {"records", "2000"}, {"index", "ordered"}, {"scan", "10"}, {"read", "40"}},
      {{"name", "micro"}, {"records", "100000"}, {"own_records", "1000"}}};
  if (!session_runs::kSanitized) workloads.push_back(tpcc());
  for (const OptionMap& workload : workloads) {
    SCOPED_TRACE(workload.at("name"));
    const std::vector<std::string> first = series(workload, 8);
    // Memory has other addresses the second time.
    std::vector<std::unique_ptr<std::byte[]>> in_the_way;
    for (std::size_t bytes = 24; bytes < 200'000; bytes += 1000) {
      in_the_way.push_back(std::make_unique<std::byte[]>(bytes));
    }
    const std::vector<std::string> second = series(workload, 8);
    ASSERT_EQ(first.size(), second.size());
    for (std::size_t run = 0; run < first.size(); ++run) EXPECT_EQ(first[run], second[run]) << run;
  }
}

TEST(SessionVirtual, AnotherSeedGivesAnotherRun) {
  const auto session = open_virtual(few_records(), 4);
  const auto other = open_virtual(few_records(), 4);
  const Way silo = session_runs::protocols().front();
  EXPECT_NE(run_once(*session, silo, 1).to_json(), run_once(*other, silo, 2).to_json());
}

TEST(SessionVirtual, FromOneCoreToTheMost) {
  for (const int cores : {1, 2, 256}) {
    SCOPED_TRACE(cores);
    const auto session = open_virtual(cores > 2 ? tpcc() : few_records(), cores);
    EXPECT_GT(run_once(*session, session_runs::protocols().front()).commits, 0U);
    EXPECT_TRUE(session->check().empty());
  }
  EXPECT_THROW((void)open_virtual(tpcc(), 257), std::invalid_argument);
}

TEST(SessionVirtual, AnUnknownMachineIsRefusedByName) {
  MachineOptions machine;
  machine.kind = "quantum";
  try {
    (void)open_session(tpcc(), 1, 1, machine);
    FAIL() << "it was opened";
  } catch (const std::invalid_argument& error) {
    EXPECT_EQ(std::string(error.what()), "machine 'quantum' is not known; valid: threads, virtual");
  }
}

}  // namespace
}  // namespace heddle
