#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "check/trial.h"
#include "machines/restless.h"
#include "scale.h"
#include "tables.h"

/// Trials on real threads: without delays, and with delays before accesses to shared memory; with
/// as many workers as cores and with more, which take turns or are preempted anywhere.
namespace heddle::test {
namespace {

const double kSeconds = scaled_seconds(0.03);
/// For trials of which some thousand transactions must be checked, also under the thread sanitizer
/// on a busy machine.
const double kLongerSeconds = scaled_seconds(0.1);
const std::uint64_t kTables = scaled(20);
/// Transactions that a test checks at least.
constexpr std::uint64_t kEnough = 1000;

Trial generic_trial(std::uint64_t program) {
  Trial trial;
  trial.workload = {{"name", "generic"},
                    {"program", std::to_string(program)},
                    {"types", "6"},
                    {"pauses", program % 3 == 0 ? "0" : "16"},
                    {"audits", program % 4 == 3 ? "2" : "0"}};
  trial.seed = program;
  trial.workers = program % 2 == 0 ? 2 : 4;
  trial.run.seconds = kSeconds;
  trial.run.take_turns = program % 5 == 0;
  trial.run.epoch_us = program % 2 == 0 ? 100 : 10'000;
  return trial;
}

Signature signature_of(const Trial& trial) { return workload_signature(trial.workload); }

/// Returns how many transactions were checked.
std::uint64_t expect_nothing(const Trial& trial, const OpenSession& open) {
  const Verdict verdict = run_trial(trial, [] { return false; }, open);
  for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
  return verdict.report.transactions;
}

void run_protocol(const OpenSession& open, const std::string& protocol,
                  const std::map<std::string, std::string>& options = {},
                  Isolation isolation = Isolation::serializable) {
  std::uint64_t checked = 0;
  // On a busy machine a run commits little: more of them then.
  for (std::uint64_t program = 0; program < 8 || (checked <= kEnough && program < 80); ++program) {
    SCOPED_TRACE("program " + std::to_string(program));
    Trial trial = generic_trial(program);
    trial.run.protocol = protocol;
    trial.run.protocol_options = options;
    trial.run.seconds = kLongerSeconds;
    trial.isolation = isolation;
    if (program == 7) trial.workers = 8;
    checked += expect_nothing(trial, open);
  }
  EXPECT_GT(checked, kEnough);
}

TEST(ThreadsTrials, Silo) {
  run_protocol(open_session, "silo");
  run_protocol(open_restless, "silo");
}

TEST(ThreadsTrials, TwoPhaseLocking) {
  run_protocol(open_session, "two_phase_locking");
  run_protocol(open_restless, "two_phase_locking", {{"conflict", "no_wait"}});
  run_protocol(open_restless, "two_phase_locking", {{"conflict", "detect"}});
  run_protocol(open_session, "two_phase_locking", {{"conflict", "detect"}, {"grant", "bldsf"}});
}

TEST(ThreadsTrials, Mvto) {
  run_protocol(open_session, "mvto");
  run_protocol(open_restless, "mvto");
}

TEST(ThreadsTrials, WeakerIsolation) {
  for (const Isolation isolation : {Isolation::snapshot, Isolation::read_committed}) {
    run_protocol(open_restless, "mvto", {{"isolation", name_of(isolation)}}, isolation);
  }
}

TEST(ThreadsTrials, Aria) {
  run_protocol(open_session, "aria");
  run_protocol(open_restless, "aria");
  run_protocol(open_session, "aria", {{"reordering", "off"}, {"batch", "2"}});
}

TEST(ThreadsTrials, KnownTables) {
  for (std::uint64_t program = 0; program < 8; ++program) {
    Trial trial = generic_trial(program);
    const Signature signature = signature_of(trial);
    trial.run.protocol = "policy_table";
    for (auto& policy :
         {tables::occ(signature), tables::two_phase_locking_star(signature), tables::ic3(signature),
          tables::validating(signature, true), tables::reckless(signature)}) {
      trial.run.policy = policy;
      SCOPED_TRACE("program " + std::to_string(program) + ", " + policy->policy().name);
      expect_nothing(trial, open_restless);
    }
  }
}

TEST(ThreadsTrials, RandomTables) {
  std::uint64_t checked = 0;
  for (std::uint64_t seed = 0; seed < kTables || (checked <= kEnough && seed < 10 * kTables);
       ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Trial trial = generic_trial(seed);
    trial.run.protocol = "policy_table";
    trial.run.policy = tables::random(signature_of(trial), seed);
    checked +=
        seed % 2 == 0 ? expect_nothing(trial, open_session) : expect_nothing(trial, open_restless);
  }
  EXPECT_GT(checked, kEnough);
}

TEST(ThreadsTrials, SwitchingBetweenRandomTables) {
  for (const std::uint64_t program : {1U, 2U, 3U}) {
    SCOPED_TRACE("program " + std::to_string(program));
    Trial trial = generic_trial(program);
    const Signature signature = signature_of(trial);
    trial.run.protocol = "policy_table";
    trial.run.seconds = 4 * kSeconds;
    trial.switches = {tables::occ(signature), tables::reckless(signature), tables::ic3(signature)};
    for (std::uint64_t seed = 1000; seed < 1012; ++seed) {
      trial.switches.push_back(tables::random(signature, seed));
    }
    trial.run.policy = trial.switches.front();
    expect_nothing(trial, open_session);
    expect_nothing(trial, open_restless);
  }
}

}  // namespace
}  // namespace heddle::test
