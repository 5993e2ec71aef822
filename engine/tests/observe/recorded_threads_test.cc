#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "check/trial.h"
#include "driver/machine_options.h"
#include "driver/session.h"
#include "driver/session_runs.h"
#include "observe/recorded_timeline.h"
#include "scale.h"

/// The timelines of sessions on real cores that record.
namespace heddle {
namespace {

using Json = nlohmann::json;
using session_runs::Way;

constexpr int kWorkers = 2;
#if defined(__SANITIZE_THREAD__)
constexpr std::size_t kPlenty = 20'000;  // reading the result as JSON takes most of the time
#else
constexpr std::size_t kPlenty = 400'000;
#endif
const double kSeconds = test::scaled_seconds(0.05);

const OptionMap kWorkload{
    {"name", "micro"}, {"records", "1000"}, {"hot_records", "8"}, {"own_records", "1000"}};

std::unique_ptr<Session> open(OptionMap machine = {}) {
  machine["kind"] = "threads";
  return open_session(kWorkload, kWorkers, 1, parse_machine(machine));
}

/// Every protocol.
std::vector<Way> ways(const Session& session) {
  std::vector<Way> all = session_runs::protocols();
  all.push_back(session_runs::with_policy(tables::ic3(session.signature())));
  return all;
}

Json recorded(Session& session, RunOptions options, std::size_t events = kPlenty,
              double seconds = kSeconds) {
  options.seconds = seconds;
  options.timeline_events = events;
  return Json::parse(
      session_runs::run_until(session_runs::has_commits, session, options).to_json());
}

/// The events of a core, which must follow each other.
class Core {
 public:
  void follow(const Json& event) {
    const std::string what = event.at(2);
    ASSERT_GE(event.at(0), time_) << event;
    time_ = event.at(0);
    if (what == "window") {
      ASSERT_FALSE(window_) << event;
      window_ = true;
      return;
    }
    ASSERT_TRUE(window_) << event;
    if (what == "transaction") {
      ASSERT_FALSE(transaction_) << event;
      transaction_ = true;
      ++begun_;
    } else if (what == "transaction_end") {
      ASSERT_TRUE(transaction_ && !attempt_) << event;
      transaction_ = false;
      ++ended_;
    } else if (what == "skip") {
      ASSERT_FALSE(transaction_) << event;
    } else if (what == "attempt") {
      ASSERT_TRUE(transaction_ && !attempt_) << event;
      attempt_ = true;
    } else if (what == "end") {
      ASSERT_TRUE(attempt_ && !access_ && !wait_) << event;
      attempt_ = false;
    } else if (what == "access") {
      ASSERT_TRUE(attempt_ && !access_) << event;
      access_ = true;
    } else if (what == "access_end") {
      ASSERT_TRUE(access_ && !wait_) << event;
      access_ = false;
    } else if (what == "wait") {
      ASSERT_TRUE(attempt_ && !wait_) << event;
      wait_ = true;
    } else if (what == "wait_end" || what == "wait_skipped") {
      ASSERT_TRUE(wait_) << event;
      wait_ = false;
    }
  }
  [[nodiscard]] std::uint64_t begun() const { return begun_; }
  [[nodiscard]] std::uint64_t ended() const { return ended_; }

