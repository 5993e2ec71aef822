#pragma once

#include <cstdint>
#include <string>

#include "machine/cost_model.h"
#include "machine/schedule.h"

namespace heddle {

/// Which machine a database is opened for, and how that machine is.
struct MachineOptions {
  std::string kind = "threads";
  /// Of the virtual machine: what things cost there, who goes first of two cores at one time, and
  /// how far a core may run ahead of the others before it gives way.
  CostModel model = {};
  std::uint64_t seed = 1;
  double skew_ns = 100;
  /// Of the virtual machine: which orders of steps it explores.
  ScheduleOptions schedule = {};
};

}  // namespace heddle
