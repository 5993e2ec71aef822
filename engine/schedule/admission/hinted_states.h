#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/signature.h"
#include "schedule/admission/operation.h"

namespace heddle::admission {

/// What a hint's state says about the operation: computed once per run.
class HintedStates {
 public:
  explicit HintedStates(const Signature& signature);

  /// The table of the row that the operation writes, if a hint names its key; else "".
  [[nodiscard]] const std::string& write_of(std::size_t state) const {
    return states_[state].write_of;
  }
  [[nodiscard]] std::size_t size() const { return states_.size(); }
  /// Whether a state runs any number of rounds.
  [[nodiscard]] bool is_loop(std::size_t state) const { return states_[state].loop; }

  /// A number for the key that is unique across tables, spread over all bits.
  [[nodiscard]] std::uint64_t hash(const Hint& hint) const {
    return hash(states_[hint.state].salt, hint.key);
  }
  /// The same for a key of a table.
  [[nodiscard]] static std::uint64_t hash(std::string_view table, std::uint64_t key) {
    return hash(salt_of(table), key);
  }

  /// @param index of the hint among all `count` of its transaction: in a loop, the only information
  ///        about its position
  [[nodiscard]] Operation operation(const Hint& hint, std::uint64_t hash, std::size_t index,
                                    std::size_t count) const {
    const State& state = states_[hint.state];
    return operation(
        hint, hash,
        state.loop ? static_cast<float>(index) / static_cast<float>(count) : state.place);
  }
  /// The same where its position in the transaction is known: 0 to 1.
  [[nodiscard]] Operation operation(const Hint& hint, std::uint64_t hash, float place) const {
    return {
        .slot = slot_of(hash), .place = place, .reads = true, .writes = states_[hint.state].writes};
  }

 private:
  struct State {
    std::uint64_t salt;
    float place;
    bool writes;
    bool loop;
    std::string write_of;
  };

  static std::uint64_t hash(std::uint64_t salt, std::uint64_t key) {
    // The finaliser of SplitMix64 (Steele et al., OOPSLA 2014).
    std::uint64_t bits = key ^ salt;
    bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
    bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
    return bits ^ bits >> 31;
  }
  static std::uint64_t salt_of(std::string_view table);

  std::vector<State> states_;
};

}  // namespace heddle::admission
