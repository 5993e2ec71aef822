#pragma once

#include <cstdint>

#include "model/options.h"

namespace heddle {

/// The options of the generic workload.
struct GenericOptions {
  std::uint64_t program = 1;
  std::uint32_t types = 4;
  std::uint32_t accesses = 6;
  std::uint32_t ordered_keys = 10;
  std::uint32_t hash_keys = 5;
  std::uint32_t rollbacks = 5;
  std::uint32_t churn = 0;
  std::uint32_t audits = 0;
  /// Pauses make transactions overlap on few cores.
  std::uint32_t pauses = 0;

  static constexpr std::uint32_t kMostTypes = 16;
  static constexpr std::uint32_t kMostAccesses = 32;
  static constexpr std::uint32_t kMostKeys = 1'000'000;

  void read(OptionReader& reader) {
    reader.integer("program", program, 0, 1'000'000'000'000,
                   "seed from which the transaction types are drawn");
    reader.integer("types", types, 1, kMostTypes, "number of transaction types");
    reader.integer("accesses", accesses, 1, kMostAccesses,
                   "most accesses of a type; some accesses have two states");
    reader.integer("ordered_keys", ordered_keys, 1, kMostKeys,
                   "keys of the table with an ordered index");
    reader.integer("hash_keys", hash_keys, 1, kMostKeys, "keys of the table with a hash index");
    reader.integer("rollbacks", rollbacks, 0, 100,
                   "transactions that roll back at their end, percent");
    reader.integer("churn", churn, 0, 100,
                   "accesses that insert or delete, in addition to those drawn, percent");
    reader.integer("audits", audits, 0, 100,
                   "transactions that read a past state of all rows, percent");
    reader.integer("pauses", pauses, 0, 1'000'000,
                   "one access in this number follows a pause; 0: none does");
  }

  static GenericOptions parse(const OptionMap& map) {
    OptionReader reader("generic", map);
    return read_options<GenericOptions>(reader);
  }
};

}  // namespace heddle
