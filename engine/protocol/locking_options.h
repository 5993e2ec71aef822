#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/options.h"
#include "model/signature.h"
#include "protocol/grant/policy.h"
#include "protocol/lock_table.h"

namespace heddle {

/// The options of two_phase_locking.
struct LockingOptions {
  ConflictRule rule = ConflictRule::wait_die;
  std::string grant = "fifo";
  grant::Options policy = {};
  /// Of the data, each of which is locked or validated (protocol/partition_modes.h); 0: all records
  /// are locked.
  std::size_t partitions = 0;
  std::uint64_t span = 384;  ///< measured transactions of a partition between two decisions

  /// Declares each option and reads its value.
  /// @throws std::invalid_argument for a value that would have no effect
  void read(OptionReader& reader);

  /// @throws std::invalid_argument for an option or value that does not exist, or has no effect
  [[nodiscard]] static LockingOptions parse(const OptionMap& options);
  /// The same, for a workload.
  /// @throws std::invalid_argument also if the ranks are not those of its transaction types
  [[nodiscard]] static LockingOptions parse(const OptionMap& options, const Signature& signature);
};

}  // namespace heddle
