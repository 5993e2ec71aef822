#include "driver/machine_session.h"
#include "machine/virtual.h"

namespace heddle {
template std::unique_ptr<Session> make_session<VirtualMachine>(
    std::shared_ptr<Database<VirtualMachine>>, const OptionMap&, int, std::uint64_t,
    const MachineOptions&);
}  // namespace heddle
