#pragma once

#include <cstdint>

namespace heddle {

/// The state number of an access: the row of the policy table, counted through the whole workload.
using AccessId = std::uint16_t;

/// An access without a row in the table: always clean, always private.
inline constexpr AccessId kNoState = 0xffff;

}  // namespace heddle
