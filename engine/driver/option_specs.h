#pragma once

#include <string>
#include <vector>

#include "model/isolation.h"
#include "model/option_spec.h"
#include "model/options.h"
#include "model/signature.h"

namespace heddle {

/// The declarations of options, for code that shows, checks or writes settings. They are the ones
/// that parsing uses.
/// @param group `workload`, `machine`, `machine/costs`, `schedule` or `protocol`
/// @param name of a workload, machine or protocol; "" for the other groups
/// @throws std::invalid_argument if there is no such group, workload, machine or protocol
[[nodiscard]] std::vector<OptionSpec> option_specs(const std::string& group,
                                                   const std::string& name = "");

/// Checks the options of a protocol.
/// @throws std::invalid_argument if there is no such protocol, option or value
/// @param signature of the workload that it runs on; nullptr: any
void check_protocol(const std::string& name, const OptionMap& options,
                    const Signature* signature = nullptr);

/// The isolation level that a protocol has under valid options. That of `external` is its store's,
/// and counts as serializable here.
[[nodiscard]] Isolation isolation_of(const std::string& name, const OptionMap& options);

}  // namespace heddle
