#pragma once

#include <functional>
#include <string>

#include "driver/session.h"

namespace heddle {

/// Runs a session of the virtual machine on a copy of its database and process
/// (driver/process_copy.h): the database stays as it was loaded, and the same run gives the same
/// result to the bit, however many there were before.
///
/// @param check whether the workload's consistency conditions are checked afterwards, in the copy
/// @param interrupted asked every few milliseconds; once true, the run ends and gives what it has
/// @return the result as JSON
/// @throws as Session::run(); std::invalid_argument for another machine; CopyLostError if the
///         copy dies; std::runtime_error if it can't be made
[[nodiscard]] std::string run_on_copy(Session& session, const RunOptions& options, bool check,
                                      const std::function<bool()>& interrupted);

/// Records and checks a run (run_checked(), check/trial.h) likewise.
///
/// @param finish_s how long the checks may take, in seconds
/// @return the verdict as JSON. A copy that dies or hangs has found something: the engine must do
///         neither.
/// @throws as run_on_copy(), but for that
[[nodiscard]] std::string check_on_copy(Session& session, const RunOptions& options,
                                        double finish_s, const std::function<bool()>& interrupted);

}  // namespace heddle
