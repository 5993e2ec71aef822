#pragma once

#include <map>
#include <string>

#include "protocol/grant/policy.h"
#include "protocol/lock_table.h"

namespace heddle {

/// The options of two_phase_locking.
struct LockingOptions {
  ConflictRule rule = ConflictRule::wait_die;  ///< conflict=
  std::string grant = "fifo";                  ///< grant=, with `detect`
  grant::Options policy = {};                  ///< dependency= and delay=, where grant= uses them
};

/// @throws std::invalid_argument for an option or value that does not exist, or has no effect
[[nodiscard]] LockingOptions locking_options(const std::map<std::string, std::string>& options);

}  // namespace heddle
