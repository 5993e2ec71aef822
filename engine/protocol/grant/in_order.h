#pragma once

#include <cstdint>
#include <span>

#include "protocol/grant/policy.h"

namespace heddle::grant {

/// Grants the requests in an order, until one conflicts with those granted.
/// @param order positions in `decision.waiting`
inline void grant_in_order(Decision& decision, std::span<const std::uint32_t> order) {
  bool shared = decision.held;
  for (const std::uint32_t at : order) {
    const bool exclusive = decision.waiting[at].exclusive;
    if (exclusive && shared) return;
    decision.grant(at);
    if (exclusive) return;
    shared = true;
  }
}

}  // namespace heddle::grant
