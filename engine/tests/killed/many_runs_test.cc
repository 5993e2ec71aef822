#include <cstdint>
#include <string>
#include <utility>

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

/// The watchdog of the run finds a server that says nothing.
TEST(ManyKilledRuns, EndWhenTheServerIsSilent) {
  constexpr double kAfterMs = 50;
  for (const auto& [store, victim] : {std::pair{"postgresql", Victim::silent_server},
                                      std::pair{"postgresql", Victim::silent_session},
                                      std::pair{"mariadb", Victim::silent_server}}) {
    expect_no_faults({.store = store, .victim = victim, .watchdog_s = 5, .after_ms = kAfterMs});
  }
}

INSTANTIATE_TEST_SUITE_P(Stores, ManyKilledRuns, testing::ValuesIn(durable_stores()),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace heddle::killed
