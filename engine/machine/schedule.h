#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle {

/// Who decides which virtual core goes on.
enum class ScheduleKind : std::uint8_t {
  clock,       ///< the cost model: the core whose clock is lowest
  delays,      ///< the same, but now and then a core is held up for a while
  priorities,  ///< at every step the core of the highest priority; priorities are random (PCT)
  script       ///< a list says when to switch
};

/// Before step `step` (an access to shared memory; they are counted over all cores, from 0) `core`
/// goes on.
struct Switch {
  std::uint64_t step;
  int core;
  bool operator==(const Switch&) const = default;
};

/// In the order of their steps, no two at one step.
using Script = std::vector<Switch>;

/// In which order virtual cores make their steps.
///
/// `delays` and `priorities` draw from MachineOptions::seed: the same seed makes the same run.
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::clock;

  /// Of `delays`: at one step in so many, on average, the core is held up, for `delay_us` of
  /// virtual time at most.
  std::uint64_t delay_every = 100;
  double delay_us = 10;

  /// Of `priorities`: of every `steps` steps, `depth` - 1 drawn at random lower the priority of the
  /// core that would make them. An error that needs `depth` steps in one order is met by one such
  /// stretch with a likelihood of at least 1 / (cores * steps^(depth - 1)).
  int depth = 3;
  std::uint64_t steps = 1000;

  /// Of `script`, which otherwise lets a core run on until it parks, spins or ends, and then the
  /// lowest-numbered one that can.
  Script script = {};
  /// Of `script`: a run of more steps and pauses is given up.
  std::uint64_t most_steps = 100'000;

  /// Whether a parked core looks up now and then, as real ones do, which covers for a wake-up that
  /// was lost. If not set: under `clock` only.
  std::optional<bool> rescue = {};

  [[nodiscard]] bool rescues() const { return rescue.value_or(kind == ScheduleKind::clock); }
};

}  // namespace heddle
