#include <cstdint>
#include <memory>
#include <string>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"

/// A transaction that has aborted too often runs without others, so that it commits under every
/// protocol.
namespace heddle {
namespace {

using session_runs::Way;

/// Requests after every abort, and by several workers at a time, whose words the thread sanitizer
/// watches.
TEST(SessionExclusive, TurnsOnRealCoresKeepTheDatabaseConsistent) {
  MachineOptions options;
  options.kind = "threads";
  const auto session = open_session(
      {{"name", "micro"}, {"hot_records", "16"}, {"records", "100"}, {"own_records", "10"}}, 4, 1,
      options);
  for (Way& way : session_runs::all_ways(session->signature())) {
    SCOPED_TRACE(way.name);
    way.options.seconds = 0.02;
    way.options.exclusive_after = 1;
    const Result result = session_runs::run_until(session_runs::has_commits, *session, way.options);
    EXPECT_GT(result.commits, 0U);
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
}

// The sanitized builds have no BoMB under every protocol: see tests/covering_set.cmake.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)

constexpr int kWorkers = 8;

/// One worker only costs products, from materials that all others keep buying.
std::unique_ptr<Session> open_bomb(const std::string& machine, OptionMap more = {}) {
  more.insert({{"name", "bomb"}, {"factories", "1"}, {"materials", "64"}, {"trees", "100"}});
  MachineOptions options;
  options.kind = machine;
  return open_session(more, kWorkers, 1, options);
}

const TypeResult& long_type(const Result& result) { return result.types.front(); }

TEST(SessionExclusive, SiloStarvesTheLongTypeWithoutTurns) {
  const auto session = open_bomb("virtual");
  const Result result =
      session_runs::run(*session, {.seconds = 0.02, .exclusive_after = 0, .watchdog_s = 10});
  EXPECT_LE(long_type(result).commits, 1U);  // at the beginning, before the others buy
  EXPECT_GT(long_type(result).aborts, 10U);
  EXPECT_GT(result.commits, 10'000U);
}

TEST(SessionExclusive, EveryProtocolCommitsTheLongType) {
  const auto session = open_bomb("virtual");
  for (Way& way : session_runs::all_ways(session->signature())) {
    SCOPED_TRACE(way.name);
    way.options.seconds = 0.02;
    way.options.exclusive_after = 4;
    const Result result = session_runs::run(*session, way.options);
    const TypeResult& costing = long_type(result);
    EXPECT_GT(costing.commits, 1U);
    EXPECT_GT(result.commits, costing.commits);
    // Four attempts, and those that conflict with attempts that were running already.
    EXPECT_LE(costing.aborts, 8 * (costing.commits + costing.unfinished));
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
}

/// Turns are requested after every abort, and by several workers at a time.
TEST(SessionExclusive, ManyRequestsStayInOrder) {
  const auto session = open_bomb("virtual", {{"long_workers", "4"}});
  for (Way& way : session_runs::all_ways(session->signature())) {
    SCOPED_TRACE(way.name);
    way.options.seconds = 0.01;
    way.options.exclusive_after = 1;
    const Result result = session_runs::run(*session, way.options);
    EXPECT_GT(long_type(result).commits, 4U);
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
}

/// More workers than cores, which take turns on them as well.
TEST(SessionExclusive, RealCoresCommitTheLongType) {
  const auto session = open_bomb("threads");
  for (Way& way : session_runs::protocols()) {
    SCOPED_TRACE(way.name);
    for (const bool take_turns : {true, false}) {
      way.options.exclusive_after = 2;
      way.options.take_turns = take_turns;
      way.options.seconds = 0.1;
      const Result result = session_runs::run_until(
          [](const Result& found) { return long_type(found).commits > 1; }, *session, way.options);
      EXPECT_GT(long_type(result).commits, 1U);
      for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
    }
  }
}

#endif

}  // namespace
}  // namespace heddle