 private:
  double time_ = -1e12;
  bool window_ = false;
  bool transaction_ = false;
  bool attempt_ = false;
  bool access_ = false;
  bool wait_ = false;
  std::uint64_t begun_ = 0;
  std::uint64_t ended_ = 0;
};

std::map<int, Core> followed(const Json& timeline) {
  std::map<int, Core> cores;
  for (const Json& event : timeline.at("events")) cores[event.at(1)].follow(event);
  return cores;
}

std::uint64_t ended(const std::map<int, Core>& cores) {
  std::uint64_t sum = 0;
  for (const auto& [core, events] : cores) sum += events.ended();
  return sum;
}

std::size_t count(const Json& timeline, const std::string& what) {
  std::size_t found = 0;
  for (const Json& event : timeline.at("events")) found += event.at(2) == what ? 1 : 0;
  return found;
}

TEST(RecordedThreads, HasEveryTransactionOfTheWindow) {
  const auto session = open();
  for (const Way& way : ways(*session)) {
    SCOPED_TRACE(way.name);
    const Json result = recorded(*session, way.options, kPlenty, kSeconds / 50);
    const Json& timeline = result.at("timeline");
    const std::uint64_t found = ended(followed(timeline));
    // Where workers got no processor, the window was repeated, and may be too long to be recorded.
    if (timeline.at("dropped") != 0) {
      EXPECT_LT(found, result.at("commits"));
      continue;
    }
    EXPECT_EQ(found, result.at("commits"));
    EXPECT_GT(count(timeline, "access"), 0U);
    EXPECT_EQ(count(timeline, "skip"), 0U);
  }
  for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
}

TEST(RecordedThreads, AShareHasWholeTransactions) {
  const auto session = open();
  RunOptions options;
  options.timeline_sampling.share = 0.2;
  const Json result = recorded(*session, options);
  const std::map<int, Core> cores = followed(result.at("timeline"));
  const std::uint64_t found = ended(cores);
  EXPECT_GT(found, 0U);
  EXPECT_LT(found, result.at("commits").get<std::uint64_t>() * 9 / 10);
  EXPECT_GT(count(result.at("timeline"), "skip"), 0U);
  for (const auto& [core, events] : cores) EXPECT_LE(events.begun() - events.ended(), 1U);
}

TEST(RecordedThreads, AccessesOfSkippedStatesAreLeftOut) {
  const auto session = open();
  RunOptions options;
  const auto states = static_cast<std::uint32_t>(session->signature().state_count());
  for (std::uint32_t state = 1; state < states; ++state) {
    options.timeline_sampling.skipped_states.push_back(state);
  }
  const Json result = recorded(*session, options);
  EXPECT_GT(count(result.at("timeline"), "access"), 0U);
  for (const Json& event : result.at("timeline").at("events")) {
    if (event.at(2) == "access") {
      EXPECT_EQ(event.at(3), 0) << event;
    }
  }
  EXPECT_EQ(count(result.at("timeline"), "access"), count(result.at("timeline"), "access_end"));
}

TEST(RecordedThreads, AFullTimelineLeavesTheRunAlone) {
  const auto session = open();
  const Json result = recorded(*session, {}, 1000);
  // Each core has memory for 500. Once one core has used it, none begins to record a transaction.
  EXPECT_GE(result.at("timeline").at("events").size(), 500U);
  EXPECT_LE(result.at("timeline").at("events").size(), 1000U);
  EXPECT_GT(result.at("timeline").at("dropped"), 0);
  EXPECT_GT(result.at("commits"), ended(followed(result.at("timeline"))));
}

TEST(RecordedThreads, DelaysTheAccessesOfAState) {
  const auto session = open({{"delay_state", "0"}, {"delay_every", "1"}, {"delay_us", "100"}});
  const Json result = recorded(*session, {});
  double begun = 0;
  double sum = 0;
  double longest = 0;
  std::size_t accesses = 0;
  std::map<int, double> open_access;
  for (const Json& event : result.at("timeline").at("events")) {
    const int core = event.at(1);
    if (event.at(2) == "access") {
      open_access[core] = event.at(3) == 0 ? event.at(0).get<double>() : -1;
    } else if (event.at(2) == "access_end" && open_access[core] >= 0) {
      begun = open_access[core];
      const double us = (event.at(0).get<double>() - begun) / 1000;
      sum += us;
      longest = std::max(longest, us);
      ++accesses;
    }
  }
  ASSERT_GT(accesses, 10U);
  EXPECT_GT(sum / static_cast<double>(accesses), 10.0);
  EXPECT_GT(longest, 50.0);
}

TEST(RecordedThreads, AreSerializableWhileTheyAreRecorded) {
  const auto session = open();
  for (const Way& way : ways(*session)) {
    SCOPED_TRACE(way.name);
    Trial trial;
    trial.workload = kWorkload;
    trial.workers = kWorkers;
    trial.run = way.options;
    trial.run.seconds = kSeconds;
    trial.run.timeline_events = kPlenty;
    trial.run.timeline_sampling.share = 0.5;
    const Verdict verdict = run_trial(trial, [] { return false; });
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
  }
}

TEST(RecordedThreads, BadOptionsAreRefusedByName) {
  const auto session = open();
  const auto refused = [](Session& by, const RunOptions& options) {
    try {
      (void)session_runs::run(by, options);
    } catch (const std::invalid_argument& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  RunOptions options{.seconds = 0.01, .timeline_events = 1000};
  options.timeline_sampling.share = 0;
  EXPECT_NE(refused(*session, options).find("timeline_share"), std::string::npos);
  options.timeline_sampling.share = 1;
  options.timeline_events = std::size_t{1} << 50;
  EXPECT_NE(refused(*session, options).find("timeline_events"), std::string::npos);
}

TEST(RecordedThreads, ARunAfterARecordedOneHasNoTimeline) {
  const auto session = open();
  (void)recorded(*session, {});
  const Result result =
      session_runs::run_until(session_runs::has_commits, *session, {.seconds = kSeconds});
  EXPECT_FALSE(Json::parse(result.to_json()).contains("timeline"));
}

}  // namespace
}  // namespace heddle
