#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"

/// Sessions of TPC-E on real cores.
namespace heddle {
namespace {

const OptionMap kTpce{
    {"name", "tpce"}, {"customers", "100"}, {"trade_days", "1"}, {"market_orders", "30"}};

OptionMap full_mix() {
  OptionMap options = kTpce;
  options["mix"] = "full";
  options["theta"] = "0";
  return options;
}

void expect_consistent_every_way(int workers, const OptionMap& options = kTpce) {
  const auto session = open_session(options, workers, 1);
  session_runs::expect_consistent(*session, session_runs::all_ways(session->signature()), 0.03);
}

TEST(SessionTpce, StaysConsistent) { expect_consistent_every_way(2); }
TEST(SessionTpce, StaysConsistentWithManyWorkers) { expect_consistent_every_way(8); }

TEST(SessionTpce, FullMixStaysConsistent) { expect_consistent_every_way(4, full_mix()); }

}  // namespace
}  // namespace heddle
