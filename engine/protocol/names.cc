#include "protocol/names.h"

#include "protocol/registry.h"

namespace heddle {

std::vector<std::string> protocol_names() { return NamedProtocols::names(); }

std::string joined_protocol_names() { return NamedProtocols::joined_names(); }

bool executes_policy(std::string_view protocol) { return protocol == PolicyTable::kName; }

bool is_external(std::string_view protocol) { return protocol == External::kName; }

}  // namespace heddle
