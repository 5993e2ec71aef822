#pragma once

#include <cstddef>
#include <cstdint>

#include "schedule/dispatching.h"
#include "schedule/makespan.h"

namespace heddle::schedule {

/// What the composite dispatching rule weighs, beside a candidate's own start.
struct CompositeWeights {
  double delay = 1;  ///< the mean delay that it imposes on those that wait
  double work = 8;   ///< the work, a waiting transaction, that still queues for the keys it touches
  double length = 0.1;  ///< the candidate's own length
  double bound = 0.5;   ///< by how much its writes put off the least makespan that the queues allow
};

/// A composite dispatching rule, as job shops are run by (Pinedo, "Scheduling", §14.2): like SMF it
/// looks at a few of the waiting transactions and appends one, so that nothing that was placed ever
/// moves; but it looks ahead at whom the choice holds up. It appends the one for which
///
///     start + delay · (mean delay imposed) − work · (queued work of its keys) − length · (its own)
///           + bound · (what its writes add to the least makespan)
///
/// is least, all of them in slots:
///
/// - the start is the earliest that the schedule allows, so that no gap is left that can be filled;
/// - the delay imposed is, for each key, by how much its readers and its writers among the waiting
///   would have to start later, counted from when transactions start at present (an average that
///   fades), and divided by the size of the batch. It keeps readers of a hot key together, before
///   its writers;
/// - the queued work is the slots for which the waiting writers of its keys will need them, divided
///   likewise. It begins the longest chains first;
/// - its own length begins long transactions first, lest one of them is left for the end;
/// - the least makespan is the latest, over the keys, of when the writers that wait for one would
/// let
///   go of it if they followed each other without a gap. What makes a gap in the longest queue puts
///   the end off, and what makes one elsewhere may be nobody's harm.
///
/// @param samples how many are drawn for each place; 0: all that are left, which costs the square
/// @param weights 0 or more: what is weighed negatively is sought, and a bound that cuts candidates
///   off would cut off the best
/// @param proceed see `dispatch`
/// @throws std::invalid_argument a weight is negative, or no number
[[nodiscard]] Order composite_dispatching(const Problem& problem, std::size_t samples,
                                          const CompositeWeights& weights, std::uint64_t seed,
                                          const Proceed& proceed = always);

}  // namespace heddle::schedule
