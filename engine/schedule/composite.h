#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/dispatching.h"
#include "schedule/makespan.h"

namespace heddle::schedule {

/// The weights of the composite dispatching rule, relative to a candidate's own start.
struct CompositeWeights {
  double delay = 1;     ///< of the mean delay that it imposes on the waiting transactions
  double work = 8;      ///< of the work per waiting transaction that is still queued for its keys
  double length = 0.1;  ///< of the candidate's own length
  double bound = 0.5;   ///< of the increase of the least makespan by its writes
};

/// A composite dispatching rule as used in job shops (Pinedo, "Scheduling", §14.2). Like SMF it
/// considers a few of the waiting transactions and appends one, so that placed transactions never
/// move; but it also considers the transactions that the choice delays. It appends the one for
/// which
///
///     start + delay · (mean delay imposed) − work · (queued work of its keys) − length · (its own)
///           + bound · (what its writes add to the least makespan)
///
/// is least, all of them in slots:
///
/// - The start is the earliest that the schedule allows, so that no gap is left that can be filled.
/// - The delay imposed is, for each key, by how much its waiting readers and writers would have to
///   start later, counted from the present start of transactions (a fading average), divided by the
///   size of the batch. It keeps readers of a hot key together, before its writers.
/// - The queued work is the slots for which the waiting writers of its keys will need them, also
///   divided by the size of the batch. It begins the longest chains first.
/// - Its own length begins long transactions first, so that none is left for the end.
/// - The least makespan is the latest time, over the keys, at which the writers that wait for a key
///   would release it if they followed each other without a gap. A gap in the longest queue delays
///   the end; a gap elsewhere may have no effect.
///
/// @param samples number drawn for each position; 0: all that remain, at quadratic cost
/// @param weights 0 or more: a negative weight would prefer what it measures, and a bound that cuts
///        candidates off would cut off the best
/// @param proceed see `dispatch`
/// @throws std::invalid_argument if a weight is negative, or not a number
[[nodiscard]] Order composite_dispatching(const Problem& problem, std::size_t samples,
                                          const CompositeWeights& weights, std::uint64_t seed,
                                          const Proceed& proceed = always);

}  // namespace heddle::schedule
