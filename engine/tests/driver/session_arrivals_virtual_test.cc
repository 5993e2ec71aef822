#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "driver/shop_under_load.h"

/// Open loops on virtual cores, where every time is exact.
namespace heddle {
namespace {

using session_runs::Way;
using test::at_speed;
using test::ProgramFile;

std::unique_ptr<Session> open(const OptionMap& workload, int cores,
                              const ScheduleOptions& schedule = {}) {
  MachineOptions machine;
  machine.kind = "virtual";
  machine.schedule = schedule;
  return open_session(workload, cores, 1, machine);
}

double max_latency_us(const Result& result) { return result.types.front().latency_us.max; }

TEST(SessionArrivals, WhatArrivesIsServedAtItsRateAndNoFaster) {
  const ProgramFile file = test::sales();
  for (const char* speed : {"10", "100", "300"}) {
    SCOPED_TRACE(speed);
    const auto session = open(at_speed(file, speed), 8);
    const double rate = 1000 * std::stod(speed);
    for (const Way& way : session_runs::protocols()) {
      SCOPED_TRACE(way.name);
      RunOptions options = way.options;
      options.seconds = 0.005;
      options.warmup = 0.002;
      const Result result = session_runs::run(*session, options);
      ASSERT_TRUE(result.arrivals.has_value());
      EXPECT_NEAR(result.arrivals->offered, rate, rate * 0.03);
      EXPECT_NEAR(result.throughput, result.arrivals->offered, rate * 0.03);
      EXPECT_EQ(result.mixed_throughput, result.throughput);
      EXPECT_DOUBLE_EQ(result.duration_s, 0.005);
      EXPECT_LE(result.arrivals->backlog, 8u);
      EXPECT_LT(result.arrivals->lag_us, 100);
      // Workers are idle or in a transaction, except for short times between the two.
      const double busy = result.time_s.useful + result.time_s.waiting + result.time_s.wasted +
                          result.time_s.backoff + result.time_s.commit;
      EXPECT_NEAR(result.arrivals->idle_s + busy, 8 * result.duration_s, 0.002);
    }
    EXPECT_TRUE(session->check().empty());
  }
}

TEST(SessionArrivals, WhatCannotBeServedQueuesAndIsLate) {
  const ProgramFile file = test::sales();
  const auto session = open(at_speed(file, "100000"), 4);
  const auto closed = open({{"name", "replay"}, {"program", file.path()}}, 4);
  const RunOptions options{.seconds = 0.005};
  const Result full = session_runs::run(*closed, options);
  EXPECT_FALSE(full.arrivals.has_value());
  EXPECT_EQ(full.to_json().find("\"arrivals\""), std::string::npos);
  // The second run begins without a backlog; otherwise it would be twice as late at its end.
  for (int run = 0; run < 2; ++run) {
    const Result result = session_runs::run(*session, options);
    // As many as can be served; the closed loop has them in another order, session by session.
    EXPECT_NEAR(result.throughput, full.throughput, full.throughput * 0.3);
    EXPECT_NEAR(result.arrivals->offered, 1e8, 1e6);
    // The transaction begun last arrived when as many had arrived as have begun by then.
    const double late_us = 5000 * (1 - result.throughput / result.arrivals->offered);
    EXPECT_NEAR(result.arrivals->lag_us, late_us, 50);
    EXPECT_NEAR(static_cast<double>(result.arrivals->backlog + result.commits), 1e8 * 0.005,
                1e8 * 0.005 * 0.01);
    EXPECT_NEAR(max_latency_us(result), late_us, 50);
    EXPECT_LT(result.arrivals->idle_s, 4 * 0.005 * 0.01);
  }
}

/// Ten at once for one worker: together they wait for 1 + 2 + … + 10 of them.
TEST(SessionArrivals, LatencyIsFromArrival) {
  std::vector<ProgramFile::Transaction> all;
  for (std::uint32_t number = 0; number < 11; ++number) {
    all.push_back(test::sale(0));
    all.back().begin_us = number < 10 ? 0 : 1'000'000;
  }
  const ProgramFile file(test::kSales, 1, all, std::vector<std::uint8_t>(8, 0));
  const auto session = open(at_speed(file, "1"), 1);
  const Result result = session_runs::run(*session, {.seconds = 0.001});
  ASSERT_EQ(result.commits, 10u);
  const double served_us = (result.time_s.useful + result.time_s.commit) * 1e6;
  EXPECT_GT(result.types.front().latency_us.mean * 10, served_us * 4);
  EXPECT_GE(max_latency_us(result), served_us);
}

/// Any workload at a rate: below what it can serve, latency tells policies apart, not throughput.
TEST(SessionArrivals, AWorkloadIsServedAtItsRate) {
  constexpr double kRate = 60'000;
  const auto session = open({{"name", "tpcc"}, {"rate", "60000"}}, 8);
  for (const Way& way : session_runs::protocols()) {
    SCOPED_TRACE(way.name);
    RunOptions options = way.options;
    options.seconds = 0.02;
    options.warmup = 0.002;
    const Result result = session_runs::run(*session, options);
    ASSERT_TRUE(result.arrivals.has_value());
    EXPECT_NEAR(result.arrivals->offered, kRate, kRate * 0.1);
    EXPECT_NEAR(result.throughput, result.arrivals->offered, kRate * 0.02);
    EXPECT_EQ(result.mixed_throughput, result.throughput);
    EXPECT_LT(result.arrivals->lag_us, 1'000);
    EXPECT_GT(result.arrivals->idle_s, 0);
    EXPECT_EQ(result.workload.at("rate"), "60000");
  }
  EXPECT_TRUE(session->check().empty());
}

/// The seed of a run decides when transactions arrive; a run begins without a backlog of the last.
TEST(SessionArrivals, ARateBeginsWithEachRun) {
  const auto session = open({{"name", "tpcc"}, {"rate", "10000000"}}, 4);
  const RunOptions options{.seconds = 0.002, .warmup = 0.0005};
  const Result first = session_runs::run(*session, options);
  const Result second = session_runs::run(*session, options);
  for (const Result& result : {first, second}) {
    EXPECT_NEAR(result.arrivals->offered, 1e7, 1e7 * 0.03);
    EXPECT_LT(result.throughput, 0.5e7);
    EXPECT_NEAR(result.arrivals->lag_us, 2500 * (1 - result.throughput / 1e7), 300);
  }
  EXPECT_EQ(first.arrivals->offered, second.arrivals->offered) << "of one seed";
}

TEST(SessionArrivals, AWorkloadWithAClockOfItsOwnHasNoRate) {
  const ProgramFile file = test::sales();
  OptionMap replay = at_speed(file, "1");
  replay["rate"] = "1000";
  EXPECT_THROW((void)open(replay, 2), std::invalid_argument);
  EXPECT_THROW((void)open({{"name", "tpcc"}, {"rate", "0"}}, 2), std::invalid_argument);
}

TEST(SessionArrivals, WaitingForAnArrivalIsNotBeingStuck) {
  const ProgramFile file = test::sales();
  const auto session = open(at_speed(file, "0.01"), 4);  // ten a second
  const Result result = session_runs::run(*session, {.seconds = 0.35, .watchdog_s = 0.01});
  EXPECT_EQ(result.commits, 4u);
  EXPECT_EQ(result.arrivals->lag_us, 0);
}

TEST(SessionArrivals, ARunInterruptedWhileItWarmsUpHasMeasuredNothing) {
  const ProgramFile file = test::sales();
  const auto session = open(at_speed(file, "100"), 2);
  int asked = 0;
  const Result result =
      session->run({.seconds = 1, .warmup = 1}, [&asked] { return ++asked > 20; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.duration_s, 0);
  EXPECT_EQ(result.arrivals->offered, 0);
}

TEST(SessionArrivals, TheSameRunsGiveTheSameResultsUnderEverySchedule) {
  const ProgramFile file = test::sales();
  const std::vector<ScheduleOptions> schedules{
      {},
      {.kind = ScheduleKind::delays, .delay_every = 50, .delay_us = 5},
      {.kind = ScheduleKind::priorities, .depth = 3, .steps = 300}};
  for (const ScheduleOptions& schedule : schedules) {
    std::vector<std::string> results;
    for (int time = 0; time < 2; ++time) {
      const auto session = open(at_speed(file, "300"), 6, schedule);
      const Result result = session_runs::run(*session, {.seconds = 0.002});
      EXPECT_GT(result.commits, 400u);
      EXPECT_TRUE(session->check().empty());
      results.push_back(result.to_json());
    }
    EXPECT_EQ(results.front(), results.back());
  }
}

}  // namespace
}  // namespace heddle
