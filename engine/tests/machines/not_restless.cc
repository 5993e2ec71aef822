#include "driver/session.h"
#include "machines/restless.h"

namespace heddle::test {

/// For the thread sanitizer, which finds a race whether or not a delay separates the accesses. The
/// protocols need not be compiled again for one more machine.
std::unique_ptr<Session> open_restless(const OptionMap& workload, int workers, std::uint64_t seed,
                                       const MachineOptions& machine) {
  return open_session(workload, workers, seed, machine);
}

}  // namespace heddle::test
