#include <chrono>
#include <memory>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"

/// The measured window on real cores: of the requested length, and the same for every worker.
namespace heddle {
namespace {

std::unique_ptr<Session> open_micro(int workers) {
  return open_session(
      {{"name", "micro"}, {"hot_records", "8"}, {"records", "100"}, {"own_records", "50"}}, workers,
      1);
}

/// Commits per second are those of the window, even if a worker missed a part of it.
void expect_rates_over_the_window(const Result& result) {
  const auto commits = static_cast<double>(result.commits);
  EXPECT_NEAR(result.throughput * result.duration_s, commits, 1e-9 * commits);
}

TEST(Window, IsAsLongAsWasAskedForThoughTheMonitorIsLate) {
  const auto session = open_micro(2);
  for (const double warmup : {0.0, 0.01}) {
    bool first = true;
    const Result result = session->run({.seconds = 0.03, .warmup = warmup}, [&] {
      // Asleep while the window ends.
      if (!first) std::this_thread::sleep_for(std::chrono::milliseconds(150));
      first = false;
      return false;
    });
    EXPECT_NEAR(result.duration_s, 0.03, 1e-6);
    EXPECT_FALSE(result.interrupted);
    expect_rates_over_the_window(result);
  }
}

TEST(Window, IsTheSameForEveryWorker) {
  // Workers without a core of their own enter it late.
  for (const int workers : {2, 6}) {
    const auto session = open_micro(workers);
    const Result result = session_runs::run(*session, {.seconds = 0.05, .warmup = 0.01});
    EXPECT_NEAR(result.duration_s, 0.05, 1e-6);
    expect_rates_over_the_window(result);
  }
}

/// Workers that back off from the warm-up to the end miss the window.
TEST(Window, HoldsNothingOfTheWarmUp) {
  const auto session = open_micro(4);
  const Result result = session_runs::run(
      *session, {.backoff = "static", .backoff_us = 1e9, .seconds = 0.02, .warmup = 0.2});
  EXPECT_NEAR(result.duration_s, 0.02, 1e-6);
  expect_rates_over_the_window(result);
  std::uint64_t unfinished = 0;
  for (const TypeResult& type : result.types) unfinished += type.unfinished;
  EXPECT_LE(unfinished, 4U);
}

TEST(Window, OfARunThatIsInterruptedEndsThere) {
  const auto session = open_micro(2);
  const auto begin = std::chrono::steady_clock::now();
  const Result result = session->run({.seconds = 3600}, [&] {
    return std::chrono::steady_clock::now() - begin > std::chrono::milliseconds(30);
  });
  EXPECT_TRUE(result.interrupted);
  EXPECT_GT(result.duration_s, 0.0);
  EXPECT_LT(result.duration_s, 60.0);
  expect_rates_over_the_window(result);
}

TEST(Window, IsEmptyIfTheRunEndsInTheWarmUp) {
  const auto session = open_micro(2);
  const Result result = session->run({.seconds = 10, .warmup = 3600}, [] { return true; });
  EXPECT_TRUE(result.interrupted);
  EXPECT_EQ(result.commits, 0U);
  EXPECT_EQ(result.duration_s, 0.0);
  EXPECT_EQ(result.throughput, 0.0);
}

}  // namespace
}  // namespace heddle
