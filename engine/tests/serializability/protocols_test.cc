#include <string>

#include <gtest/gtest.h>

#include "protocol/silo.h"
#include "protocol/two_phase_locking.h"
#include "serializability/harness.h"
#include "serializability/restless_machine.h"

namespace heddle::serializability {
namespace {

/// Two workers, four that the kernel preempts anywhere, four that take turns, a crowd; rows kept
/// for readers of the past and not; on a machine that dawdles and one that does not.
template <class P>
void run_all_ways(const Plan& base) {
  for (const int workers : {2, 4}) {
    for (const bool snapshots : {false, true}) {
      SCOPED_TRACE("workers " + std::to_string(workers) + ", snapshots " +
                   std::to_string(snapshots));
      Plan plan = base;
      plan.workers = workers;
      plan.rows.snapshots = snapshots;
      expect_serializable<SteadyMachine, P>(plan);
      expect_serializable<RestlessMachine, P>(plan);
    }
  }
  Plan turns = base;
  turns.workers = 4;
  turns.take_turns = true;
  expect_serializable<SteadyMachine, P>(turns);
  Plan crowd = base;
  crowd.workers = 8;
  crowd.seconds *= 2;
  expect_serializable<RestlessMachine, P>(crowd);
}

TEST(SerializabilityOfProtocols, Silo) { run_all_ways<Silo>({}); }

TEST(SerializabilityOfProtocols, TwoPhaseLockingWaitDie) { run_all_ways<TwoPhaseLocking>({}); }

TEST(SerializabilityOfProtocols, TwoPhaseLockingNoWait) {
  Plan plan;
  plan.protocol_options = {{"conflict", "no_wait"}};
  run_all_ways<TwoPhaseLocking>(plan);
}

/// Long enough for a snapshot to be taken while rows change.
TEST(SerializabilityOfProtocols, ReadersOfThePast) {
  Plan plan;
  plan.rows.snapshots = true;
  plan.seconds = 1.2;
  plan.rows.pauses = 4;
  plan.most_transactions = 100'000;
  expect_serializable<SteadyMachine, Silo>(plan);
}

}  // namespace
}  // namespace heddle::serializability
