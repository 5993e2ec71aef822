#pragma once

#include <string_view>
#include <vector>

#include "machine/options.h"
#include "model/options.h"

namespace heddle {

/// Reads a machine from its options: `kind`, and for the virtual machine its seed, skew, costs and
/// schedule, named as in MachineOptions, CostModel and ScheduleOptions.
/// @throws std::invalid_argument naming the option and the valid values
[[nodiscard]] MachineOptions parse_machine(const OptionMap& options);

/// The declarations of a machine's options, except for its costs: `cores`, the number of a
/// session's workers, and the options that `parse_machine` reads in addition to `kind`.
/// @throws std::invalid_argument if there is no such machine
[[nodiscard]] std::vector<OptionSpec> machine_specs(std::string_view kind);
/// The declarations of the virtual machine's costs.
[[nodiscard]] std::vector<OptionSpec> cost_specs();

}  // namespace heddle
