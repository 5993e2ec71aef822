#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "observe/history.h"

namespace heddle::check {

/// The operations by which an attempt writes, the latest first.
///
/// They lie in the log. Until the attempt is over none has a version or a place, so the list keeps
/// in these fields what it needs to know: the entry of the access set, and the operation before.
class OwnWrites {
 public:
  /// No entry of the access set is known to be the operation's.
  static constexpr std::uint32_t kNoEntry = ~std::uint32_t{0};

  /// Forgets them: another attempt begins, or the same once more.
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

  /// Calls `settle(operation, entry)` for each, whose version and place are 0 by then. The list is
  /// of no use after that.
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

  /// Whether one of them may be to a row of the table from key `first` to `last`: most scans are of
  /// other rows than the transaction writes, and need not be compared with them one by one.
  [[nodiscard]] bool may_be_between(std::uint8_t table, std::uint64_t first, std::uint64_t last) {
    for (const Operation* write = latest_; write != spanned_; write = before(*write)) {
      spans_[write->table].include(write->key, attempt_);
    }
    spanned_ = latest_;
    const Span& span = spans_[table];
    return span.attempt == attempt_ && span.first <= last && span.last >= first;
  }

 private:
  /// The keys of a table's own writes lie between these.
  struct Span {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::uint64_t attempt = 0;  ///< whose writes

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
  std::array<Span, 256> spans_{};  ///< by table; of who scans
};

}  // namespace heddle::check
