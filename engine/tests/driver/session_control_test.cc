#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "driver/switching.h"

/// Control of sessions: wrong options, stopping, interrupting, switching policies.
namespace heddle {
namespace {

using Clock = std::chrono::steady_clock;
using session_runs::kSanitized;

const OptionMap kMicro{
    {"name", "micro"}, {"hot_records", "8"}, {"records", "100"}, {"own_records", "50"}};

std::unique_ptr<Session> open_micro(int workers) { return open_session(kMicro, workers, 1); }

/// The message with which `call` is rejected.
std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

std::string refusal_of(const RunOptions& options) {
  const auto session = open_micro(1);
  return refusal([&] { (void)session_runs::run(*session, options); });
}

TEST(SessionOptions, NameAnUnknownProtocol) {
  EXPECT_EQ(refusal_of({.protocol = "mvcc"}),
            "protocol 'mvcc' is not known; valid: silo, two_phase_locking, mvto, mvschedo, aria, "
            "policy_table, external");
}

TEST(SessionOptions, NameAnUnknownOptionOfAProtocol) {
  EXPECT_EQ(refusal_of({.protocol_options = {{"fast", "yes"}}}),
            "protocol silo: option 'fast=yes' is not known; valid: none");
  EXPECT_EQ(refusal_of({.protocol = "two_phase_locking",
                        .protocol_options = {{"conflict", "wound_wait"}}}),
            "protocol two_phase_locking: option 'conflict' is 'wound_wait'; allowed: one of "
            "wait_die, no_wait, detect");
  EXPECT_EQ(refusal_of({.protocol = "policy_table",
                        .protocol_options = {{"fast", "yes"}},
                        .policy = tables::occ(workload_signature(kMicro))}),
            "protocol policy_table: option 'fast=yes' is not known; valid: none");
}

TEST(SessionOptions, NameAnUnknownBackoff) {
  EXPECT_EQ(refusal_of({.backoff = "linear"}),
            "backoff 'linear' is not known; valid: none, exponential, static, policy");
  EXPECT_EQ(refusal_of({.backoff = "policy"}),
            "backoff policy needs a policy, whose backoff table it follows");
  EXPECT_NE(refusal_of({.backoff = "static", .backoff_us = -1}).find("backoff_us must not be neg"),
            std::string::npos);
}

TEST(SessionOptions, RefuseTimesThatMakeNoSense) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double seconds : {0.0, -1.0, nan}) {
    EXPECT_NE(refusal_of({.seconds = seconds}).find("seconds must be positive"), std::string::npos);
  }
  for (const double warmup : {-1.0, nan}) {
    EXPECT_NE(refusal_of({.warmup = warmup}).find("warmup must not be neg"), std::string::npos);
  }
}

TEST(SessionOptions, RefuseAPolicyThatDoesNotFit) {
  const Signature micro = workload_signature(kMicro);
  EXPECT_EQ(refusal_of({.protocol = "policy_table"}), "protocol policy_table needs a policy");
  EXPECT_EQ(refusal_of({.policy = tables::occ(micro)}),
            "protocol silo does not execute a policy; use policy_table, "
            "or backoff policy for its backoff alone");
  EXPECT_EQ(refusal_of({.protocol = "policy_table",
                        .policy = tables::occ(workload_signature({{"name", "ycsb"}}))}),
            "the policy is for another workload: its signature differs");
}

TEST(SessionOptions, NameAnUnknownWorkload) {
  std::string names;
  for (const std::string& name : workload_names()) names += (names.empty() ? "" : ", ") + name;
  EXPECT_EQ(names.find("tpcc, tpce, ycsb, micro"), 0U) << names;
  EXPECT_EQ(refusal([] { (void)open_session({{"name", "tpcx"}}, 1, 1); }),
            "workload 'tpcx' is not known; valid: " + names);
  EXPECT_EQ(refusal([] { (void)open_session({}, 1, 1); }),
            "the workload has no 'name'; valid: " + names);
  EXPECT_NE(refusal([] {
              (void)open_session({{"name", "tpcc"}, {"size", "1"}}, 1, 1);
            }).find("unknown option 'size'"),
            std::string::npos);
  for (const int workers : {0, -1, 1025}) {
    EXPECT_EQ(refusal([workers] { (void)open_session(kMicro, workers, 1); }),
              "workers must be between 1 and 1024, not " + std::to_string(workers));
  }
}

/// A rejected run leaves the session unchanged.
TEST(SessionOptions, ARefusalCostsNothing) {
  const auto session = open_micro(2);
  (void)refusal([&] { (void)session_runs::run(*session, {.protocol = "mvcc"}); });
  (void)refusal(
      [&] { (void)session_runs::run(*session, {.protocol_options = {{"fast", "yes"}}}); });
  EXPECT_GT(session_runs::run_until(session_runs::has_commits, *session, {.seconds = 0.05}).commits,
            0u);
}

