#pragma once

#include <cstdint>
#include <string_view>

#include "driver/session.h"
#include "model/signature.h"

namespace heddle {

/// What decides which options a run may have, besides the options.
struct RunGround {
  std::string_view workload;
  const Signature& signature;
  bool has_hints;          ///< transactions of the workload pass hints
  bool records_timelines;  ///< the machine does
  bool single_threaded;    ///< the machine is
};

/// @throws std::invalid_argument naming the option at fault and what is valid
void validate(const RunOptions& options, const RunGround& ground);

/// How long an interval is, in microseconds; 0 if that is no whole number.
[[nodiscard]] std::uint64_t interval_us(const RunOptions& options);

/// How often a run is polled whose intervals are to end on time: the longest time between two
/// polls, up to what is usual, that divides an interval.
[[nodiscard]] std::uint64_t poll_us(const RunOptions& options, std::uint64_t usual);

}  // namespace heddle
