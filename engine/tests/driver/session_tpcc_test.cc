#include <memory>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "driver/session.h"
#include "driver/session_runs.h"
#include "driver/switching.h"

namespace heddle {
namespace {

std::unique_ptr<Session> open_tpcc(int warehouses, const std::string& mix, int workers,
                                   const OptionMap& more = {}) {
  OptionMap options{{"name", "tpcc"}, {"warehouses", std::to_string(warehouses)}, {"mix", mix}};
  options.insert(more.begin(), more.end());
  return open_session(options, workers, 1);
}

// Populating a database takes the thread sanitizer a quarter of a minute, and the full mix on many
// workers, below, has these types and orders in it.
#if !defined(__SANITIZE_THREAD__)
void expect_consistent_every_way(int warehouses, const std::string& mix, int workers,
                                 const OptionMap& more = {}) {
  const auto session = open_tpcc(warehouses, mix, workers, more);
  session_runs::expect_consistent(*session, session_runs::all_ways(session->signature()), 0.05);
}

TEST(SessionTpcc, StaysConsistentOnOneWarehouse) {
  expect_consistent_every_way(1, "read_write", 2);
}

TEST(SessionTpcc, StaysConsistentWithManyWorkersOnOneWarehouse) {
  expect_consistent_every_way(1, "read_write", 8);
}

TEST(SessionTpcc, StaysConsistentWithQueries) { expect_consistent_every_way(2, "full", 2); }

TEST(SessionTpcc, StaysConsistentWithAnalyticalQueries) {
  expect_consistent_every_way(
      2, "full", 2,
      {{"analytical", "1"}, {"analytical_warehouses", "2"}, {"analytical_orders", "20"}});
}
#endif

/// One database for several tests.
class CrowdedTpcc : public testing::Test {
 protected:
  static void SetUpTestSuite() { session = open_tpcc(1, "full", 8); }
  static void TearDownTestSuite() { session.reset(); }
  static inline std::unique_ptr<Session> session;
};

TEST_F(CrowdedTpcc, StaysConsistent) {
  session_runs::expect_consistent(*session, session_runs::all_ways(session->signature()), 0.05);
}

TEST_F(CrowdedTpcc, StaysConsistentWhereTheKernelPreemptsAnywhere) {
  std::vector<session_runs::Way> ways = session_runs::all_ways(session->signature());
  for (session_runs::Way& way : ways) way.options.take_turns = false;
  session_runs::expect_consistent(*session, ways, 0.05);
}

TEST_F(CrowdedTpcc, StaysConsistentWhilePoliciesSwitch) {
  session_runs::expect_consistent_while_switching(*session);
}

/// Whatever the table says, no type starves.
TEST_F(CrowdedTpcc, EveryTypeKeepsCommitting) {
  const Signature& signature = session->signature();
  std::vector<session_runs::Way> ways = session_runs::seed_tables(signature);
  for (auto& way : session_runs::random_tables(signature, test::scaled(2))) ways.push_back(way);
  for (session_runs::Way& way : ways) {
    SCOPED_TRACE(way.name);
    way.options.seconds = test::scaled_seconds(0.1);
    const Result result =
        session_runs::run_until(session_runs::all_types_commit, *session, way.options);
    ASSERT_EQ(result.types.size(), 5u);
    for (const TypeResult& type : result.types) EXPECT_GT(type.commits, 0u) << type.name;
  }
}

}  // namespace
}  // namespace heddle
