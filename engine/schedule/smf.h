#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/dispatching.h"
#include "schedule/makespan.h"

namespace heddle::schedule {

/// Shortest Makespan First (Cheng et al., VLDB 2024, §3.1): begins with a random transaction, and
/// then appends, of so many drawn from the rest, the one that adds least to the makespan; of
/// equals, any.
/// @param samples how many are drawn for each place; 0: all that are left, which costs the square
/// @param proceed see `dispatch`
[[nodiscard]] Order shortest_makespan_first(const Problem& problem, std::size_t samples,
                                            std::uint64_t seed, const Proceed& proceed = always);

}  // namespace heddle::schedule
