#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "killed/killed_run.h"
#include "killed/test_of_run.h"
#include "scale.h"

/// Fifty runs that are killed at random moments.
namespace heddle::killed {
namespace {

class ManyKilledRuns : public testing::TestWithParam<std::string> {};

TEST_P(ManyKilledRuns, LoseNothingThatWasAcknowledged) {
  constexpr std::uint64_t kRunsOfAStore = 10;
  for (std::uint64_t number = 0; number < test::scaled(kRunsOfAStore); ++number) {
    SCOPED_TRACE("run " + std::to_string(number));
    expect_no_faults(draw(GetParam(), number));
    if (IsSkipped()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ManyKilledRuns, testing::ValuesIn(durable_stores()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace heddle::killed
