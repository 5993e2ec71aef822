#pragma once

#include <cstdint>

#include "model/options.h"

namespace heddle {

/// The options of the generic workload.
struct GenericOptions {
  std::uint64_t program = 1;        ///< from which the transaction types are drawn
  std::uint32_t types = 4;          ///< how many
  std::uint32_t accesses = 6;       ///< of each type, at most; some take two states
  std::uint32_t ordered_keys = 10;  ///< of the table with an ordered index
  std::uint32_t hash_keys = 5;      ///< of the one with a hash index
  std::uint32_t rollbacks = 5;      ///< percent of transactions that roll back at their end
  std::uint32_t churn = 0;   ///< percent of accesses that insert or delete, beside the others
  std::uint32_t audits = 0;  ///< percent that read a past state of everything
  /// One access in so many is preceded by a moment of thought, so that transactions meet in the
  /// middle of one another on few cores; 0: none is.
  std::uint32_t pauses = 0;

  static constexpr std::uint32_t kMostTypes = 16;
  static constexpr std::uint32_t kMostAccesses = 32;
  static constexpr std::uint32_t kMostKeys = 1'000'000;

  static GenericOptions parse(const OptionMap& map) {
    OptionReader reader("generic", map);
    const auto number = [&](const char* key, std::uint32_t fallback, std::int64_t lo,
                            std::int64_t hi) {
      return static_cast<std::uint32_t>(reader.integer(key, fallback, lo, hi));
    };
    GenericOptions options;
    options.program = static_cast<std::uint64_t>(reader.integer(
        "program", static_cast<std::int64_t>(options.program), 0, 1'000'000'000'000));
    options.types = number("types", options.types, 1, kMostTypes);
    options.accesses = number("accesses", options.accesses, 1, kMostAccesses);
    options.ordered_keys = number("ordered_keys", options.ordered_keys, 1, kMostKeys);
    options.hash_keys = number("hash_keys", options.hash_keys, 1, kMostKeys);
    options.rollbacks = number("rollbacks", options.rollbacks, 0, 100);
    options.churn = number("churn", options.churn, 0, 100);
    options.audits = number("audits", options.audits, 0, 100);
    options.pauses = number("pauses", options.pauses, 0, 1'000'000);
    reader.finish();
    return options;
  }
};

}  // namespace heddle
