#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <vector>

namespace heddle::numa {

/// The memory nodes of a machine on which a core reaches some memory sooner than other.
///
/// The kernel's calls are used directly: libnuma would be one more package to install, for three
/// calls. All of them are advice. Where the kernel refuses one, memory lies elsewhere and works.

/// Nodes with a core among `cores`, in ascending order; {0} if the system names none.
/// @param system the folder in which the kernel describes the nodes
[[nodiscard]] std::vector<int> nodes_of(std::span<const int> cores,
                                        const std::filesystem::path& system);

/// Nodes of the cores that the process may use, read once.
[[nodiscard]] const std::vector<int>& nodes();

/// The node of the core that calls; 0 where there is only one.
[[nodiscard]] int here();

/// The node of memory that has been touched; 0 where there is only one, or if it is not known.
[[nodiscard]] int node_of(const std::byte* start);

/// Asks for untouched memory on a node, or on another one if that is full.
void prefer(std::byte* start, std::size_t bytes, int node);

}  // namespace heddle::numa
