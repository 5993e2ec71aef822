#include "protocol/names.h"

#include "protocol/registry.h"

namespace heddle {

std::vector<std::string> protocol_names() { return Protocols::names(); }

bool executes_policy(std::string_view protocol) { return protocol == PolicyTable::kName; }

}  // namespace heddle
