#pragma once

#include <functional>
#include <string>

#include "driver/session.h"

namespace heddle {

/// Runs a session of the virtual machine on a copy of its database and process
/// (driver/process_copy.h): the database stays as it was loaded, and the same run gives
/// bit-identical results, however many runs preceded it.
///
/// @param check whether the workload's consistency conditions are checked afterwards, in the copy.
/// @param interrupted is called every few milliseconds. Once it returns true, the run ends and
///        returns what it has measured.
/// @return the result as JSON.
/// @throws as Session::run(). std::invalid_argument for another machine. CopyLostError if the copy
///         dies. std::runtime_error if the copy can't be made.
[[nodiscard]] std::string run_on_copy(Session& session, const RunOptions& options, bool check,
                                      const std::function<bool()>& interrupted);

/// @throws std::invalid_argument if the session's machine is not the virtual one: only code that
///         runs in one thread can be copied
void require_one_thread(const Session& session);

}  // namespace heddle
