#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "protocol/outcome.h"
#include "protocol/policy.h"

namespace heddle {

/// One state, ready for the executor: the actions of its row, less those that can have no effect in
/// this table.
struct CompiledState {
  std::uint16_t ordinal = 0;  ///< accesses of its type up to and including this one
  bool waits = false;         ///< a wait cell is set, and the type can have dependencies
  bool dirty_read = false;
  bool publishes = false;  ///< PUBLIC: buffered writes become visible after this access
  bool validates = false;  ///< a publication point: PUBLIC or early validation
  bool loop = false;
  bool reads_and_writes = false;  ///< one state for both halves; the point is after the write
  bool waits_before_validation = false;
  /// The state that writes and publishes what this one reads dirty, right after it: the same one,
  /// or the next. kNoState if there is none, or if something is to be done in between.
  AccessId replaced_at = kNoState;
  std::vector<std::uint16_t> wait;                    ///< per type
  std::vector<std::uint16_t> wait_before_validation;  ///< the next state's
};

/// The properties that distinguish a state from an access of Silo; a state without any is `plain`.
namespace state_trait {
inline constexpr std::uint8_t kWaits = 1;
inline constexpr std::uint8_t kDirtyRead = 2;
inline constexpr std::uint8_t kValidates = 4;
inline constexpr std::uint8_t kAnnounces = 8;  ///< other transactions may wait for its end
}  // namespace state_trait

/// One type, ready for the executor.
struct CompiledType {
  bool native = true;  ///< it neither publishes, reads dirty nor validates early: it runs as Silo
  bool announces = false;  ///< other transactions may wait for its progress
  /// The ordinal up to which its accesses are logged. A retry can only return to them if one
  /// publication point may succeed after them and another one fail.
  std::uint16_t recorded_until = 0;
  std::uint16_t published_until = 0;  ///< the ordinal of its last PUBLIC write
  /// Its last access, if early validation follows it, it is not in a loop, and the type does not
  /// use access lists: the validation is then left to the commit, which comes right after.
  AccessId commit_point = kNoState;
};

/// A policy table compiled for execution: derived once when it is loaded, then shared read-only.
///
/// The derivation drops actions that no transaction could observe. Dirty reads of tables that are
/// never published to become clean reads; waits of a type that can have no dependencies are
/// removed; a type that needs no access list runs as Silo, instruction for instruction.
class CompiledPolicy {
 public:
  explicit CompiledPolicy(Policy policy);

  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const CompiledState& state(AccessId state) const { return states_[state]; }
  /// The traits of all states, one byte each: the executor reads them on every access.
  [[nodiscard]] const std::uint8_t* traits() const { return traits_.data(); }
  [[nodiscard]] const CompiledType& type(int type) const {
    return types_[static_cast<std::size_t>(type)];
  }
  [[nodiscard]] int type_count() const { return static_cast<int>(types_.size()); }
  [[nodiscard]] int state_count() const { return static_cast<int>(states_.size()); }

  /// Whether any state's reads must be linked.
  [[nodiscard]] bool publishes() const { return publishes_; }
  /// Whether reads at this state must be linked for publishing writers to find.
  [[nodiscard]] bool links_reads(AccessId state) const {
    return state != kNoState && links_reads_[state];
  }

 private:
  void compile_states();
  void compile_types();
  void compile_replacements();
  void compile_traits();

  Policy policy_;
  std::vector<CompiledState> states_;
  std::vector<CompiledType> types_;
  std::vector<std::uint8_t> traits_;
  std::vector<bool> links_reads_;
  bool publishes_ = false;
};

}  // namespace heddle
