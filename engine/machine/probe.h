#pragma once

#include <cstddef>
#include <vector>

namespace heddle {

/// What the hardware underneath takes for the things a CostModel has a price for, measured. All in
/// nanoseconds; each is the least of some repeats, for whatever else runs can only add to it. The
/// callers' threads are pinned while a probe lasts.
namespace probe {

/// One load that depends on the one before, all over `bytes` of memory in random order. With as
/// much as a cache holds: that cache's latency; with much more than all of them: memory's.
[[nodiscard]] double load_ns(std::size_t bytes);

/// The same where no load depends on another, so that the core has as many under way as it can.
[[nodiscard]] double independent_load_ns(std::size_t bytes);

/// Handing a line that was written from one core to another: half of a round trip. Cores are
/// numbers among those the process may use, from 0.
/// @throws std::invalid_argument if there is no such core, or both are the same
[[nodiscard]] double transfer_ns(int one, int other);

/// A locked instruction on a line the core has, beyond a load of it.
[[nodiscard]] double atomic_ns();

/// One pause of a spinning wait.
[[nodiscard]] double pause_ns();

/// Each line of a copy behind its first, out of a cache further away than the core's own.
/// @param bytes what the copies are taken from: more than the core's own cache
[[nodiscard]] double stream_ns(std::size_t bytes);

}  // namespace probe

}  // namespace heddle
