#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include <gtest/gtest.h>

#include "check/trial.h"
#include "driver/session.h"
#include "scale.h"
#include "tables.h"

/// Batches of aria on virtual cores without time-outs: no worker waits for one that does not come.
namespace heddle::test {
namespace {

using Options = std::map<std::string, std::string>;

OptionMap program(std::uint64_t number) {
  return {{"name", "generic"},
          {"program", std::to_string(number)},
          {"types", "6"},
          {"churn", number % 3 == 0 ? "70" : "0"},
          {"pauses", number % 2 == 0 ? "16" : "0"},
          {"rollbacks", "10"},
          {"audits", number % 4 == 1 ? "5" : "0"}};
}

MachineOptions machine(std::uint64_t seed) {
  constexpr std::array kKinds{ScheduleKind::clock, ScheduleKind::delays, ScheduleKind::priorities};
  MachineOptions options;
  options.kind = "virtual";
  options.seed = seed;
  options.schedule.kind = kKinds[seed % kKinds.size()];
  options.schedule.delay_every = 20;
  options.schedule.delay_us = 5;
  // Without it a worker that waits for good is reported, instead of looking up at times.
  options.schedule.rescue = false;
  return options;
}

Trial batches(std::uint64_t number, int workers, const Options& options = {}) {
  Trial trial;
  trial.workload = program(number);
  trial.workers = workers;
  trial.seed = number;
  trial.machine = machine(number);
  trial.run.protocol = "aria";
  trial.run.protocol_options = options;
  trial.run.backoff = "none";
  trial.run.seconds = 0.001;
  trial.run.watchdog_s = 0.02;
  trial.run.epoch_us = 10;
  return trial;
}

void expect_nothing(const Trial& trial) {
  const Verdict verdict = run_trial(trial, [] { return false; });
  for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
  EXPECT_GT(verdict.report.transactions, 0U);
}

TEST(Batches, OfOneWorker) {
  for (std::uint64_t number = 0; number < scaled(6); ++number) expect_nothing(batches(number, 1));
}

TEST(Batches, OfManyWorkers) {
  for (std::uint64_t number = 0; number < scaled(3); ++number) {
    SCOPED_TRACE(number);
    expect_nothing(batches(number, 128));
    expect_nothing(batches(number, 128, {{"batch", "5"}}));
  }
}

TEST(Batches, OfEverySize) {
  for (std::uint64_t number = 0; number < scaled(24); ++number) {
    SCOPED_TRACE(number);
    expect_nothing(batches(number, 7,
                           {{"batch", std::to_string(1 + number % 8)},
                            {"reordering", number % 2 == 0 ? "on" : "off"}}));
  }
}

/// Most workers are busy with long transactions, rest or back off while batches end.
TEST(Batches, OfWorkersThatAreOftenAbsent) {
  for (std::uint64_t number = 0; number < scaled(6); ++number) {
    SCOPED_TRACE(number);
    Trial trial = batches(number, 6);
    trial.run.backoff = number % 2 == 0 ? "static" : "exponential";
    trial.run.backoff_us = 40;
    expect_nothing(trial);
  }
}

/// Sanitized builds run every protocol in recorded runs only.
constexpr std::size_t kHistoryBytes = std::size_t{16} << 20;

/// A run may be stopped at any moment: while workers execute, wait for the batch, or commit. The
/// database is consistent, and the next run begins batches of its own.
TEST(Batches, ARunMayEndInAnyPhase) {
  for (std::uint64_t number = 0; number < 3; ++number) {
    const auto session = open_session(program(number), 6, 1, machine(number));
    for (std::uint64_t run = 0; run < scaled(40); ++run) {
      SCOPED_TRACE(run);
      RunOptions options = batches(number, 6).run;
      if (run % 4 == 3) options.protocol_options = {{"batch", "2"}};
      options.seed = run;
      options.history_bytes = kHistoryBytes;
      std::uint64_t polls = 0;
      EXPECT_NO_THROW(session->run(options, [&] { return ++polls > run % 5; }));
    }
    for (const std::string& violation : session->check()) ADD_FAILURE() << violation;
  }
}

TEST(Batches, RefuseAnotherPolicyAndContinue) {
  const auto session = open_session(program(1), 6, 1, machine(1));
  const auto table = tables::random(session->signature(), 1);
  int refused = 0;
  RunOptions options = batches(1, 6).run;
  options.history_bytes = kHistoryBytes;
  const Result result = session->run(options, [&] {
    try {
      session->switch_policy(table);
    } catch (const std::invalid_argument&) {
      ++refused;
    }
    return false;
  });
  EXPECT_GT(refused, 0);
  EXPECT_GT(result.commits, 0U);
}

}  // namespace
}  // namespace heddle::test
