#pragma once

#include <algorithm>

namespace heddle {

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
