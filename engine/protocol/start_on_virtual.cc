#include "machine/virtual.h"
#include "protocol/start.h"

namespace heddle {
template std::unique_ptr<ProtocolRun<VirtualMachine>> start_protocol<VirtualMachine>(
    std::string_view name, const RunSetup<VirtualMachine>& setup);
}  // namespace heddle
