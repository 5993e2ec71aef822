#pragma once

#include <string_view>
#include <type_traits>

#include "machine/threads.h"
#include "protocol/external_options.h"

namespace heddle {

/// Transactions run in a database of its own: the engine's protocols, indexes and snapshots take no
/// part. An operation of a store takes microseconds and may block, so procedures are type-erased,
/// as in observed runs, and no workload is compiled for it (protocol/external_run.h).
struct External {
  static constexpr std::string_view kName = "external";
  using Options = ExternalOptions;

  /// A transaction that waits blocks its thread, and with it all virtual cores.
  template <class M>
  static constexpr bool kRunsOn = std::is_same_v<M, ThreadsMachine>;
};

}  // namespace heddle
