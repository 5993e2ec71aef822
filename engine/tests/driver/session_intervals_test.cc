#include <cstddef>
#include <limits>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/interval_sums.h"
#include "driver/session.h"
#include "driver/session_runs.h"

/// The measured window in intervals, and switches of the policy within it, on real cores.
namespace heddle {
namespace {

using session_runs::with_policy;

std::unique_ptr<Session> open(int workers = 2) {
  return open_session(
      {{"name", "micro"}, {"hot_records", "8"}, {"records", "100"}, {"own_records", "50"}}, workers,
      1);
}

RunOptions under_occ(const Session& session) {
  RunOptions options = with_policy(tables::occ(session.signature())).options;
  options.seconds = 0.5;
  options.intervals = 5;
  return options;
}

TEST(Intervals, AddUpToTheWindow) {
  // Workers without a core of their own notice a change of the phase late.
  for (const int workers : {2, 6}) {
    const auto session = open(workers);
    const Result result = session_runs::run(*session, under_occ(*session));
    ASSERT_FALSE(result.intervals.empty());
    // A busy machine may miss the poll of one of them.
    expect_sums(result, result.intervals.size());
    double seconds = 0;
    for (const IntervalResult& interval : result.intervals) {
      EXPECT_NEAR(interval.start_s, seconds, 1e-9);
      EXPECT_GT(interval.seconds, 0);
      seconds += interval.seconds;
    }
    EXPECT_GE(seconds, 0.49);
  }
}

TEST(PlannedSwitch, IsMadeWhileTransactionsRun) {
  const auto session = open();
  RunOptions options = under_occ(*session);
  options.switches = {{.at_s = 0.2, .policy = tables::ic3(session->signature())},
                      {.at_s = 0.3, .policy = options.policy}};
  const Result result = session_runs::run(*session, options);
  ASSERT_EQ(result.switches.size(), 2U);
  EXPECT_GE(result.switches[0].at_s, 0.2);
  EXPECT_GE(result.switches[1].at_s, 0.3);
  EXPECT_EQ(result.switches[0].policy, options.switches[0].policy->policy().name);
  EXPECT_TRUE(session->check().empty());
}

std::string refusal(const RunOptions& options) {
  try {
    (void)session_runs::run(*open(1), options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "nothing was refused";
}

TEST(Intervals, RefuseWhatIsNoWholeNumberOfMicroseconds) {
  RunOptions options{.seconds = 1};
  for (const std::size_t intervals : {3, 99'999}) {
    options.intervals = intervals;
    EXPECT_NE(refusal(options).find("intervals of whole microseconds"), std::string::npos);
  }
  options.intervals = 100'001;
  EXPECT_EQ(refusal(options), "intervals must be at most 100000, not 100001");
}

TEST(PlannedSwitch, RefusesWhatMakesNoSense) {
  const auto session = open(1);
  const auto occ = tables::occ(session->signature());
  RunOptions options = under_occ(*session);
  for (const double at_s : {-0.1, 0.5, 1.0, std::numeric_limits<double>::quiet_NaN()}) {
    options.switches = {{.at_s = at_s, .policy = occ}};
    EXPECT_NE(refusal(options).find("a switch must be within the window"), std::string::npos);
  }
  options.switches = {{.at_s = 0.2, .policy = occ}, {.at_s = 0.1, .policy = occ}};
  EXPECT_NE(refusal(options).find("not before an earlier one"), std::string::npos);
  options.switches = {{.at_s = 0.2, .policy = tables::occ(workload_signature({{"name", "ycsb"}}))}};
  EXPECT_NE(refusal(options).find("for another workload"), std::string::npos);
  RunOptions silo{.seconds = 0.5};
  silo.switches = {{.at_s = 0.2, .policy = occ}};
  EXPECT_EQ(refusal(silo), "protocol silo does not execute a policy; use policy_table");
}

}  // namespace
}  // namespace heddle
