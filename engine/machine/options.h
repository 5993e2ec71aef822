#pragma once

#include <cstdint>
#include <string>

#include "machine/cost_model.h"
#include "machine/schedule.h"

namespace heddle {

/// The machine that a database is opened for, and its properties.
struct MachineOptions {
  std::string kind = "threads";
  /// For the virtual machine: its costs, the order of two cores at the same time, and how far a
  /// core may run ahead of the others before it yields.
  CostModel model = {};
  std::uint64_t seed = 1;
  double skew_ns = 100;
  /// For the virtual machine: which orders of steps it explores. For real cores: the delays of the
  /// accesses of one state, if it has one.
  ScheduleOptions schedule = {};
};

}  // namespace heddle
