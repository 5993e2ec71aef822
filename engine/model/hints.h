#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "model/access_id.h"

namespace heddle {

/// A key that a transaction names before it starts: one that it is going to touch and that may be
/// hot ("Application hints", SMF, VLDB 2024, §4.1.1).
///
/// Its state says which table it is a key of, what is done to it, and what the hint is called:
/// `Signature::access(state)`. Where a row is read and then written, it is the write's.
struct Hint {
  std::uint64_t key = 0;  ///< `word_of` it; of a scan the first key of its range, as in traces
  AccessId state = kNoState;

  bool operator==(const Hint&) const = default;
};

/// What one transaction passes besides its type, in the order of its first accesses. Transactions
/// of a type whose states are no loops pass the same states in the same order, so that the keys
/// make a vector whose places have a meaning; in a loop there are as many as it has rounds.
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
