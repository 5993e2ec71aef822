#pragma once

#include <cstddef>
#include <span>

#include "schedule/dispatching.h"
#include "schedule/makespan.h"

namespace heddle::schedule {

/// Full insertion, called NEH if the sequence is sorted by length (Nawaz, Enscore and Ham, Omega
/// 11(1), 1983; Cheng et al., VLDB 2024, §5.4.1): takes the transactions in the order of the
/// sequence, and inserts each where the makespan becomes least; of equal positions, the earliest.
///
/// It moves transactions placed before, so it does not suit transactions that already run. The cost
/// is cubic in their number.
/// @param proceed called with the number inserted; on false, the rest is appended in its present
///        order
[[nodiscard]] Order insert_each(const Problem& problem, std::span<const std::uint32_t> sequence,
                                const Proceed& proceed = always);

}  // namespace heddle::schedule
