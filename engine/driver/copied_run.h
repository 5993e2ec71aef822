#pragma once

#include <functional>
#include <string>

#include "driver/session.h"

namespace heddle {

/// Runs a session of the virtual machine on a copy of its database and process: the database stays
/// as it was loaded, and the same run gives the same result to the bit, however many there were
/// before.
///
/// The copy is the operating system's (fork): pages are shared until they are written. So only what
/// runs in one thread can be copied, which a virtual run does.
///
/// @param check whether the workload's consistency conditions are checked afterwards, in the copy
/// @param interrupted asked every few milliseconds; once true, the run ends and gives what it has
/// @return the result as JSON
/// @throws as Session::run(); std::invalid_argument for another machine; std::runtime_error if the
///         copy can't be made or dies
[[nodiscard]] std::string run_on_copy(Session& session, const RunOptions& options, bool check,
                                      const std::function<bool()>& interrupted);

}  // namespace heddle