/// Backoffs that outlast the run after every abort, over very few rows.
RunOptions hardly_ever_awake() { return {.backoff = "static", .backoff_us = 1e9, .seconds = 3600}; }

void expect_ends_soon(Clock::time_point asked) {
  const std::chrono::duration<double> took = Clock::now() - asked;
  EXPECT_LT(took.count(), kSanitized ? 3.0 : 1.0);
}

/// The result of a run that was stopped `after` its begin, and ended soon.
Result stopped(Session& session, const RunOptions& options, std::chrono::milliseconds after) {
  Clock::time_point asked;
  std::thread stopper([&] {
    std::this_thread::sleep_for(after);
    asked = Clock::now();
    session.stop();
  });
  const Result result = session_runs::run(session, options);
  stopper.join();
  expect_ends_soon(asked);
  return result;
}

TEST(SessionControl, StopEndsARunOfAnyBackoffAndProtocol) {
  const auto session = open_micro(4);
  std::vector<RunOptions> runs{hardly_ever_awake(), hardly_ever_awake(), hardly_ever_awake()};
  runs[1].protocol = "two_phase_locking";
  runs[2].protocol = "policy_table";
  runs[2].policy = tables::two_phase_locking_star(session->signature());
  for (const RunOptions& options : runs) {
    SCOPED_TRACE(options.protocol);
    // Silo aborts here, and no backoff ends by itself: a backoff that was counted was ended by the
    // stop. The time of the first one depends on the machine.
    bool shown = false;
    for (std::chrono::milliseconds after{200}; !shown && after.count() < 10'000; after *= 2) {
      const Result result = stopped(*session, options, after);
      EXPECT_TRUE(result.interrupted);
      EXPECT_GT(result.commits, 0u);
      EXPECT_TRUE(session->check().empty());
      shown = options.protocol != "silo" || result.time_s.backoff > 0;
    }
    EXPECT_TRUE(shown);
  }
}

TEST(SessionControl, AnInterruptEndsARunAndKeepsWhatItMeasured) {
  const auto session = open_micro(2);
  const auto begin = Clock::now();
  Clock::time_point asked;
  const Result result = session->run(hardly_ever_awake(), [&] {
    const bool now = Clock::now() - begin > std::chrono::milliseconds(100);
    if (now && asked == Clock::time_point{}) asked = Clock::now();
    return now;
  });
  expect_ends_soon(asked);
  EXPECT_TRUE(result.interrupted);
  EXPECT_GT(result.commits, 0u);
  EXPECT_LT(result.duration_s, 10.0);
}

TEST(SessionControl, AStopOfOneRunDoesNotStopTheNext) {
  const auto session = open_micro(2);
  session->stop();
  const Result result = session_runs::run(*session, {.seconds = 0.05});
  EXPECT_FALSE(result.interrupted);
  EXPECT_GT(result.duration_s, 0.01) << "a stop would end it at the first poll";
}

TEST(SessionControl, PoliciesSwitchOnlyWhileOneRuns) {
  const auto session = open_micro(1);
  const tables::Compiled policy = tables::occ(session->signature());
  const std::string none = "no policy is running: start a run with protocol policy_table";
  EXPECT_EQ(refusal([&] { session->switch_policy(policy); }), none);
  (void)session_runs::run(*session,
                          {.protocol = "policy_table", .policy = policy, .seconds = 0.02});
  EXPECT_EQ(refusal([&] { session->switch_policy(policy); }), none);
  const Result result = session->run({.seconds = 1}, [&] {
    EXPECT_EQ(refusal([&] { session->switch_policy(policy); }), none) << "silo has no policy";
    return true;
  });
  EXPECT_TRUE(result.interrupted);
}

TEST(SessionControl, ASwitchToAnotherWorkloadsPolicyIsRefused) {
  const auto session = open_micro(1);
  const tables::Compiled other = tables::occ(workload_signature({{"name", "ycsb"}}));
  (void)session->run(
      {.protocol = "policy_table", .policy = tables::occ(session->signature()), .seconds = 10},
      [&] {
        EXPECT_EQ(refusal([&] { session->switch_policy(other); }),
                  "the policy is for another workload than the one running");
        return true;
      });
}

/// TPC-C as well, which can scan, insert and delete too: session_tpcc_test.cc.
TEST(SessionControl, PoliciesSwitchUnderLoad) {
  const std::vector<OptionMap> workloads{kMicro,
                                         {{"name", "ycsb"},
                                          {"index", "ordered"},
                                          {"records", "500"},
                                          {"operations", "6"},
                                          {"read", "30"},
                                          {"rmw", "30"},
                                          {"scan", "10"},
                                          {"insert", "15"},
                                          {"delete", "15"}}};
  for (const OptionMap& workload : workloads) {
    SCOPED_TRACE(workload.at("name"));
    const auto session = open_session(workload, 4, 1);
    session_runs::expect_consistent_while_switching(*session);
  }
}

}  // namespace
}  // namespace heddle
