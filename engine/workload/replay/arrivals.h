#pragma once

#include <memory>
#include <utility>

#include "workload/replay/program.h"
#include "workload/replay/shares.h"

namespace heddle::replay {

/// When the transactions of a program arrive: when they began in the trace, so many times as fast,
/// and round after round.
///
/// A round begins where the one before has ended: the mean time between two arrivals after its last
/// one, so that the rate is the same in the long run as within a round.
class Arrivals {
 public:
  /// @param program of which not all transactions began at the same moment
  /// @param speed above 0; 2: twice as fast as recorded
  Arrivals(std::shared_ptr<const Program> program, double speed)
      : program_(std::move(program)), round_us_(length_us(*program_)), speed_(speed) {}

  /// Whether there is any time between them.
  [[nodiscard]] static bool has_rate(const Program& program) {
    return program.begins().back() > program.begins().front();
  }

  /// In microseconds after the first round has begun.
  [[nodiscard]] double at_us(const Turn& turn) const {
    return (static_cast<double>(turn.round) * round_us_ +
            static_cast<double>(program_->begin(turn.transaction))) /
           speed_;
  }

  /// How many arrive before a time, likewise, in all rounds. A count, and no more: at the fastest
  /// there may be more than a whole number holds.
  [[nodiscard]] double before(double us) const;

 private:
  static double length_us(const Program& program);

  std::shared_ptr<const Program> program_;
  double round_us_;  ///< as recorded
  double speed_;
};

}  // namespace heddle::replay
