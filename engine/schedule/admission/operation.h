#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace heddle::admission {

/// The greatest number of hot keys that are distinguished.
inline constexpr std::size_t kSlots = 2048;

/// The slot of a key, by its hash. Two keys of one slot are treated as one, which costs time only.
[[nodiscard]] constexpr std::uint32_t slot_of(std::uint64_t hash) {
  return static_cast<std::uint32_t>(hash >> 24 & (kSlots - 1));
}

/// What a transaction is expected to do to a hot key.
struct Operation {
  std::uint32_t slot = 0;  ///< of the key, in KeyTimes
  float place = 0;         ///< position in the transaction, 0 to 1
  bool reads = true;
  bool writes = false;
};

/// What a transaction is expected to do to all hot keys that it names; at most to the first
/// `kMost`. A transaction without any is cold.
class Operations {
 public:
  static constexpr std::size_t kMost = 24;

  void clear() { count_ = 0; }

  /// A second operation on a key is merged into the first: a transaction never waits for itself.
  void add(const Operation& operation) {
    for (std::size_t i = 0; i < count_; ++i) {
      Operation& other = operations_[i];
      if (other.slot != operation.slot) continue;
      other.place = std::min(other.place, operation.place);
      other.reads = other.reads || operation.reads;
      other.writes = other.writes || operation.writes;
      return;
    }
    if (count_ < kMost) operations_[count_++] = operation;
  }

  [[nodiscard]] bool empty() const { return count_ == 0; }
  [[nodiscard]] std::size_t size() const { return count_; }
  [[nodiscard]] const Operation& operator[](std::size_t i) const {
    assert(i < count_);
    return operations_[i];
  }
  [[nodiscard]] const Operation* begin() const { return operations_.data(); }
  [[nodiscard]] const Operation* end() const { return operations_.data() + count_; }

 private:
  std::array<Operation, kMost> operations_;
  std::size_t count_ = 0;
};

}  // namespace heddle::admission
