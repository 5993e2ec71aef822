#include <cstddef>
#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "check/trial.h"
#include "scale.h"
#include "store/opened_stores.h"

/// Trials of random transaction types in external stores, and in one with a seeded fault.
namespace heddle::test {
namespace {

Trial trial_in(const std::string& store, std::uint64_t program) {
  Trial trial;
  trial.workload = {{"name", "generic"}, {"program", std::to_string(program)},
                    {"types", "6"},      {"churn", program % 2 == 0 ? "50" : "0"},
                    {"rollbacks", "10"}, {"audits", program % 3 == 0 ? "5" : "0"}};
  trial.seed = program;
  trial.run.protocol = "external";
  trial.run.protocol_options = {{"store", store},
                                {"durability", "off"},
                                {"begin", program % 2 == 0 ? "immediate" : "deferred"}};
  trial.run.seconds = scaled_seconds(0.05);
  return trial;
}

Verdict verdict_on(const Trial& trial) {
  return run_trial(trial, [] { return false; });
}

class ExternalTrials : public testing::TestWithParam<std::string> {};

TEST_P(ExternalTrials, AreSerializable) {
  store::test::add_test_stores();
  if (const auto why = store::test::why_missing(GetParam())) GTEST_SKIP() << *why;
  std::uint64_t checked = 0;
  for (std::uint64_t program = 0; program < scaled(10); ++program) {
    SCOPED_TRACE("program " + std::to_string(program));
    const Verdict verdict = verdict_on(trial_in(GetParam(), program));
    for (const std::string& finding : verdict.findings) ADD_FAILURE() << finding;
    checked += verdict.report.transactions;
  }
  EXPECT_GT(checked, 0U);
}

#if defined(__SANITIZE_THREAD__)  // see store/connection_test.cc
INSTANTIATE_TEST_SUITE_P(Stores, ExternalTrials, testing::Values("map"),
                         [](const auto& test) { return test.param; });
#else
INSTANTIATE_TEST_SUITE_P(Stores, ExternalTrials, testing::Values("map", "sqlite"),
                         [](const auto& test) { return test.param; });
#endif

/// A store whose reads are outside of its transactions.
TEST(ExternalFaults, AreFound) {
  store::test::add_test_stores();
  std::uint64_t found = 0;
  for (std::uint64_t program = 0; program < 40 && found == 0; ++program) {
    found = verdict_on(trial_in("outside", program)).report.anomalies.size();
  }
  EXPECT_GT(found, 0U);
}

}  // namespace
}  // namespace heddle::test
