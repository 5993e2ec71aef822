#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "check/trial.h"
#include "driver/admission_ways.h"
#include "driver/session.h"
#include "driver/session_runs.h"

/// Sessions on real threads whose transactions are scheduled.
namespace heddle {
namespace {

const OptionMap kMicro{{"name", "micro"},
                       {"hot_records", "32"},
                       {"records", "2000"},
                       {"own_records", "500"},
                       {"theta", "0.9"}};
const OptionMap kYcsb{{"name", "ycsb"},    {"index", "ordered"}, {"records", "2000"},
                      {"operations", "8"}, {"theta", "0.9"},     {"read", "40"},
                      {"rmw", "20"},       {"scan", "10"},       {"insert", "15"},
                      {"delete", "15"}};

void expect_consistent_every_way(const OptionMap& workload, int workers) {
  const auto session = open_session(workload, workers, 1);
  const auto ways = admission_ways::some_ways(session->signature());
  session_runs::expect_consistent(*session, admission_ways::scheduled(ways), 0.02);
}

TEST(SessionAdmission, MicroStaysConsistent) { expect_consistent_every_way(kMicro, 3); }
TEST(SessionAdmission, YcsbStaysConsistent) { expect_consistent_every_way(kYcsb, 3); }
TEST(SessionAdmission, ManyWorkersStayConsistent) { expect_consistent_every_way(kMicro, 8); }

TEST(SessionAdmission, EveryTypeKeepsCommitting) {
  const auto session = open_session(kMicro, 4, 1);
  for (auto& way : admission_ways::scheduled({session_runs::protocols().front()})) {
    SCOPED_TRACE(way.name);
    way.options.seconds = test::scaled_seconds(0.05);
    const Result result =
        session_runs::run_until(session_runs::all_types_commit, *session, way.options);
    for (const TypeResult& type : result.types) EXPECT_GT(type.commits, 0u) << type.name;
  }
}

TEST(SessionAdmission, HistoriesAreSerializable) {
  const Signature signature = workload_signature(kYcsb);
  for (const auto& way : admission_ways::scheduled(admission_ways::some_ways(signature))) {
    SCOPED_TRACE(way.name);
    Trial trial{.workload = kYcsb, .workers = 4, .run = way.options};
    trial.workload["records"] = "200";
    trial.run.seconds = 0.01;
    const Verdict verdict = run_trial(trial, [] { return false; });
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
  }
}

TEST(SessionAdmission, ResultsSayHow) {
  const auto session = open_session(kMicro, 2, 1);
  RunOptions options;
  options.seconds = 0.02;
  EXPECT_FALSE(session_runs::run(*session, options).schedule.has_value());
  options.schedule = {{"policy", "fifo"}, {"window", "4"}};
  EXPECT_FALSE(session_runs::run(*session, options).schedule.has_value());
  options.schedule = {{"policy", "smf"}, {"hot", "1"}};
  // No key is in every transaction: all are cold, except a worker's first ones.
  const auto nearly_all_cold = [](const Result& result) {
    return result.schedule->cold > 10 * result.schedule->hot;
  };
  const Result result = session_runs::run_until(nearly_all_cold, *session, options);
  ASSERT_TRUE(result.schedule.has_value());
  EXPECT_EQ(result.schedule->options.at("policy"), "smf");
  EXPECT_EQ(result.schedule->options.at("hot"), "1");
  EXPECT_TRUE(nearly_all_cold(result));
}

TEST(SessionAdmission, SchedulesOnlyTheTypesItIsTo) {
  const auto session = open_session(kMicro, 2, 1);
  std::string all;
  for (const auto& type : session->signature().types) all += (all.empty() ? "" : ",") + type.name;
  RunOptions options;
  options.seconds = 0.02;
  const auto has_hot = [](const Result& result) { return result.schedule->hot > 0; };
  const auto has_cold = [](const Result& result) { return result.schedule->cold > 0; };
  const auto measured = [&](const std::string& unscheduled, const auto& expected) {
    options.schedule = {{"policy", "smf"}, {"unscheduled", unscheduled}};
    return session_runs::run_until(expected, *session, options).schedule.value();
  };
  EXPECT_GT(measured("", has_hot).hot, 0U);
  EXPECT_GT(measured(all.substr(0, all.find(',')), has_hot).hot, 0U);
  const ScheduleResult none = measured(all, has_cold);
  EXPECT_EQ(none.hot, 0U);
  EXPECT_GT(none.cold, 0U);
  EXPECT_EQ(none.options.at("unscheduled"), all);
}

std::string refusal(Session& session, const OptionMap& schedule) {
  RunOptions options;
  options.schedule = schedule;
  try {
    (void)session_runs::run(session, options);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "not refused";
}

TEST(SessionAdmission, RefusesWhatMakesNoSense) {
  const auto micro = open_session(kMicro, 2, 1);
  EXPECT_NE(refusal(*micro, {{"policy", "lifo"}}).find("'lifo'"), std::string::npos);
  EXPECT_NE(refusal(*micro, {{"k", "-1"}}).find("'k'"), std::string::npos);
  const std::string unknown = refusal(*micro, {{"policy", "smf"}, {"unscheduled", "refund"}});
  EXPECT_NE(unknown.find("'refund'; micro has"), std::string::npos) << unknown;
}

}  // namespace
}  // namespace heddle
