#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "check/trial_on_copy.h"
#include "driver/admission_ways.h"
#include "driver/session.h"
#include "driver/session_runs.h"

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

/// Every history under every way is serializable. Each way runs on a copy of one database.
void expect_serializable(const OptionMap& workload, double seconds) {
  const auto session = open_session(workload, 8, 1, kVirtual);
  std::uint64_t ways = 0;
  test::CopiedVerdict all;
  for (const Way& way :
       admission_ways::scheduled(admission_ways::some_ways(session->signature()))) {
    SCOPED_TRACE(way.name);
    RunOptions options = way.options;
    options.seconds = test::scaled_seconds(seconds);
    const test::CopiedVerdict verdict = test::trial_on_copy(*session, options);
    EXPECT_EQ(verdict.findings, "");
    EXPECT_GT(verdict.committed, 0U);
    EXPECT_GT(verdict.scheduled, 0U);
    all.committed += verdict.committed;
    ++ways;
    all.overtaking += verdict.overtaking;
    all.deferred += verdict.deferred;
    all.moved += verdict.moved;
    all.held_s += verdict.held_s;
  }
  EXPECT_GT(all.committed, 50 * ways);  // some ways get little done in so hot a database
  // Transactions were scheduled.
  EXPECT_GT(all.overtaking, 0U);
  EXPECT_GT(all.deferred, 0U);
  EXPECT_GT(all.moved, 0U);
  EXPECT_GT(all.held_s, 0.0);
}

// Each way populates a database; under a sanitizer the smaller ones are enough.
#if !defined(__SANITIZE_ADDRESS__)
TEST(VirtualAdmission, TpccIsSerializable) {
  expect_serializable({{"name", "tpcc"}, {"mix", "full"}}, 0.001);
}
#endif

