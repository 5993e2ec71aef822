#pragma once

#include <cstddef>
#include <span>

#include "schedule/dispatching.h"
#include "schedule/makespan.h"

namespace heddle::schedule {

/// Full insertion, what is called NEH where the sequence is sorted by length (Nawaz, Enscore and
/// Ham, Omega 11(1), 1983; Cheng et al., VLDB 2024, §5.4.1): takes the transactions as the sequence
/// has them, and inserts each where the makespan becomes least; of equal places, the earliest.
///
/// It moves what it placed before, so it is none for transactions that run already. Costs the cube
/// of their number.
/// @param proceed asked with the number inserted; on false, the rest is appended as it comes
[[nodiscard]] Order insert_each(const Problem& problem, std::span<const std::uint32_t> sequence,
                                const Proceed& proceed = always);

}  // namespace heddle::schedule
