#pragma once

#include "machine/seeded_fault.h"
#include "machine/virtual.h"

namespace heddle::test {

/// Virtual cores on which the engine can be wrong.
struct FaultyMachine : VirtualMachine {
  static inline SeededFault seeded_fault = SeededFault::none;
};

}  // namespace heddle::test
