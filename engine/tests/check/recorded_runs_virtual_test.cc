#include <cstdint>
#include <cstdio>
#include <string>

#include <gtest/gtest.h>

#include "check/trial_on_copy.h"
#include "driver/session.h"
#include "scale.h"
#include "tables.h"
#include "workload/shop_program.h"

/// Every workload under every protocol on virtual cores, recorded and checked.
namespace heddle::test {
namespace {

const std::uint64_t kTables = scaled(4);

/// Runs a trial under each protocol, known table and some random ones, each on a copy of one
/// database.
void run_all_ways(const Trial& trial) {
  const auto session = open_session(trial.workload, 8, trial.seed, {.kind = "virtual"});
  const Signature& signature = session->signature();
  std::uint64_t checked = 0;
  std::uint64_t operations = 0;
  const auto run = [&](RunOptions options) {
    options.seconds = trial.run.seconds;
    const CopiedVerdict verdict = trial_on_copy(*session, options, trial.seed);
    EXPECT_EQ(verdict.findings, "");
    EXPECT_GT(verdict.committed, 100U);
    checked += verdict.transactions;
    operations += verdict.operations;
  };
  run({.protocol = "silo"});
  run({.protocol = "two_phase_locking"});
  run({.protocol = "mvto"});
  for (const auto& policy : {tables::occ(signature), tables::two_phase_locking_star(signature),
                             tables::ic3(signature), tables::reckless(signature)}) {
    run({.protocol = "policy_table", .policy = policy});
  }
  for (std::uint64_t seed = 0; seed < kTables; ++seed) {
    SCOPED_TRACE("tables::random, seed " + std::to_string(seed));
    run({.protocol = "policy_table", .policy = tables::random(signature, seed)});
  }
  std::printf("%lu transactions, %lu operations\n", checked, operations);
}

TEST(RecordedRuns, Generic) {
  run_all_ways({.workload = {{"name", "generic"}, {"types", "6"}, {"audits", "2"}},
                .run = {.seconds = 0.002}});
}

TEST(RecordedRuns, Tpcc) {
  run_all_ways({.workload = {{"name", "tpcc"}, {"mix", "full"}}, .run = {.seconds = 0.004}});
}

/// Reads of thousands of rows in one transaction, which conflict with every other type.
TEST(RecordedRuns, TpccWithAnalyticalQueries) {
  run_all_ways({.workload = {{"name", "tpcc"},
                             {"mix", "full"},
                             {"analytical", "1"},
                             {"analytical_orders", "20"}},
                .run = {.seconds = 0.004}});
}

TEST(RecordedRuns, Tpce) {
  run_all_ways({.workload = {{"name", "tpce"},
                             {"customers", "100"},
                             {"trade_days", "1"},
                             {"market_orders", "30"}},
                .run = {.seconds = 0.001}});
}

TEST(RecordedRuns, Ycsb) {
  run_all_ways({.workload = {{"name", "ycsb"},
                             {"index", "ordered"},
                             {"records", "1000"},
                             {"read", "40"},
                             {"rmw", "30"},
                             {"scan", "10"},
                             {"insert", "10"},
                             {"delete", "10"}},
                .run = {.seconds = 0.002}});
}

TEST(RecordedRuns, Micro) {
  run_all_ways({.workload = {{"name", "micro"}, {"records", "1000"}, {"own_records", "1000"}},
                .run = {.seconds = 0.001}});
}

TEST(RecordedRuns, Shop) {
  const ProgramFile file = busy_shop_program(5, 64);
  for (const char* checkout : {"cart", "product"}) {
    run_all_ways({.workload = {{"name", "shop"}, {"program", file.path()}, {"checkout", checkout}},
                  .run = {.seconds = 0.0005}});
  }
}

/// Few rows, so that everything conflicts; read-only types, together with the others and on
/// snapshots.
void run_with_reads(OptionMap workload, double seconds) {
  for (const char* reads : {"latest", "snapshot"}) {
    SCOPED_TRACE(reads);
    workload["reads"] = reads;
    run_all_ways({.workload = workload, .run = {.seconds = seconds}});
  }
}

TEST(RecordedRuns, SmallBank) {
  run_with_reads({{"name", "smallbank"}, {"accounts", "40"}, {"hot_accounts", "4"}}, 0.0005);
}

TEST(RecordedRuns, Tpcb) {
  run_all_ways({.workload = {{"name", "tpcb"}, {"branches", "2"}, {"accounts", "20"}},
                .run = {.seconds = 0.0005}});
}

TEST(RecordedRuns, Bomb) {
  run_all_ways({.workload = {{"name", "bomb"},
                             {"factories", "2"},
                             {"products", "2"},
                             {"materials", "64"},
                             {"trees", "16"},
                             {"product_trees", "2"},
                             {"tree_items", "3"},
                             {"item_materials", "2"}},
                .run = {.seconds = 0.0005}});
}

TEST(RecordedRuns, Epinions) {
  run_with_reads({{"name", "epinions"},
                  {"users", "30"},
                  {"items", "15"},
                  {"reviews", "10"},
                  {"trusted", "10"}},
                 0.0005);
}

TEST(RecordedRuns, TaoBench) {
  run_with_reads({{"name", "taobench"}, {"objects", "40"}, {"writes", "50"}}, 0.001);
}

}  // namespace
}  // namespace heddle::test
