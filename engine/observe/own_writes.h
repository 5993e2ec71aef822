#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "observe/history.h"

namespace heddle::check {

/// The writes of an attempt, the latest first.
///
/// They are stored in the log. Until the attempt has ended none has a version or a place, so the
/// list keeps in these fields the entry of the access set and the previous write.
class OwnWrites {
 public:
  /// The operation has no known entry of the access set.
  static constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};

  /// Clears the list: another attempt begins, or the same procedure runs again.
  void clear() {
    latest_ = nullptr;
    spanned_ = nullptr;
    ++attempt_;
  }

  [[gnu::always_inline]] void add(Operation& write, std::uint32_t entry) {
    write.version = entry;
    write.place = reinterpret_cast<std::uintptr_t>(latest_);
    latest_ = &write;
  }

  /// Calls `visit(operation, entry)` for each, until it returns false.
  template <class F>
  void look_through(F visit) const {
    for (const Operation* write = latest_; write != nullptr; write = before(*write)) {
      if (!visit(*write, static_cast<std::uint32_t>(write->version))) return;
    }
  }

  /// Calls `settle(operation, entry)` for each, whose version and place are 0 by then. The list
  /// must not be used after that.
  template <class F>
  void settle(F settle) {
    for (Operation* write = latest_; write != nullptr;) {
      Operation& one = *write;
      const auto entry = static_cast<std::uint32_t>(one.version);
      write = before(one);
      one.version = one.place = 0;
      settle(one, entry);
    }
  }

  /// Whether one of them may be to a row of the table from key `first` to `last`. Most scans are of
  /// rows that the transaction does not write, and need not be compared with each write.
  [[nodiscard]] bool may_be_between(std::uint8_t table, std::uint64_t first, std::uint64_t last) {
    for (const Operation* write = latest_; write != spanned_; write = before(*write)) {
      spans_[write->table].include(write->key, attempt_);
    }
    spanned_ = latest_;
    const Span& span = spans_[table];
    return span.attempt == attempt_ && span.first <= last && span.last >= first;
  }

 private:
  /// Bounds of the keys of a table's own writes.
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t attempt = 0;  ///< the attempt that wrote them

    void include(std::uint64_t key, std::uint64_t current) {
      if (attempt != current) {
        *this = {.first = key, .last = key, .attempt = current};
      } else {
        first = std::min(first, key);
        last = std::max(last, key);
      }
    }
  };

  static Operation* before(const Operation& write) {
    return reinterpret_cast<Operation*>(write.place);
  }

  Operation* latest_ = nullptr;
  const Operation* spanned_ = nullptr;  ///< it and those before it are in the spans
  std::uint64_t attempt_ = 1;
  std::array<Span, 256> spans_{};  ///< by table; used by scans
};

}  // namespace heddle::check
