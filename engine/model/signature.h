#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace heddle {

/// What an access does to its table. `read_modify_write` is one state for a read and the update of
/// the same row that follows it: it has both a read version and a write visibility.
enum class AccessKind : std::uint8_t { read, update, insert, remove, scan, read_modify_write };

[[nodiscard]] constexpr std::string_view to_string(AccessKind kind) {
  switch (kind) {
    case AccessKind::read: return "read";
    case AccessKind::update: return "update";
    case AccessKind::insert: return "insert";
    case AccessKind::remove: return "remove";
    case AccessKind::scan: return "scan";
    case AccessKind::read_modify_write: return "read_modify_write";
  }
  return "unknown";
}

/// One static access of a transaction type. `loop`: it runs any number of rounds, possibly none.
struct AccessSpec {
  std::string name;
  std::string table;
  AccessKind kind = AccessKind::read;
  bool loop = false;

  bool operator==(const AccessSpec&) const = default;
};

/// One transaction type: its accesses in the order in which it first makes them.
struct TypeSpec {
  std::string name;
  std::vector<AccessSpec> accesses;

  bool operator==(const TypeSpec&) const = default;
};

/// The read-write types of a workload and their accesses, for which a policy is made. A *state* is
/// one access of one type; states are numbered across the types, from 0.
struct Signature {
  std::string workload;
  std::vector<TypeSpec> types;

  bool operator==(const Signature&) const = default;

  [[nodiscard]] std::size_t state_count() const { return first_state(types.size()); }

  /// The number of the first state of `type`; for `type == types.size()`, the number of states.
  [[nodiscard]] std::size_t first_state(std::size_t type) const {
    std::size_t count = 0;
    for (std::size_t i = 0; i < type; ++i) count += types.at(i).accesses.size();
    return count;
  }

  /// The type that `state` belongs to. Throws std::out_of_range.
  [[nodiscard]] std::size_t type_of(std::size_t state) const {
    std::size_t first = 0;
    for (std::size_t type = 0; type < types.size(); ++type) {
      first += types[type].accesses.size();
      if (state < first) return type;
    }
    throw std::out_of_range("signature of " + workload + " has " + std::to_string(first) +
                            " states; there is no state " + std::to_string(state));
  }

  /// The access of `state`. Throws std::out_of_range.
  [[nodiscard]] const AccessSpec& access(std::size_t state) const {
    const std::size_t type = type_of(state);
    return types[type].accesses[state - first_state(type)];
  }
};

}  // namespace heddle
