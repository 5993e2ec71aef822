#include <cstdint>
#include <string>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "workload/shop_program.h"

/// Sessions of the shop: many visitors request the same few products.
namespace heddle {
namespace {

void expect_consistent_every_way(int workers, std::uint32_t products, OptionMap options) {
  const test::ProgramFile file = test::busy_shop_program(products, 64);
  options["name"] = "shop";
  options["program"] = file.path();
  const auto session = open_session(options, workers, 1);
  session_runs::expect_consistent(*session, session_runs::all_ways(session->signature()), 0.03);
}

TEST(SessionShop, StaysConsistent) { expect_consistent_every_way(2, 5, {}); }
TEST(SessionShop, StaysConsistentWithManyWorkers) {
  expect_consistent_every_way(8, 5, {{"initial_stock", "1"}});
}
TEST(SessionShop, StaysConsistentWhereAProductIsBought) {
  expect_consistent_every_way(4, 3, {{"checkout", "product"}});
}

}  // namespace
}  // namespace heddle
