#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/batch.h"

namespace heddle::schedule {

/// The position of an operation that a transaction does not have: so late that it constrains
/// nothing.
inline constexpr Slot kNever = Slot{1} << 29;

/// All operations of a transaction on one key, as far as schedules depend on them: positions from
/// 1.
struct Touch {
  std::uint32_t key;
  Slot first_read;   ///< or kNever
  Slot first_write;  ///< or kNever
  Slot last_write;   ///< or 0
  Slot last;

  [[nodiscard]] Slot first() const { return first_read < first_write ? first_read : first_write; }
  [[nodiscard]] bool writes() const { return last_write != 0; }
};

/// A batch prepared for placing: one touch per key of a transaction, without the keys that can
/// delay no transaction, and the remaining keys renumbered densely.
class Touches {
 public:
  /// @param reads_order_reads whether a key that is never written can delay a reader
  Touches(const Batch& batch, bool reads_order_reads);

  [[nodiscard]] std::size_t size() const { return transactions_.size(); }
  [[nodiscard]] std::size_t key_count() const { return key_count_; }
  [[nodiscard]] Slot length(std::size_t transaction) const {
    return transactions_[transaction].length;
  }

  [[nodiscard]] std::span<const Touch> operator[](std::size_t transaction) const {
    const Transaction& entry = transactions_[transaction];
    return {touches_.data() + entry.begin, entry.count};
  }

  /// In a large batch a transaction drawn at random is in no cache. Announcing it some time before
  /// its use, in two steps, overlaps its cache misses with those of others.
  void announce(std::size_t transaction) const { __builtin_prefetch(&transactions_[transaction]); }
  void announce_touches(std::size_t transaction) const {
    constexpr std::size_t kLine = 64;
    const auto bytes = std::as_bytes((*this)[transaction]);
    for (std::size_t at = 0; at < bytes.size(); at += kLine) __builtin_prefetch(&bytes[at]);
  }

 private:
  struct Transaction {
    std::uint32_t begin;
    std::uint32_t count;
    Slot length;
  };

  std::vector<Touch> touches_;
  std::vector<Transaction> transactions_;
  std::size_t key_count_ = 0;
};

}  // namespace heddle::schedule
