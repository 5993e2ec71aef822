#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/arrivals.h"
#include "driver/exclusive_turns.h"
#include "machine/shared.h"

namespace heddle {

/// The stages of a run, in order. In `prepare` the workers rest while the monitor obtains the
/// window's memory; it is left out on simulated cores, in open loops and without a warm-up. The
/// measured window begins with `measure`, its first interval; any others (IntervalCounts) follow,
/// each by the next number.
enum class Phase : std::uint64_t { warm_up, prepare, measure, over = ~std::uint64_t{0} };

/// The phase of an interval of the measured window, counted from 0.
[[nodiscard]] constexpr Phase phase_of_interval(std::size_t interval) {
  return static_cast<Phase>(static_cast<std::uint64_t>(Phase::measure) + interval);
}
[[nodiscard]] constexpr std::size_t interval_of_phase(Phase phase) {
  return static_cast<std::uint64_t>(phase) - static_cast<std::uint64_t>(Phase::measure);
}

/// The state that a run's workers share with the thread that started them.
template <class M>
struct RunState {
  alignas(64) Shared<M, std::uint64_t> phase{static_cast<std::uint64_t>(Phase::warm_up)};
  /// The times at which the measured window begins and ends. On real cores the end is set with the
  /// beginning, so that the window has the requested length however late the monitor polls; a run
  /// that is cut short moves it. On simulated ones it is the time at which the monitor ended the
  /// run.
  Shared<M, typename M::Ticks> measured_from;
  Shared<M, typename M::Ticks> measured_until;
  alignas(64) Shared<M, std::uint64_t> stop{0};
  /// Of transactions that have aborted too often.
  ExclusiveTurns<M> turns;
  /// The arrival clock of an open loop. Set before the workers start.
  ArrivalClock<M> arrivals;
};

/// Counts a worker's attempts, so that the watchdog sees its progress.
template <class M>
struct alignas(64) Heartbeat {
  Shared<M, std::uint64_t> beats;
};

}  // namespace heddle
