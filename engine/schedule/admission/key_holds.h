#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/shared.h"
#include "schedule/admission/operation.h"

namespace heddle::admission {

/// The hot keys of the transactions that have been started and have not committed: of each, how
/// many of them read it and how many write it.
///
/// Unlike KeyTimes it does not depend on expected durations. In front of a store they do not hold:
/// a transaction waits there for locks and for the disk, which is shared with all others.
///
/// Like KeyTimes it affects time only, never correctness. So no operation here waits, and every
/// access is relaxed: the words publish no other data.
template <class M>
class KeyHolds {
 public:
  /// @param used if false, no other function may be called
  explicit KeyHolds(bool used = true) : keys_(used ? kSlots : 0) {}

  /// Whether a started transaction conflicts with these operations.
  [[nodiscard]] bool conflict(const Operations& operations) const {
    for (const Operation& operation : operations) {
      if (!admits(keys_[operation.slot].held.load(std::memory_order_relaxed), operation)) {
        return true;
      }
    }
    return false;
  }

  /// Starts a transaction unless it conflicts. False: nothing has changed for good.
  [[nodiscard]] bool try_hold(const Operations& operations) {
    for (std::size_t at = 0; at < operations.size(); ++at) {
      if (try_hold(operations[at])) continue;
      for (std::size_t held = 0; held < at; ++held) drop(operations[held]);
      return false;
    }
    return true;
  }

  /// Starts a transaction, whatever it conflicts with.
  void hold(const Operations& operations) {
    for (const Operation& operation : operations) {
      keys_[operation.slot].held.fetch_add(unit(operation), std::memory_order_relaxed);
    }
  }

  /// Ends a transaction that try_hold() or hold() has started.
  void release(const Operations& operations) {
    for (const Operation& operation : operations) drop(operation);
  }

 private:
  /// The number of readers in the lower half of a word, that of writers in the upper half.
  using Word = std::uint64_t;
  static constexpr Word kReader = 1;
  static constexpr Word kWriter = Word{1} << 32;

  struct alignas(64) Key {
    Shared<M, Word> held;
  };

  static Word unit(const Operation& operation) { return operation.writes ? kWriter : kReader; }

  static bool admits(Word held, const Operation& operation) {
    return operation.writes ? held == 0 : held < kWriter;
  }

  bool try_hold(const Operation& operation) {
    Shared<M, Word>& word = keys_[operation.slot].held;
    Word held = word.load(std::memory_order_relaxed);
    while (admits(held, operation)) {
      if (word.compare_exchange(held, held + unit(operation), std::memory_order_relaxed)) {
        return true;
      }
    }
    return false;
  }

  void drop(const Operation& operation) {
    // A subtraction.
    keys_[operation.slot].held.fetch_add(Word{0} - unit(operation), std::memory_order_relaxed);
  }

  std::vector<Key> keys_;
};

}  // namespace heddle::admission
