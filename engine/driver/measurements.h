#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "driver/histogram.h"
#include "protocol/protocol.h"

namespace heddle {

/// What one worker counts while it runs; merged into a Result afterwards.
template <class M>
struct alignas(64) Measurements {
  using Ticks = typename M::Ticks;

  struct Type {
    std::uint64_t commits = 0;
    std::uint64_t rollbacks = 0;
    std::uint64_t aborts = 0;
    std::uint64_t unfinished = 0;  ///< begun, and not committed when the run ended
    Ticks time = 0;                ///< from each arrival to the end, unfinished included
    Histogram latency;
  };

  Measurements(int types, int states)
      : by_type(static_cast<std::size_t>(types)),
        aborts_by_state(static_cast<std::size_t>(states) + 1) {}

  void count_abort(int type, const Attempt<M>& attempt, Ticks time) {
    ++by_type[static_cast<std::size_t>(type)].aborts;
    ++aborts_by_reason[static_cast<std::size_t>(attempt.reason)];
    ++aborts_by_state[std::min<std::size_t>(attempt.state, aborts_by_state.size() - 1)];
    partial_retries += attempt.partial_retries;
    waiting += attempt.waited;
    wasted += time - std::min(time, attempt.waited);
  }

  void count_end(int type, const Attempt<M>& attempt, Ticks time, Ticks latency) {
    Type& counts = by_type[static_cast<std::size_t>(type)];
    ++counts.commits;
    if (attempt.outcome == Outcome::rollback) ++counts.rollbacks;
    counts.latency.add(latency);
    counts.time += latency;
    partial_retries += attempt.partial_retries;
    waiting += attempt.waited;
    commit += attempt.commit;
    useful += time - std::min(time, attempt.waited + attempt.commit);
  }

  void count_unfinished(int type, Ticks time) {
    Type& counts = by_type[static_cast<std::size_t>(type)];
    ++counts.unfinished;
    counts.time += time;
  }

  std::vector<Type> by_type;
  std::array<std::uint64_t, kAbortReasonNames.size()> aborts_by_reason{};
  std::vector<std::uint64_t> aborts_by_state;
  std::uint64_t partial_retries = 0;
  Ticks useful = 0, waiting = 0, wasted = 0, backoff = 0, commit = 0;
  Ticks idle = 0;  ///< in an open loop: until transactions arrived
  Ticks start = 0, end = 0;
};

}  // namespace heddle
