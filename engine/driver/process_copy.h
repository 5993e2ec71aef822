#pragma once

#include <functional>
#include <limits>
#include <string>

#include "driver/session.h"

namespace heddle {

/// The process of a copy ended before it had answered, or did not answer in time: the message says
/// how, as in "its process ended by signal SIGSEGV".
class CopyLostError : public StuckError {
 public:
  using StuckError::StuckError;
};

/// How a copy tells those outside how far it has come.
class CopyProgress {
 public:
  virtual ~CopyProgress() = default;
  /// Its run goes on, and says so every few moments.
  /// @return whether it is to end
  virtual bool step() = 0;
  /// Its run is over, and it looks at what it has.
  /// @return whether it is to end
  virtual bool finish() = 0;
};

/// How long a copy is waited for, in seconds of its processor's time or in which it wanted none:
/// what it waits for a processor does not count.
struct CopyPatience {
  double step_s = 10;  ///< for its next step, while its run goes on
  double finish_s = std::numeric_limits<double>::infinity();  ///< for its answer, after
};

/// Does something in a copy of this process and its memory, which stay as they were.
///
/// The copy is the operating system's (fork): pages are shared until they are written. So only what
/// runs in one thread can be done there, which a virtual run is.
///
/// @param work what is done; gives the copy's answer, which must not be empty
/// @param interrupted asked every few milliseconds; once true, the copy is told to end, and gives
///        what it has
/// @return the answer
/// @throws whatever `work` does, as std::invalid_argument, StuckError, std::bad_alloc or, anything
///         else, std::runtime_error; CopyLostError; std::runtime_error if the copy can't be made
[[nodiscard]] std::string in_copy_of_process(const std::function<std::string(CopyProgress&)>& work,
                                             const CopyPatience& patience,
                                             const std::function<bool()>& interrupted);

}  // namespace heddle
