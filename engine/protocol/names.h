#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The names of the protocols in protocol/registry.h, in its order.
[[nodiscard]] std::vector<std::string> protocol_names();
/// Whether a protocol executes policies.
[[nodiscard]] bool executes_policy(std::string_view protocol);

}  // namespace heddle
