#pragma once

#include <algorithm>

namespace heddle {

/// Converts a workload's clock to the machine's, in one run.
template <class M>
struct ArrivalClock {
  using Ticks = typename M::Ticks;

  Ticks start = 0;      ///< of the run
  double start_us = 0;  ///< the workload's clock at that time

  [[nodiscard]] Ticks due(double us) const {
    return start + M::ticks(std::clamp(us - start_us, 0.0, kLatestUs));
  }
  [[nodiscard]] double shows(Ticks time) const { return start_us + M::microseconds(time - start); }

 private:
  /// Three years: longer than any run, and within the range of every machine's ticks.
  static constexpr double kLatestUs = 1e14;
};

}  // namespace heddle
