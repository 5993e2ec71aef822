#pragma once

#include "check/report.h"
#include "observe/history.h"

namespace heddle::check {

/// Finds records that no run can produce, under any protocol: attempts that end before they begin,
/// operations of aborted ones, writes of a rollback that were not taken back, ranges without their
/// rows. The checker would misinterpret such a history.
void find_contradictions(const History& history, Findings& findings);

}  // namespace heddle::check
