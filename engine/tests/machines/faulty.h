#pragma once

#include <cstdint>
#include <memory>

#include "driver/database.h"
#include "driver/session.h"
#include "machine/seeded_fault.h"
#include "machine/virtual.h"
#include "model/options.h"

namespace heddle::test {

/// Virtual cores on which the engine can have a seeded fault.
struct FaultyMachine : VirtualMachine {
  static inline SeededFault seeded_fault = SeededFault::none;
};

/// A database of workload `generic` on that machine.
/// @param options without the workload's name
[[nodiscard]] std::unique_ptr<Database<FaultyMachine>> make_faulty_database(
    const OptionMap& options, int workers);

/// open_session() of workload `generic` on that machine, for runs that are recorded.
[[nodiscard]] std::unique_ptr<Session> open_faulty(const OptionMap& workload, int workers,
                                                   std::uint64_t seed,
                                                   const MachineOptions& machine);

}  // namespace heddle::test
