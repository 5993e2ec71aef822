#include "driver/machine_session.h"
#include "machine/threads.h"

namespace heddle {
template std::unique_ptr<Session> make_session<ThreadsMachine>(
    std::shared_ptr<Database<ThreadsMachine>>, const OptionMap&, int, std::uint64_t,
    const MachineOptions&);
}  // namespace heddle
