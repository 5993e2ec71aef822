#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

#include "machine/shared.h"

namespace heddle {

/// A bounded queue with many producers and one consumer (Vyukov's bounded queue). No operation
/// waits: a full queue refuses an item, an empty one returns none.
///
/// An item is a `T` followed by a tail of bytes; all tails have the same length.
template <class M, class T>
class Mailbox {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// Holds at least the given number of items.
  explicit Mailbox(std::size_t room, std::size_t tail_bytes = 0)
      : cells_(std::bit_ceil(room)),
        tail_bytes_(tail_bytes),
        lines_per_cell_((sizeof(Cell) + tail_bytes + sizeof(Line) - 1) / sizeof(Line)),
        lines_(new Line[cells_ * lines_per_cell_]) {
    for (std::size_t at = 0; at < cells_; ++at) {
      new (lines_.get() + at * lines_per_cell_) Cell{};
      // relaxed: before any other worker accesses it.
      cell_at(at).turn.store(at, std::memory_order_relaxed);
    }
  }

  /// Returns false if it is full.
  bool put(const T& item, const std::byte* tail = nullptr) {
    // relaxed: only a first guess; the cell's turn decides.
    std::uint64_t place = tail_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cell_at(place);
      // acquire: the consumer that emptied the cell has read it.
      const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn < place) return false;
      if (turn > place) {
        place = tail_.load(std::memory_order_relaxed);
        continue;
      }
      // relaxed: it claims the place and publishes nothing.
      if (!tail_.compare_exchange(place, place + 1, std::memory_order_relaxed)) continue;
      M::on_store(&cell.item, sizeof(T) + tail_bytes_);
      cell.item = item;
      if (tail_bytes_ != 0) std::memcpy(tail_of(cell), tail, tail_bytes_);
      // release: pairs with the consumer's acquire.
      cell.turn.store(place + 1, std::memory_order_release);
      return true;
    }
  }

  /// Returns false if it is empty. Only its owner takes.
  bool take(T& item, std::byte* tail = nullptr) {
    Cell& cell = cell_at(head_);
    // acquire: the item is complete.
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return false;
    M::on_load(&cell.item, sizeof(T) + tail_bytes_);
    item = cell.item;
    if (tail_bytes_ != 0) std::memcpy(tail, tail_of(cell), tail_bytes_);
    // release: pairs with the acquire of the producer that fills the cell next.
    cell.turn.store(head_ + cells_, std::memory_order_release);
    ++head_;
    return true;
  }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  struct Cell {
    Shared<M, std::uint64_t> turn;
    T item;
  };
  static_assert(alignof(Cell) <= alignof(Line));

  Cell& cell_at(std::uint64_t place) {
    return *std::launder(reinterpret_cast<Cell*>(lines_.get() + place % cells_ * lines_per_cell_));
  }
  static std::byte* tail_of(Cell& cell) { return reinterpret_cast<std::byte*>(&cell + 1); }

  std::size_t cells_;
  std::size_t tail_bytes_;
  std::size_t lines_per_cell_;
  std::unique_ptr<Line[]> lines_;
  alignas(64) Shared<M, std::uint64_t> tail_;
  alignas(64) std::uint64_t head_ = 0;  ///< the owner's
};

}  // namespace heddle
