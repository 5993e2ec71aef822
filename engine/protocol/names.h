#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// The names of the protocols in protocol/registry.h, in its order.
[[nodiscard]] std::vector<std::string> protocol_names();
/// The same in one text, for messages.
[[nodiscard]] std::string joined_protocol_names();
/// Whether a protocol executes policies.
[[nodiscard]] bool executes_policy(std::string_view protocol);
/// Whether a protocol's transactions block their threads.
[[nodiscard]] bool is_external(std::string_view protocol);

}  // namespace heddle
