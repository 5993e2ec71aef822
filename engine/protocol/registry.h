#pragma once

#include "model/registry.h"
#include "protocol/aria.h"
#include "protocol/external.h"
#include "protocol/mvschedo.h"
#include "protocol/mvto.h"
#include "protocol/policy_table.h"
#include "protocol/silo.h"
#include "protocol/two_phase_locking.h"

namespace heddle {

/// Every protocol of this engine: a new one is its header and a line here.
using Protocols = Registry<Silo, TwoPhaseLocking, Mvto, MvSchedO, Aria, PolicyTable>;

/// Every protocol the driver can run. No workload is compiled for the last one.
using NamedProtocols = Protocols::With<External>;

}  // namespace heddle
