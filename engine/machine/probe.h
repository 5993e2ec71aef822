#pragma once

#include <cstddef>
#include <vector>

namespace heddle {

/// Measures on the hardware the costs that a CostModel has. All in nanoseconds; each is the minimum
/// of several repeats, because other load can only add to it. The calling threads are pinned during
/// a probe.
namespace probe {

/// One load that depends on the previous one, over `bytes` of memory in random order. With as much
/// as a cache holds: that cache's latency; with much more than all caches: memory's.
[[nodiscard]] double load_ns(std::size_t bytes);

/// The same for independent loads, so that the core has as many under way as it can.
[[nodiscard]] double independent_load_ns(std::size_t bytes);

/// The transfer of a written line from one core to another: half of a round trip. Cores are
/// numbered from 0 among those the process may use.
/// @throws std::invalid_argument if a core does not exist, or both are the same
[[nodiscard]] double transfer_ns(int one, int other);

/// A locked instruction on a line that the core has, in excess of a load of it.
[[nodiscard]] double atomic_ns();

/// One pause of a spinning wait.
[[nodiscard]] double pause_ns();

/// Each line of a copy after its first, out of a cache beyond the core's own.
/// @param bytes the size of the memory copied from: more than the core's own cache
[[nodiscard]] double stream_ns(std::size_t bytes);

}  // namespace probe

}  // namespace heddle
