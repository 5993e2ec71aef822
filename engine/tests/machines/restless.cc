#include "machines/restless.h"

#include "driver/machine_session.h"
#include "driver/workload_database.h"
#include "protocol/start.h"
#include "workload/generic.h"

namespace heddle {

template std::unique_ptr<ProtocolRun<test::RestlessMachine>> start_protocol<test::RestlessMachine>(
    std::string_view name, const RunSetup<test::RestlessMachine>& setup);

namespace test {

std::unique_ptr<Session> open_restless(const OptionMap& workload, int workers, std::uint64_t seed,
                                       const MachineOptions& machine) {
  using M = RestlessMachine;
  // No protocol of its own: a recorded run goes through the observed attempts.
  using Opened = WorkloadDatabase<M, Generic<M>, Registry<>>;
  return make_session<M>(std::make_shared<Opened>(without_workload_name(workload), workers),
                         workload, workers, seed, machine);
}

}  // namespace test

}  // namespace heddle
