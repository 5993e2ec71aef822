#pragma once

#include <algorithm>
#include <concepts>

namespace heddle {

/// A workload that can be an open loop: its transactions arrive by a clock of their own, whether or
/// not a worker is free. One without these functions is a closed loop: a worker's next transaction
/// arrives when the one before has ended.
///
/// Its clock counts microseconds, goes on from one run to the next, and stands still between them.
/// The functions are asked when `open_loop()` is true, which never changes. `next_arrival_us` is
/// asked by the worker itself while a run goes on; the others only before and after.
template <class W>
concept HasArrivals = requires(const W& workload, int worker, double us) {
  { workload.open_loop() } -> std::same_as<bool>;
  /// When the transaction arrives that `generate` gives the worker next; never earlier than the
  /// one before.
  { workload.next_arrival_us(worker) } -> std::same_as<double>;
  /// How many transactions arrive before a time, for all workers, from the clock's beginning.
  { workload.arrived(us) } -> std::same_as<double>;
  /// How many `generate` has given, likewise.
  { workload.begun() } -> std::same_as<double>;
};

/// When a workload's clock shows what, in one run.
template <class M>
struct ArrivalClock {
  using Ticks = typename M::Ticks;

  Ticks start = 0;      ///< of the run
  double start_us = 0;  ///< what the clock shows then

  [[nodiscard]] Ticks due(double us) const {
    return start + M::ticks(std::clamp(us - start_us, 0.0, kLatestUs));
  }
  [[nodiscard]] double shows(Ticks time) const { return start_us + M::microseconds(time - start); }

 private:
  /// Three years: no run lasts so long, and every machine's ticks can count it.
  static constexpr double kLatestUs = 1e14;
};

}  // namespace heddle
