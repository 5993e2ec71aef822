#pragma once

#include <functional>
#include <limits>
#include <string>

#include "driver/session.h"

namespace heddle {

/// The process of a copy ended before it had answered, or did not answer in time; the message says
/// how, as in "its process ended by signal SIGSEGV".
class CopyLostError : public StuckError {
 public:
  using StuckError::StuckError;
};

/// The interface by which a copy reports its progress to its parent.
class CopyProgress {
 public:
  virtual ~CopyProgress() = default;
  /// Reports that its run continues; called at short intervals.
  /// @return whether it is to end
  virtual bool step() = 0;
  /// Reports that its run has ended and is being evaluated.
  /// @return whether it is to end
  virtual bool finish() = 0;
};

/// The time limits for a copy, in seconds of its processor time or of time in which it needed no
/// processor; waits for a processor do not count.
struct CopyPatience {
  double step_s = 10;                                         ///< for its next step, during the run
  double finish_s = std::numeric_limits<double>::infinity();  ///< for its answer, after the run
};

/// Runs `work` in a copy of this process and its memory, which stay unchanged.
///
/// The copy is made by fork(): pages are shared until they are written. Only work that runs in one
/// thread can be done in it, such as a virtual run.
///
/// @param work returns the copy's answer, which must not be empty.
/// @param interrupted is called every few milliseconds. Once it returns true, the copy is asked to
///        end and returns what it has.
/// @return the answer.
/// @throws what `work` throws, as std::invalid_argument, StuckError or std::bad_alloc. Any other
///         exception arrives as std::runtime_error. CopyLostError. std::runtime_error if the copy
///         can't be made.
[[nodiscard]] std::string in_copy_of_process(const std::function<std::string(CopyProgress&)>& work,
                                             const CopyPatience& patience,
                                             const std::function<bool()>& interrupted);

}  // namespace heddle
