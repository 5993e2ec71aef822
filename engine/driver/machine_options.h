#pragma once

#include <string_view>
#include <vector>

#include "machine/options.h"
#include "model/options.h"

namespace heddle {

/// Reads a machine from its options: `kind`, and for the virtual machine its seed, skew, costs and
/// schedule, named as in MachineOptions, CostModel and ScheduleOptions.
/// @throws std::invalid_argument naming the option and what is valid
[[nodiscard]] MachineOptions parse_machine(const OptionMap& options);

/// The declarations of what can be set of a machine, but for its costs: `cores`, which is how many
/// workers a session has, and what `parse_machine` reads beside `kind`.
/// @throws std::invalid_argument if there is no such machine
[[nodiscard]] std::vector<OptionSpec> machine_specs(std::string_view kind);
/// Those of the virtual machine's costs.
[[nodiscard]] std::vector<OptionSpec> cost_specs();

}  // namespace heddle
