#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "driver/session.h"
#include "model/signature.h"

namespace heddle {

/// The conditions, besides the options themselves, that decide which options a run may have.
struct RunGround {
  std::string_view workload;
  const Signature& signature;
  bool has_hints;          ///< transactions of the workload pass hints
  bool hints_optional;     ///< they do with the workload's option `hints`
  bool samples_timelines;  ///< the machine can record a part of a run
  bool single_threaded;    ///< the machine runs all workers in one thread
};

/// @throws std::invalid_argument naming the invalid option and the valid values
void validate(const RunOptions& options, const RunGround& ground);

/// By type, whether a timeline has any of its accesses.
[[nodiscard]] std::vector<bool> types_with_recorded_accesses(const RunOptions& options,
                                                             const Signature& signature);

/// The length of an interval in microseconds; 0 if that is not a whole number.
[[nodiscard]] std::uint64_t interval_us(const RunOptions& options);

/// The polling period of a run whose intervals are to end on time: the longest period, up to
/// `usual`, that divides an interval.
[[nodiscard]] std::uint64_t poll_us(const RunOptions& options, std::uint64_t usual);

}  // namespace heddle
