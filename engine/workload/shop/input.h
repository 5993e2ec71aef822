#pragma once

#include <cstdint>

#include "workload/shop/schema.h"
#include "workload/shop/states.h"

namespace heddle::shop {

/// A request of the trace, in a round.
struct Input {
  RequestId request;
  std::uint64_t visit;      ///< a session in a round; it has one cart
  std::uint64_t placed_us;  ///< after the start of the trace's part
  std::uint32_t product;
  Type type;
  bool rolls_back;  ///< it rolled back in the trace
};

}  // namespace heddle::shop
