#pragma once

#include <cstddef>
#include <cstdint>

#include "driver/arrivals.h"
#include "machine/shared.h"

namespace heddle {

/// The stages of a run, in order. The measured window begins with `measure`, its first interval;
/// any others (IntervalCounts) follow, each by the next number.
enum class Phase : std::uint64_t { warm_up, measure, over = ~std::uint64_t{0} };

/// The phase of an interval of the measured window, counted from 0, and the other way round.
[[nodiscard]] constexpr Phase phase_of_interval(std::size_t interval) {
  return static_cast<Phase>(static_cast<std::uint64_t>(Phase::measure) + interval);
}
[[nodiscard]] constexpr std::size_t interval_of_phase(Phase phase) {
  return static_cast<std::uint64_t>(phase) - static_cast<std::uint64_t>(Phase::measure);
}

/// What a run's workers share with the thread that started them.
template <class M>
struct RunState {
  alignas(64) Shared<M, std::uint64_t> phase{static_cast<std::uint64_t>(Phase::warm_up)};
  /// When the measured window begins and ends. On real cores the end is set with the beginning, so
  /// that the window is as long as was asked for whenever the monitor is next awake; a run that is
  /// cut short moves it. On simulated ones it is when the monitor ended the run.
  Shared<M, typename M::Ticks> measured_from;
  Shared<M, typename M::Ticks> measured_until;
  alignas(64) Shared<M, std::uint64_t> stop{0};
  /// Where transactions arrive by a clock: that. Set before the workers start.
  ArrivalClock<M> arrivals;
};

/// Counts a worker's attempts, so that the watchdog sees that it lives.
template <class M>
struct alignas(64) Heartbeat {
  Shared<M, std::uint64_t> beats;
};

}  // namespace heddle
