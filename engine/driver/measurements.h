#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "driver/histogram.h"
#include "driver/interval_counts.h"
#include "protocol/protocol.h"

namespace heddle {

/// Counts of a worker's admission (driver/admission.h), in transactions.
struct AdmissionCounts {
  std::uint64_t hot = 0;         ///< begun, with a hot key
  std::uint64_t cold = 0;        ///< begun, without one
  std::uint64_t overtaking = 0;  ///< begun before an older one
  std::uint64_t forced = 0;      ///< begun because they had reached the limit of overtaking
  std::uint64_t deferred = 0;    ///< number of deferrals
  std::uint64_t moved = 0;       ///< drawn by one worker and left with another
};

/// One worker's counts during a run; merged into a Result afterwards.
template <class M>
struct alignas(64) Measurements {
  using Ticks = typename M::Ticks;

  struct Type {
    std::uint64_t commits = 0;
    std::uint64_t rollbacks = 0;
    std::uint64_t aborts = 0;
    std::uint64_t unfinished = 0;  ///< begun, and not committed when the run ended
    Ticks time = 0;                ///< that they took, unfinished ones included; see `count_end`
    Histogram latency;
    Histogram cut_off;                 ///< ages of the unfinished ones
    std::optional<double> backoff_us;  ///< to which it has adapted by the end; see Backoff
  };

  /// @param intervals of the measured window that are counted separately
  Measurements(int types, int states, std::size_t intervals)
      : by_type(static_cast<std::size_t>(types)),
        aborts_by_state(static_cast<std::size_t>(states) + 1),
        by_interval(intervals, by_type.size()) {}

  void count_abort(int type, const Attempt<M>& attempt, Ticks time) {
    ++by_type[static_cast<std::size_t>(type)].aborts;
    ++aborts_by_reason[static_cast<std::size_t>(attempt.reason)];
    ++aborts_by_state[std::min<std::size_t>(attempt.state, aborts_by_state.size() - 1)];
    partial_retries += attempt.partial_retries;
    waiting += attempt.waited;
    wasted += time - std::min(time, attempt.waited);
  }

  /// @param time of the attempt
  /// @param latency from its arrival to its end
  /// @param took of the worker's time: where nothing is scheduled, the latency; otherwise the
  ///        latency without the time it waited while others ran
  void count_end(int type, const Attempt<M>& attempt, Ticks time, Ticks latency, Ticks took) {
    Type& counts = by_type[static_cast<std::size_t>(type)];
    ++counts.commits;
    if (attempt.outcome == Outcome::rollback) ++counts.rollbacks;
    counts.latency.add(latency);
    counts.time += took;
    partial_retries += attempt.partial_retries;
    waiting += attempt.waited;
    commit += attempt.commit;
    useful += time - std::min(time, attempt.waited + attempt.commit);
  }

  /// @param age since its arrival
  /// @param took of the worker's time, as for count_end()
  void count_unfinished(int type, Ticks age, Ticks took) {
    Type& counts = by_type[static_cast<std::size_t>(type)];
    ++counts.unfinished;
    counts.cut_off.add(age);
    counts.time += took;
  }

  std::vector<Type> by_type;
  std::array<std::uint64_t, kAbortReasonNames.size()> aborts_by_reason{};
  std::vector<std::uint64_t> aborts_by_state;
  IntervalCounts by_interval;
  std::uint64_t partial_retries = 0;
  std::uint64_t cut_off_attempts = 0;  ///< that the end of the run aborted: not among the aborts
  Ticks useful = 0, waiting = 0, wasted = 0, backoff = 0, commit = 0;
  Ticks idle = 0;      ///< in an open loop: waiting for transactions to arrive
  Ticks choosing = 0;  ///< drawing, predicting and choosing, if transactions are scheduled
  Ticks held = 0;      ///< waiting for the scheduled start times
  AdmissionCounts admission;
  Ticks start = 0, end = 0;
};

}  // namespace heddle
