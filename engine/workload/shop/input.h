#pragma once

#include <cstdint>

#include "workload/shop/schema.h"
#include "workload/shop/states.h"

namespace heddle::shop {

/// A request of the trace, in a round.
struct Input {
  RequestId request;
  std::uint64_t visit;      ///< a session in a round: whose cart
  std::uint64_t placed_us;  ///< after the beginning of the trace's part
  std::uint32_t product;
  Type type;
  bool rolls_back;  ///< it ended by its own wish
};

}  // namespace heddle::shop
