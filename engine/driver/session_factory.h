#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "driver/database.h"
#include "driver/session.h"

namespace heddle {

/// One workload on one machine, as the driver opens it. workload/registry.cmake lists the
/// workloads; the build makes one of these for each, in a source file of its own, so that they
/// compile side by side.
struct SessionFactory {
  std::string_view name;
  std::string_view machine;
  std::unique_ptr<Session> (*open)(const MachineOptions& machine, const OptionMap& options,
                                   int workers, std::uint64_t seed);
  Signature (*signature)(const OptionMap& options);
  std::vector<OptionSpec> (*options)();  ///< what can be set of the workload
  bool built = true;                     ///< false: it can't be opened in this build
};

/// A session on a database that is not loaded yet. Defined once a machine
/// (driver/machine_session.h).
/// @param described the workload's options, its name among them, for results
template <class M>
[[nodiscard]] std::unique_ptr<Session> make_session(std::shared_ptr<Database<M>> database,
                                                    const OptionMap& described, int workers,
                                                    std::uint64_t seed,
                                                    const MachineOptions& machine);

/// The factories, in the registry's order.
[[nodiscard]] const std::vector<SessionFactory>& session_factories();

}  // namespace heddle
