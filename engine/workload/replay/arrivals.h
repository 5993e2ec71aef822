#pragma once

#include <memory>
#include <utility>

#include "workload/replay/program.h"
#include "workload/replay/shares.h"

namespace heddle::replay {

/// The arrival times of a program's transactions: their times in the trace, divided by the speed,
/// round after round.
///
/// A round begins at the end of the previous one: the mean time between two arrivals after its last
/// one, so that the long-run rate equals that within a round.
class Arrivals {
 public:
  /// @param program whose transactions did not all begin at the same moment
  /// @param speed above 0; 2: twice as fast as recorded
  Arrivals(std::shared_ptr<const Program> program, double speed)
      : program_(std::move(program)), round_us_(length_us(*program_)), speed_(speed) {}

  /// Whether its transactions began at different times.
  [[nodiscard]] static bool has_rate(const Program& program) {
    return program.begins().back() > program.begins().front();
  }

  /// The time of a turn, in microseconds after the start of the first round.
  [[nodiscard]] double at_us(const Turn& turn) const {
    return (static_cast<double>(turn.round) * round_us_ +
            static_cast<double>(program_->begin(turn.transaction))) /
           speed_;
  }

  /// The number of arrivals before a time, over all rounds, in microseconds after the start of the
  /// first. A double, because at the highest speed an integer could overflow.
  [[nodiscard]] double before(double us) const;

 private:
  static double length_us(const Program& program);

  std::shared_ptr<const Program> program_;
  double round_us_;  ///< as recorded
  double speed_;
};

}  // namespace heddle::replay
