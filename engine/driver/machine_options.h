#pragma once

#include "machine/options.h"
#include "model/options.h"

namespace heddle {

/// Reads a machine from its options: `kind`, and for the virtual machine its seed, skew, costs and
/// schedule, named as in MachineOptions, CostModel and ScheduleOptions.
/// @throws std::invalid_argument naming the option and what is valid
[[nodiscard]] MachineOptions parse_machine(const OptionMap& options);

}  // namespace heddle
