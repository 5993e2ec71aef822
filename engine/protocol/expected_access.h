#pragma once

#include <cstdint>

namespace heddle {

/// A row that a transaction is expected to access, as its scheduler announces before it begins.
struct ExpectedAccess {
  std::uint64_t key = 0;   ///< word_of() its key
  std::uint8_t table = 0;  ///< its index in Storage::tables()
  bool writes = false;
};

}  // namespace heddle
