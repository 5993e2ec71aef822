#include "protocol/names.h"

#include "protocol/registry.h"

namespace heddle {

std::vector<std::string> protocol_names() { return Protocols::names(); }

std::string joined_protocol_names() { return Protocols::joined_names(); }

bool is_protocol(std::string_view name) {
  return Protocols::visit(name, [](auto) {});
}

bool executes_policy(std::string_view protocol) { return protocol == PolicyTable::kName; }

}  // namespace heddle
