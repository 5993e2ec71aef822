#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "check/transactions.h"

namespace heddle::check {

/// The operations of a history by their row, and the ranges it scanned.
class KeyGroups {
 public:
  explicit KeyGroups(const Transactions& transactions);

  [[nodiscard]] std::uint32_t size() const { return static_cast<std::uint32_t>(keys_.size()); }
  struct Key {
    std::uint64_t word;
    std::uint8_t table;
  };
  [[nodiscard]] const Key& key(std::uint32_t id) const { return keys_[id]; }
  /// In the order of workers and, for each, of time. Reads of own writes are left out.
  [[nodiscard]] std::span<const Place> operations(std::uint32_t id) const {
    return std::span(places_).subspan(first_[id], first_[std::size_t{id} + 1] - first_[id]);
  }
  [[nodiscard]] const std::vector<Place>& ranges() const { return ranges_; }
  /// Operations of Kind::broken.
  [[nodiscard]] const std::vector<Place>& broken() const { return broken_; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  /// Prefetches an operation of this key or the next, far enough ahead of its use. To be called for
  /// each operation, key by key.
  void prefetch_after(const Transactions& transactions, const Place& now) const {
    const auto at = static_cast<std::size_t>(&now - places_.data()) + kFar;
    if (at < places_.size()) __builtin_prefetch(&transactions.operation(places_[at]));
  }
  /// Frees the operations by key.
  void forget_operations() {
    places_ = {};
    first_ = {};
  }

 private:
  static constexpr std::size_t kFar = 24;

  /// A hash table of keys: open addressing over their numbers.
  class Numbering;

  void number(const Transactions& transactions);

  std::vector<Key> keys_;
  std::vector<std::uint32_t> numbers_;  ///< during construction
  std::vector<std::uint64_t> first_;
  std::vector<Place> places_;
  std::vector<Place> ranges_;
  std::vector<Place> broken_;
  std::uint64_t operations_ = 0;
};

}  // namespace heddle::check