TEST(VirtualAdmission, YcsbIsSerializable) {
  expect_serializable({{"name", "ycsb"},
                       {"index", "ordered"},
                       {"records", "500"},
                       {"read", "40"},
                       {"rmw", "30"},
                       {"scan", "10"},
                       {"insert", "10"},
                       {"delete", "10"}},
                      0.001);
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

/// With a barrier of none, no transaction is overtaken.
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

/// The longest wait in a window is bounded by the barrier; latency includes it.
TEST(VirtualAdmission, LatencyCountsFromTheDrawing) {
  const auto p50 = [](const std::string& window) {
    const Result result = run_micro({{"policy", "smf"}, {"hot", "0"}, {"window", window}});
    return result.types.front().latency_us.p50;
  };
  EXPECT_GT(p50("32"), 4 * p50("1"));
}

const OptionMap kTpcc{{"name", "tpcc"}, {"warehouses", "2"}, {"mix", "full"}};

/// A database that no run uses: hints are drawn from it, and copied ones are run.
Session& unused_tpcc() {
  static const auto session = open_session(kTpcc, 8, 1, kVirtual);
  return *session;
}

/// A classifier that knows the hints of all transactions, as rows and as clusters, for types whose
/// hints are in no loop.
std::string knowing_all_hints(Session& session) {
  using Json = nlohmann::ordered_json;
  const Signature& signature = session.signature();
  const DrawnHints drawn = session.draw_hints(5000, 1);
  std::map<std::string, std::vector<std::uint64_t>> hot_keys;
  std::map<std::uint32_t, std::set<std::vector<std::pair<AccessId, std::uint64_t>>>> passed;
  auto hint = drawn.hints.begin();
  for (std::size_t at = 0; at < drawn.types.size(); ++at) {
    std::vector<std::pair<AccessId, std::uint64_t>> hints;
    for (std::uint32_t i = 0; i < drawn.counts[at]; ++i, ++hint) {
      hints.emplace_back(hint->state, hint->key);
      auto& keys = hot_keys[signature.access(hint->state).table];
      if (std::ranges::find(keys, hint->key) == keys.end()) keys.push_back(hint->key);
    }
    if (!hints.empty()) passed[drawn.types[at]].insert(hints);
  }
  Json types = Json::array();
  for (const auto& [type, all] : passed) {
    Json made{{"type", signature.types[type].name}, {"rows", {}}, {"labels", {}}, {"clusters", {}}};
    for (const auto& hints : all) {
      Json row = Json::array();
      Json cluster = Json::array();
      for (const auto& [state, key] : hints) {
        const auto& keys = hot_keys[signature.access(state).table];
        row.push_back(keys.end() - std::ranges::find(keys, key));
        cluster.push_back({signature.access(state).name, key, 0.5});
      }
      made["labels"].push_back(made["rows"].size());
      made["rows"].push_back(row);
      made["clusters"].push_back(cluster);
    }
    types.push_back(made);
  }
  return Json{{"neighbours", 1}, {"hot_keys", hot_keys}, {"types", types}}.dump();
}

TEST(VirtualAdmission, AClassifierSaysWhatIsHot) {
  const auto session = open_session(kTpcc, 8, 1, kVirtual);
  RunOptions options;
  options.seconds = 0.005;
  const auto measured = [&](OptionMap schedule) {
    schedule.insert({{"policy", "smf"}, {"probe_us", "0"}});
    options.schedule = std::move(schedule);
    return session_runs::run(*session, options).schedule.value();
  };
  const ScheduleResult counted = measured({{"hot", "0"}});
  const std::string classifier = knowing_all_hints(*session);
  // The classifier decides, whatever is hot by counting.
  const ScheduleResult classified = measured({{"hot", "1"}, {"classifier", classifier}});
  EXPECT_NEAR(static_cast<double>(classified.hot) / static_cast<double>(classified.cold),
              static_cast<double>(counted.hot) / static_cast<double>(counted.cold), 1);
  EXPECT_GT(classified.hot, 10 * classified.cold);
  EXPECT_EQ(classified.options.at("classifier"), "3 types, 42 rows, 24 hot keys");
  EXPECT_GT(classified.choosing_s, 0);
  const ScheduleResult none =
      measured({{"classifier", R"({"neighbours":1,"hot_keys":{},"types":[]})"}});
  EXPECT_EQ(none.hot, 0U);
  EXPECT_GT(none.cold, 0U);
}

TEST(VirtualAdmission, AClassifierForAnotherWorkloadIsRefused) {
  const auto micro = open_session(kMicro, 2, 1, kVirtual);
  RunOptions options;
  options.schedule = {{"policy", "smf"}, {"classifier", knowing_all_hints(unused_tpcc())}};
  EXPECT_THROW((void)session_runs::run(*micro, options), std::invalid_argument);
}

/// Right or wrong, predictions change when transactions start, and never what they read.
TEST(VirtualAdmission, WhatIsPredictedWrongHarmsNoHistory) {
  Session& session = unused_tpcc();
  const std::string classifier = knowing_all_hints(session);
  constexpr std::array kWrong{"0", "0.3", "1"};
  const std::vector<Way> ways = admission_ways::some_ways(session.signature());
  for (std::size_t at = 0; at < ways.size(); ++at) {
    const Way& way = ways[at];
    for (std::size_t share = 0; share < kWrong.size(); ++share) {
      if (!test::full_length() && share != at % kWrong.size()) continue;
      const char* const wrong = kWrong.at(share);
      SCOPED_TRACE(way.name + ", wrong " + wrong);
      RunOptions options = way.options;
      options.seconds = 0.002;
      options.schedule = {
          {"policy", "smf"}, {"classifier", classifier}, {"wrong_hints", wrong}, {"probe_us", "0"}};
      const test::CopiedVerdict verdict = test::trial_on_copy(session, options);
      EXPECT_EQ(verdict.findings, "");
      EXPECT_GT(verdict.committed, 0U);
      EXPECT_GT(verdict.scheduled, 0U);
    }
  }
}

TEST(VirtualAdmission, HintsAreDrawnAsTransactionsPassThem) {
  Session& session = unused_tpcc();
  const DrawnHints drawn = session.draw_hints(1000, 3);
  ASSERT_EQ(drawn.types.size(), 1000U);
  ASSERT_EQ(drawn.counts.size(), 1000U);
  std::size_t count = 0;
  for (std::size_t at = 0; at < drawn.types.size(); ++at) {
    EXPECT_LT(drawn.types[at], 5U);
    for (std::uint32_t i = 0; i < drawn.counts[at]; ++i) {
      EXPECT_EQ(session.signature().type_of(drawn.hints.at(count++).state), drawn.types[at]);
    }
  }
  EXPECT_EQ(count, drawn.hints.size());
  EXPECT_EQ(session.draw_hints(1000, 3).hints, drawn.hints);
  EXPECT_NE(session.draw_hints(1000, 4).hints, drawn.hints);
}

}  // namespace
}  // namespace heddle
