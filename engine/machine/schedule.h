#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace heddle {

/// The rule that picks the virtual core that makes the next step.
enum class ScheduleKind : std::uint8_t {
  clock,       ///< the cost model: the core whose clock is lowest
  delays,      ///< the same, but cores are delayed at random steps
  priorities,  ///< at every step the core of the highest priority; priorities are random (PCT)
  script       ///< a list of switches
};

/// At step `step` (an access to shared memory, counted over all cores from 0) the turn passes to
/// `core`.
struct Switch {
  std::uint64_t step;
  int core;
  bool operator==(const Switch&) const = default;
};

/// In the order of their steps, at most one per step.
using Script = std::vector<Switch>;

/// The order of the virtual cores' steps.
///
/// `delays` and `priorities` draw from MachineOptions::seed: the same seed gives the same run.
struct ScheduleOptions {
  ScheduleKind kind = ScheduleKind::clock;

  /// With `delays`: at one step in `delay_every`, on average, the core is delayed, for at most
  /// `delay_us` of virtual time.
  std::uint64_t delay_every = 100;
  double delay_us = 10;
  /// With `delays`: only the accesses of this state are steps. A step of known variance shows
  /// whether an analysis of latencies finds it.
  std::optional<std::uint32_t> delay_state = {};

  /// With `priorities`: of every `steps` steps, `depth` - 1 drawn at random lower the priority of
  /// the core that would make them. One such stretch triggers an error that needs `depth` steps in
  /// one order with a probability of at least 1 / (cores * steps^(depth - 1)).
  int depth = 3;
  std::uint64_t steps = 1000;

  /// With `script`: between its switches a core runs until it parks, spins or ends; then the
  /// lowest-numbered core that can run follows.
  Script script = {};
  /// With `script`: a run with more steps and pauses is aborted.
  std::uint64_t most_steps = 100'000;

  /// Whether a parked core wakes at intervals, as real ones do, which hides lost wake-ups. If not
  /// set: under `clock` only.
  std::optional<bool> rescue = {};

  [[nodiscard]] bool rescues() const { return rescue.value_or(kind == ScheduleKind::clock); }
};

}  // namespace heddle
