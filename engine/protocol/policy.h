#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "model/signature.h"

namespace heddle {

/// One row of the CC policy: the actions at one state (Polyjuice, OSDI 2021, §4.3).
struct PolicyRow {
  /// Per type: the number of its accesses that a dependency must have finished before this access;
  /// 0 = NO_WAIT, the type's access count + 1 = COMMIT (until it has committed or aborted).
  std::vector<std::uint16_t> wait;
  bool dirty_read = false;
  bool public_write = false;
  bool early_validation = false;

  bool operator==(const PolicyRow&) const = default;
};

/// One type's rows of the backoff policy (§4.5): alpha by prior aborted attempts 0, 1, 2 and more.
struct BackoffRow {
  double initial_us = 0.125;
  std::array<double, 3> abort{};
  std::array<double, 3> commit{};

  bool operator==(const BackoffRow&) const = default;
};

/// A policy: the CC table and the backoff table for the workload with this signature, or another
/// protocol in place of the CC table.
struct Policy {
  std::string name;
  Signature signature;
  std::vector<PolicyRow> rows;      ///< one per state
  std::vector<BackoffRow> backoff;  ///< one per type
  /// The protocol that runs instead of the CC table; empty: the table.
  std::string protocol;
  std::map<std::string, std::string> protocol_options;
  std::string schedule_json = "null";
  std::string provenance_json = "{}";
};

/// The values a backoff cell may take.
inline constexpr std::array kBackoffAlphas{0.0, 0.5, 1.0, 2.0, 4.0};
inline constexpr std::array kBackoffInitialsUs{0.125, 0.5,  1.0,   2.0,   4.0,   8.0,   16.0,
                                               32.0,  64.0, 128.0, 256.0, 512.0, 1024.0};

}  // namespace heddle
