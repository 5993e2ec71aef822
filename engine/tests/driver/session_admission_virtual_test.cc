#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "driver/admission_ways.h"
#include "driver/session.h"
#include "driver/session_runs.h"
#include "driver/trial.h"

/// Sessions on virtual cores whose transactions are scheduled.
namespace heddle {
namespace {

using session_runs::Way;

const MachineOptions kVirtual{.kind = "virtual"};
const OptionMap kMicro{{"name", "micro"},
                       {"hot_records", "64"},
                       {"records", "2000"},
                       {"own_records", "500"},
                       {"theta", "0.9"}};

/// Every history under every way is explained by some order.
void expect_serializable(OptionMap workload, double seconds) {
  const Signature signature = workload_signature(workload);
  std::uint64_t ways = 0;
  std::uint64_t committed = 0;
  std::uint64_t overtaking = 0;
  std::uint64_t deferred = 0;
  std::uint64_t moved = 0;
  double held_s = 0;
  for (const Way& way : admission_ways::scheduled(admission_ways::some_ways(signature))) {
    SCOPED_TRACE(way.name);
    Trial trial{.workload = workload, .workers = 8, .machine = kVirtual, .run = way.options};
    trial.run.seconds = seconds;
    const Verdict verdict = run_trial(trial, [] { return false; });
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    EXPECT_GT(verdict.report.committed, 0U);
    committed += verdict.report.committed;
    ++ways;
    ASSERT_TRUE(verdict.result.schedule.has_value());
    overtaking += verdict.result.schedule->overtaking;
    deferred += verdict.result.schedule->deferred;
    moved += verdict.result.schedule->moved;
    held_s += verdict.result.schedule->held_s;
  }
  EXPECT_GT(committed, 50 * ways);  // some ways get little done in so hot a database
  // Something was scheduled, in every way there is.
  EXPECT_GT(overtaking, 0U);
  EXPECT_GT(deferred, 0U);
  EXPECT_GT(moved, 0U);
  EXPECT_GT(held_s, 0.0);
}

TEST(VirtualAdmission, TpccIsSerializable) {
  expect_serializable({{"name", "tpcc"}, {"mix", "full"}}, 0.002);
}

TEST(VirtualAdmission, YcsbIsSerializable) {
  expect_serializable({{"name", "ycsb"},
                       {"index", "ordered"},
                       {"records", "500"},
                       {"read", "40"},
                       {"rmw", "30"},
                       {"scan", "10"},
                       {"insert", "10"},
                       {"delete", "10"}},
                      0.002);
}

TEST(VirtualAdmission, MicroIsSerializable) { expect_serializable(kMicro, 0.001); }

TEST(VirtualAdmission, TheSameRunGivesTheSameResult) {
  std::vector<std::string> results[2];
  for (auto& series : results) {
    const auto session = open_session(kMicro, 6, 1, kVirtual);
    for (Way& way : admission_ways::scheduled({session_runs::protocols().front()})) {
      way.options.seconds = 0.002;
      series.push_back(session_runs::run(*session, way.options).to_json());
    }
  }
  EXPECT_EQ(results[0], results[1]);
}

Result run_micro(OptionMap schedule, int workers = 16) {
  const auto session = open_session(kMicro, workers, 1, kVirtual);
  RunOptions options;
  schedule.try_emplace("probe_us", "0");
  options.schedule = std::move(schedule);
  options.seconds = 0.005;
  return session_runs::run(*session, options);
}

/// With a barrier of none, nobody is overtaken.
TEST(VirtualAdmission, ABarrierOfNoneIsFirstInFirstOut) {
  const Result result = run_micro({{"policy", "smf"}, {"hot", "0"}, {"k", "0"}, {"barrier", "0"}});
  EXPECT_EQ(result.schedule->overtaking, 0U);
  EXPECT_EQ(result.schedule->forced, result.schedule->hot);
}

TEST(VirtualAdmission, ANearBarrierForcesMoreThanAFarOne) {
  const auto forced = [](const std::string& barrier) {
    return run_micro({{"policy", "smf"}, {"hot", "0"}, {"k", "0"}, {"barrier", barrier}})
        .schedule->forced;
  };
  EXPECT_GT(forced("3"), forced("50"));
}

/// What waits longest in a window is as old as the barrier lets it become: latency counts it.
TEST(VirtualAdmission, LatencyCountsFromTheDrawing) {
  const auto p50 = [](const std::string& window) {
    const Result result = run_micro({{"policy", "smf"}, {"hot", "0"}, {"window", window}});
    return result.types.front().latency_us.p50;
  };
  EXPECT_GT(p50("32"), 4 * p50("1"));
}

}  // namespace
}  // namespace heddle
