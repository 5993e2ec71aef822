#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace heddle {

/// What each access of a transaction returned to its procedure, so that the procedure can be run
/// again with the same results up to a validated point (Polyjuice §4.3: retry from the last
/// successful validation). No stack is saved: procedures are deterministic in their input and what
/// they read.
class ReplayLog {
 public:
  struct Row {
    const void* key;
    const void* value;
    std::uint32_t entry;
  };

  [[nodiscard]] std::uint32_t size() const { return size_; }
  /// Whether the next access is to be served from the log.
  [[nodiscard]] bool replaying() const { return cursor_ < size_; }

  void add_row(const void* value, std::uint32_t entry) { add({value, entry, 0}); }
  void add_write(bool ok) { add({nullptr, 0, ok ? 1u : 0u}); }
  void add_scan() { add({nullptr, static_cast<std::uint32_t>(scanned_.size()), 0}); }
  void add_scan_row(const void* key, const void* value, std::uint32_t entry) {
    scanned_.push_back({key, value, entry});
    ++items_[size_ - 1].number;
  }

  [[nodiscard]] Row next_row() {
    const Item& item = items_[cursor_++];
    return {nullptr, item.value, item.first};
  }
  [[nodiscard]] bool next_write() { return items_[cursor_++].number != 0; }
  template <class F>
  void next_scan(F visit) {
    const Item& item = items_[cursor_++];
    for (std::uint32_t row = 0; row < item.number; ++row) visit(scanned_[item.first + row]);
  }

  /// Keeps the first `count` accesses and starts serving them.
  void rewind(std::uint32_t count) {
    size_ = count;  // rows of scans after it are no longer referenced
    cursor_ = 0;
  }

  void clear() {
    size_ = 0;
    cursor_ = 0;
    scanned_.clear();
  }

 private:
  /// A read: its value and entry. A write: `number` says whether it succeeded. A scan: the first of
  /// its rows and their number.
  struct Item {
    const void* value;
    std::uint32_t first;
    std::uint32_t number;
  };

  [[gnu::always_inline]] void add(const Item& item) {
    if (size_ == capacity_) [[unlikely]]
      grow();
    items_[size_++] = item;
    cursor_ = size_;
  }

  [[gnu::noinline]] void grow() {
    capacity_ *= 2;
    items_.resize(capacity_);
  }

  // Grows and never shrinks: the size in use is kept separately, so that appending takes only a few
  // instructions.
  std::uint32_t capacity_ = 64;
  std::vector<Item> items_ = std::vector<Item>(capacity_);
  std::uint32_t size_ = 0;
  std::uint32_t cursor_ = 0;
  std::vector<Row> scanned_;
};

}  // namespace heddle
