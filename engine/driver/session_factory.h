#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "driver/database.h"
#include "driver/session.h"

namespace heddle {

/// One workload on one machine, as the driver opens it. workload/registry.cmake lists the
/// workloads; the build creates one of these for each, in a source file of its own, so that they
/// compile in parallel.
struct SessionFactory {
  std::string_view name;
  std::string_view machine;
  std::unique_ptr<Session> (*open)(const MachineOptions& machine, const OptionMap& options,
                                   int workers, std::uint64_t seed);
  Signature (*signature)(const OptionMap& options);
  std::vector<OptionSpec> (*options)();  ///< the workload's options
  bool built = true;                     ///< false: it can't be opened in this build
};

/// A session on a database that is not loaded yet. Defined once per machine
/// (driver/machine_session.h).
/// @param described the workload's options including its name, for results
template <class M>
[[nodiscard]] std::unique_ptr<Session> make_session(std::shared_ptr<Database<M>> database,
                                                    const OptionMap& described, int workers,
                                                    std::uint64_t seed,
                                                    const MachineOptions& machine);

/// The factories, in the registry's order.
[[nodiscard]] const std::vector<SessionFactory>& session_factories();

}  // namespace heddle
