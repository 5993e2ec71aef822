#pragma once

#include <cstdint>

namespace heddle {

/// The number of an access's state: its row of the policy table, counted over all types of the
/// workload.
using AccessId = std::uint16_t;

/// An access without a row in the policy table: always a clean read or a private write.
inline constexpr AccessId kNoState = 0xffff;

}  // namespace heddle
