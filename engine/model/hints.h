#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "model/access_id.h"

namespace heddle {

/// A key that a transaction names before it starts: one that it is going to access and that may be
/// hot ("Application hints", SMF, VLDB 2024, §4.1.1).
///
/// The state gives the key's table, the kind of access and the name of the hint:
/// `Signature::access(state)`. Where a row is read and then written, it is the state of the write.
struct Hint {
  std::uint64_t key = 0;  ///< `word_of` it; of a scan the first key of its range, as in traces
  AccessId state = kNoState;

  bool operator==(const Hint&) const = default;
};

/// The hints of one transaction besides its type, in the order of its first accesses. Transactions
/// of a type without loop states pass the same states in the same order, so that the keys form a
/// vector whose positions have a meaning; a loop contributes one hint per round.
class Hints {
 public:
  static constexpr std::size_t kMost = 128;

  void clear() { count_ = 0; }
  void add(AccessId state, std::uint64_t key) {
    assert(count_ < kMost);
    hints_[count_++] = {key, state};
  }

  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] const Hint& operator[](std::size_t i) const { return hints_[i]; }
  [[nodiscard]] const Hint* begin() const { return hints_.data(); }
  [[nodiscard]] const Hint* end() const { return hints_.data() + count_; }

 private:
  std::array<Hint, kMost> hints_;
  std::size_t count_ = 0;
};

}  // namespace heddle
