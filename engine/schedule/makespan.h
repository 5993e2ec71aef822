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

/// A batch under one protocol: the input of every scheduling policy.
struct Problem {
  Problem(const Batch& batch, Protocol rules);

  Protocol protocol;
  Touches touches;
};

/// The start of each transaction of an order, by its position in the order; from 1.
/// @param order of distinct transactions, not necessarily all
[[nodiscard]] std::vector<Slot> starts(const Problem& problem,
                                       std::span<const std::uint32_t> order);

/// The end of the last transaction: the length of the schedule.
[[nodiscard]] Slot makespan(const Problem& problem, std::span<const std::uint32_t> order);

}  // namespace heddle::schedule
