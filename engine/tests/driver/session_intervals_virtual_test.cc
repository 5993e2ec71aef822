#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "driver/interval_sums.h"
#include "driver/session.h"
#include "driver/session_runs.h"

/// The measured window in intervals, and switches of the policy within it, on virtual cores: where
/// all of it is exact.
namespace heddle {
namespace {

using session_runs::with_policy;

constexpr std::size_t kIntervals = 10;
constexpr std::size_t kSwitchesBefore = 6;

std::unique_ptr<Session> open(const std::string& hot_records = "8") {
  MachineOptions machine;
  machine.kind = "virtual";
  return open_session(
      {{"name", "micro"}, {"hot_records", hot_records}, {"records", "1000"}, {"own_records", "50"}},
      8, 1, machine);
}

RunOptions in_intervals(RunOptions options, double seconds = 0.005) {
  options.seconds = seconds;
  options.intervals = kIntervals;
  return options;
}

RunOptions going_over(const Session& session) {
  RunOptions options = in_intervals(with_policy(tables::occ(session.signature())).options);
  options.switches = {
      {.at_s = 0.003, .policy = tables::two_phase_locking_star(session.signature())}};
  return options;
}

TEST(Intervals, AddUpToTheWindowUnderEveryProtocol) {
  for (auto& way : session_runs::all_ways(open()->signature())) {
    SCOPED_TRACE(way.name);
    expect_sums(session_runs::run(*open(), in_intervals(way.options)), kIntervals);
  }
}

TEST(Intervals, LeaveTheWarmUpOut) {
  RunOptions options = in_intervals({});
  options.warmup = 0.001;
  expect_sums(session_runs::run(*open(), options), kIntervals);
}

TEST(Intervals, BeginAndEndOnTime) {
  // 130 µs is no multiple of the polling period.
  for (const double seconds : {0.005, 0.0013}) {
    const Result result = session_runs::run(*open(), in_intervals({}, seconds));
    ASSERT_EQ(result.intervals.size(), kIntervals);
    for (std::size_t at = 0; at < kIntervals; ++at) {
      const double length = seconds / static_cast<double>(kIntervals);
      EXPECT_NEAR(result.intervals[at].start_s, static_cast<double>(at) * length, 1e-9);
      EXPECT_NEAR(result.intervals[at].seconds, length, 1e-9);
    }
  }
}

TEST(Intervals, AreThoseThatARunHadUntilItWasInterrupted) {
  int asked = 0;
  const Result result =
      open()->run(in_intervals({}), [&asked] { return ++asked > 52; });  // every 50 µs
  EXPECT_TRUE(result.interrupted);
  expect_sums(result, 6);
  EXPECT_LT(result.intervals.back().seconds, 0.0005);
}

TEST(Intervals, AreTheSameEveryTime) {
  const std::string first = session_runs::run(*open(), going_over(*open())).to_json();
  EXPECT_EQ(session_runs::run(*open(), going_over(*open())).to_json(), first);
}

TEST(Intervals, AreOnlyCountedOnRequest) {
  const auto json = nlohmann::json::parse(session_runs::run(*open(), {.seconds = 0.001}).to_json());
  EXPECT_FALSE(json.contains("intervals"));
  EXPECT_FALSE(json.contains("switches"));
}

TEST(PlannedSwitch, IsMadeWhenItIsDueAndNotBefore) {
  // A transaction counts where it began, including what it does after the switch; with little
  // contention none lasts for an interval.
  const std::string calm = "1000";
  const RunOptions options = going_over(*open(calm));
  RunOptions staying = options;
  staying.switches.clear();
  const Result stays = session_runs::run(*open(calm), staying);
  const Result goes_over = session_runs::run(*open(calm), options);
  expect_sums(goes_over, kIntervals);
  ASSERT_EQ(goes_over.switches.size(), 1U);
  EXPECT_NEAR(goes_over.switches[0].at_s, 0.003, 1e-9);
  EXPECT_EQ(goes_over.switches[0].policy, options.switches[0].policy->policy().name);
  bool differs = false;
  for (std::size_t at = 0; at < kIntervals; ++at) {
    const bool same = stays.intervals[at].commits == goes_over.intervals[at].commits &&
                      stays.intervals[at].aborts == goes_over.intervals[at].aborts;
    if (at + 1 < kSwitchesBefore) {
      EXPECT_TRUE(same) << at;
    }
    differs = differs || (at >= kSwitchesBefore && !same);
  }
  EXPECT_TRUE(differs) << "under another table nothing changed";
}

TEST(PlannedSwitch, ThereMayBeSeveral) {
  const auto session = open();
  RunOptions options = going_over(*session);
  options.switches.push_back({.at_s = 0.003, .policy = tables::ic3(session->signature())});
  options.switches.push_back({.at_s = 0.0041, .policy = options.policy});
  const Result result = session_runs::run(*session, options);
  ASSERT_EQ(result.switches.size(), 3U);
  EXPECT_NEAR(result.switches[1].at_s, 0.003, 1e-9);
  EXPECT_NEAR(result.switches[2].at_s, 0.0041, 1e-9);
  EXPECT_TRUE(session->check().empty());
}

}  // namespace
}  // namespace heddle
