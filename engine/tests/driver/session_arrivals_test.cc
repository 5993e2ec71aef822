#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "driver/shop_under_load.h"

/// Open loops on real cores. No times are asserted: only that nothing comes too early, and that
/// everything ends.
namespace heddle {
namespace {

using session_runs::Way;
using test::at_speed;
using test::ProgramFile;

TEST(SessionArrivals, NothingIsServedBeforeItArrives) {
  const ProgramFile file = test::sales();
  for (const int workers : {2, 24}) {  // the latter take turns
    SCOPED_TRACE(workers);
    const auto session = open_session(at_speed(file, "20"), workers, 1);
    std::uint64_t committed = 0;
    for (const Way& way : session_runs::protocols()) {
      SCOPED_TRACE(way.name);
      RunOptions options = way.options;
      options.seconds = 0.1;
      const auto begin = std::chrono::steady_clock::now();
      const Result result = session_runs::run(*session, options);
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
      ASSERT_TRUE(result.arrivals.has_value());
      committed += result.commits;
      // 20,000 a second; the two clocks are not the same.
      EXPECT_LE(static_cast<double>(result.commits), 20'000 * took.count() * 1.01 + 2);
      EXPECT_LE(result.arrivals->idle_s, workers * result.duration_s);
    }
    EXPECT_GT(committed, 0U);
    EXPECT_TRUE(session->check().empty());
  }
}

TEST(SessionArrivals, AnOverloadedRunEndsAndIsLate) {
  const ProgramFile file = test::sales();
  const auto session = open_session(at_speed(file, "1000000"), 2, 1);
  for (int run = 0; run < 2; ++run) {
    const Result result = session_runs::run(*session, {.seconds = 0.1});
    EXPECT_GT(result.arrivals->backlog, 0u);
    EXPECT_GT(result.arrivals->lag_us, 0);
    EXPECT_TRUE(session->check().empty());
  }
}

/// All but the first arrive in a quarter of an hour.
TEST(SessionArrivals, StopEndsARunThatWaits) {
  std::vector<ProgramFile::Transaction> all;
  for (std::uint32_t number = 0; number < test::kSessions; ++number) {
    all.push_back(test::sale(number));
    all.back().begin_us = number == 0 ? 0 : 900'000'000;
  }
  const ProgramFile file(test::kSales, test::kSessions, all, std::vector<std::uint8_t>(8, 0));
  for (const int workers : {2, 24}) {
    const auto session = open_session(at_speed(file, "1"), workers, 1);
    std::thread stopper([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      session->stop();
    });
    const Result result = session_runs::run(*session, {.seconds = 3600});
    stopper.join();
    EXPECT_TRUE(result.interrupted);
    EXPECT_LE(result.commits, 1u);
  }
}

}  // namespace
}  // namespace heddle
