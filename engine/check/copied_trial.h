#pragma once

#include <functional>
#include <string>

#include "driver/session.h"

namespace heddle {

/// Records and checks a run (run_checked(), check/trial.h) on a copy of a session's database and
/// process, as run_on_copy() does (driver/copied_run.h).
///
/// @param finish_s time limit of the checks, in seconds
/// @param interrupted called every few milliseconds; once it returns true, the run ends
/// @return the verdict as JSON. A copy that dies or hangs is a finding: the engine must do neither.
/// @throws as Session::run(); std::invalid_argument for a machine other than the virtual one;
///         std::runtime_error if the copy can't be made
[[nodiscard]] std::string check_on_copy(Session& session, const RunOptions& options,
                                        double finish_s, const std::function<bool()>& interrupted);

}  // namespace heddle
