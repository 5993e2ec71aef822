#include "machine/threads.h"
#include "protocol/start.h"

namespace heddle {
template std::unique_ptr<ProtocolRun<ThreadsMachine>> start_protocol<ThreadsMachine>(
    std::string_view name, const RunSetup<ThreadsMachine>& setup);
}  // namespace heddle
