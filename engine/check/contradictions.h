#pragma once

#include "check/report.h"
#include "observe/history.h"

namespace heddle::check {

/// Finds what no run can have written down, whatever its protocol did: attempts that end before
/// they begin, operations of aborted ones, writes of a rollback that were not taken back, ranges
/// without the rows they were given. The checker would read such a history as another one.
void find_contradictions(const History& history, Findings& findings);

}  // namespace heddle::check
