#pragma once

#include <cstdint>

namespace heddle {

/// The time of a transaction's first attempt; kept over its retries, so that it becomes the oldest
/// and wins.
struct LockAge {
  std::uint64_t began = 0;
  int worker = 0;
  auto operator<=>(const LockAge&) const = default;
};

}  // namespace heddle
