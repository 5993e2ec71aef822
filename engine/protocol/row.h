#pragma once

#include <cstdint>

namespace heddle {

/// A row as its transaction sees it: a private copy that stays valid until the transaction ends.
/// Falsy if the row does not exist or the transaction must stop.
template <class V>
class Row {
 public:
  Row() = default;
  Row(const V* value, std::uint32_t entry) : value_(value), entry_(entry) {}

  explicit operator bool() const { return value_ != nullptr; }
  const V& operator*() const { return *value_; }
  const V* operator->() const { return value_; }
  [[nodiscard]] const V* get() const { return value_; }

  /// Its index in the transaction's access set.
  [[nodiscard]] std::uint32_t entry() const { return entry_; }

 private:
  const V* value_ = nullptr;
  std::uint32_t entry_ = 0;
};

}  // namespace heddle
