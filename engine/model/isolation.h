#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace heddle {

/// An isolation level, by the cycles of the direct serialization graph that it forbids (Adya, 1999,
/// §4). Every level forbids aborted, intermediate and torn reads.
enum class Isolation : std::uint8_t {
  serializable,    ///< no cycle (PL-3)
  snapshot,        ///< no cycle without two anti-dependencies in a row (Cerone and Gotsman, 2016)
  read_committed,  ///< no cycle without an anti-dependency (PL-2)
};

inline constexpr std::array<std::string_view, 3> kIsolationNames{"serializable", "snapshot",
                                                                 "read_committed"};

[[nodiscard]] inline std::string name_of(Isolation isolation) {
  return std::string(kIsolationNames.at(static_cast<std::size_t>(isolation)));
}

/// @throws std::invalid_argument if no level has this name
[[nodiscard]] inline Isolation isolation_named(std::string_view name) {
  std::string valid;
  for (std::size_t at = 0; at < kIsolationNames.size(); ++at) {
    if (kIsolationNames[at] == name) return static_cast<Isolation>(at);
    valid += (valid.empty() ? "" : ", ") + std::string(kIsolationNames[at]);
  }
  throw std::invalid_argument("isolation '" + std::string(name) +
                              "' is not known; valid: " + valid);
}

}  // namespace heddle
