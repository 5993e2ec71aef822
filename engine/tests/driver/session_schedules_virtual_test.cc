#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"

/// Sessions on virtual cores whose schedule is not the cost model's.
namespace heddle {
namespace {

using session_runs::Way;

constexpr double kSeconds = session_runs::kSanitized ? 0.002 : 0.005;  // of virtual time
constexpr int kCores = 6;

const std::vector<ScheduleOptions> kSchedules{
    {.kind = ScheduleKind::delays, .delay_every = 50, .delay_us = 5},
    {.kind = ScheduleKind::priorities, .depth = 3, .steps = 300}};

std::unique_ptr<Session> open(const ScheduleOptions& schedule, std::uint64_t seed) {
  MachineOptions machine;
  machine.kind = "virtual";
  machine.seed = seed;
  machine.schedule = schedule;
  return open_session({{"name", "ycsb"},
                       {"records", "200"},
                       {"theta", "0.9"},
                       {"index", "ordered"},
                       {"scan", "10"},
                       {"read", "40"}},
                      kCores, 1, machine);
}

/// The result of each way, one after the other in one database.
std::vector<std::string> series(const ScheduleOptions& schedule, std::uint64_t seed) {
  const auto session = open(schedule, seed);
  std::vector<std::string> results;
  for (Way& way : session_runs::all_ways(session->signature())) {
    SCOPED_TRACE(way.name);
    way.options.seconds = kSeconds;
    const Result result = session_runs::run(*session, way.options);
    EXPECT_GT(result.commits, 0U);
    results.push_back(result.to_json());
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
  return results;
}

/// No concurrency control needs parked workers to wake by themselves.
TEST(SessionSchedules, EveryWayCommitsAndTheSameRunsGiveTheSameResults) {
  for (const ScheduleOptions& schedule : kSchedules) {
    const std::vector<std::string> results = series(schedule, 1);
    EXPECT_EQ(results, series(schedule, 1));
    EXPECT_NE(results, series(schedule, 2));
  }
}

}  // namespace
}  // namespace heddle
