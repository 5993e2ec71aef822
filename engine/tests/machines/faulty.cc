#include "machines/faulty.h"

#include "driver/machine_session.h"
#include "driver/workload_database.h"
#include "protocol/start.h"
#include "workload/generic.h"

namespace heddle {

template std::unique_ptr<ProtocolRun<test::FaultyMachine>> start_protocol<test::FaultyMachine>(
    std::string_view name, const RunSetup<test::FaultyMachine>& setup);

namespace test {

// No protocol of its own: a recorded run goes through the observed attempts.
using Opened = WorkloadDatabase<FaultyMachine, Generic<FaultyMachine>, Registry<>>;

std::unique_ptr<Database<FaultyMachine>> make_faulty_database(const OptionMap& options,
                                                              int workers) {
  return std::make_unique<Opened>(options, workers);
}

std::unique_ptr<Session> open_faulty(const OptionMap& workload, int workers, std::uint64_t seed,
                                     const MachineOptions& machine) {
  return make_session<FaultyMachine>(make_faulty_database(without_workload_name(workload), workers),
                                     workload, workers, seed, machine);
}

}  // namespace test

}  // namespace heddle
