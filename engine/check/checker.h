#pragma once

#include "check/report.h"
#include "observe/history.h"

namespace heddle::check {

/// Decides whether a history could have been made by running its transactions one after the other.
///
/// From the order of each row's versions it draws the direct serialization graph (Adya, 1999, §4):
/// ww to whoever overwrote a version, wr to whoever read it, rw from there to whoever overwrote it,
/// and, for rows that are not there, from whoever missed them to whoever inserted them. A cycle is
/// an anomaly. So is, without one, a read of what was never committed (G1a) or was not its writer's
/// last word (G1b), a version made twice, or content that is not its version's.
///
/// Time and memory are linear in operations, but for the choices where neither versions nor the
/// clock tell in what order a row came and went: each of those costs a bounded search.
///
/// It knows nothing of how the engine validates, and shares no code with it.
/// @throws std::invalid_argument if the history is too long
[[nodiscard]] Report check_history(const History& history);

}  // namespace heddle::check
