#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/dispatching.h"
#include "schedule/makespan.h"

namespace heddle::schedule {

/// Shortest Makespan First (Cheng et al., VLDB 2024, §3.1): begins with a random transaction, then
/// repeatedly draws several of the rest and appends the one that adds least to the makespan; ties
/// are broken at random.
/// @param samples number drawn for each position; 0: all that remain, at quadratic cost
/// @param proceed see `dispatch`
[[nodiscard]] Order shortest_makespan_first(const Problem& problem, std::size_t samples,
                                            std::uint64_t seed, const Proceed& proceed = always);

}  // namespace heddle::schedule
