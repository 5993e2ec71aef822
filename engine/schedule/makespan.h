#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/batch.h"
#include "schedule/protocol.h"
#include "schedule/touches.h"

namespace heddle::schedule {

/// Indexes of transactions in the order in which they are placed.
using Order = std::vector<std::uint32_t>;

/// A batch under one protocol: what every scheduling policy works on.
struct Problem {
  Problem(const Batch& batch, Protocol rules);

  Protocol protocol;
  Touches touches;
};

/// When each transaction of an order starts, by its place in the order; from 1.
/// @param order of distinct transactions, not necessarily all
[[nodiscard]] std::vector<Slot> starts(const Problem& problem,
                                       std::span<const std::uint32_t> order);

/// When the last of them has ended: how long the schedule takes.
[[nodiscard]] Slot makespan(const Problem& problem, std::span<const std::uint32_t> order);

}  // namespace heddle::schedule
