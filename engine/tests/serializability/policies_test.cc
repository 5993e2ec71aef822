#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "protocol/policy_table.h"
#include "serializability/harness.h"
#include "serializability/restless_machine.h"
#include "tables.h"

namespace heddle::serializability {
namespace {

Signature signature() { return HotRows<ThreadsMachine>::signature({}); }

void run_all_ways(const tables::Compiled& policy) {
  for (const int workers : {2, 4}) {
    SCOPED_TRACE(policy->policy().name + ", workers " + std::to_string(workers));
    Plan plan;
    plan.workers = workers;
    plan.policy = policy;
    expect_serializable<SteadyMachine, PolicyTable>(plan);
    plan.rows.snapshots = workers == 2;
    expect_serializable<RestlessMachine, PolicyTable>(plan);
  }
}

TEST(SerializabilityOfPolicies, Occ) { run_all_ways(tables::occ(signature())); }

TEST(SerializabilityOfPolicies, ValidatingAtTheEnd) {
  run_all_ways(tables::validating(signature(), false));
}

/// Little is validated again just before the commit, so the final validation finds it changed.
TEST(SerializabilityOfPolicies, ValidatingEverywhere) {
  run_all_ways(tables::validating(signature(), true));
}

TEST(SerializabilityOfPolicies, TwoPhaseLockingStar) {
  run_all_ways(tables::two_phase_locking_star(signature()));
}

TEST(SerializabilityOfPolicies, Ic3) { run_all_ways(tables::ic3(signature())); }

TEST(SerializabilityOfPolicies, Reckless) { run_all_ways(tables::reckless(signature())); }

/// One table a seed; workers, machine and snapshots in turn, so that a batch has them all.
void run_random_tables(std::uint64_t first, std::uint64_t count) {
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    SCOPED_TRACE("tables::random, seed " + std::to_string(seed));
    Plan plan;
    plan.seed = seed;
    plan.policy = tables::random(signature(), seed);
    plan.workers = seed % 2 == 0 ? 2 : 4;
    plan.rows.snapshots = seed % 8 == 3;
    plan.rows.pauses = seed % 3 == 0 ? 0 : 16;
    if (seed % 4 < 2) {
      expect_serializable<SteadyMachine, PolicyTable>(plan);
    } else {
      expect_serializable<RestlessMachine, PolicyTable>(plan);
    }
  }
}

constexpr std::uint64_t kBatch = 12;

TEST(SerializabilityOfPolicies, RandomTables0) { run_random_tables(0 * kBatch, kBatch); }
TEST(SerializabilityOfPolicies, RandomTables1) { run_random_tables(1 * kBatch, kBatch); }
TEST(SerializabilityOfPolicies, RandomTables2) { run_random_tables(2 * kBatch, kBatch); }
TEST(SerializabilityOfPolicies, RandomTables3) { run_random_tables(3 * kBatch, kBatch); }

TEST(SerializabilityOfPolicies, SwitchingBetweenRandomTables) {
  Plan plan;
  plan.seconds = 0.6;
  plan.switches = {tables::occ(signature()), tables::reckless(signature()),
                   tables::ic3(signature()), tables::two_phase_locking_star(signature()),
                   tables::validating(signature(), true)};
  for (std::uint64_t seed = 1000; seed < 1016; ++seed) {
    plan.switches.push_back(tables::random(signature(), seed));
  }
  plan.policy = plan.switches.front();
  for (const int workers : {2, 4}) {
    plan.workers = workers;
    expect_serializable<SteadyMachine, PolicyTable>(plan);
    expect_serializable<RestlessMachine, PolicyTable>(plan);
  }
}

}  // namespace
}  // namespace heddle::serializability
