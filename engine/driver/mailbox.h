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

/// A bounded queue that any worker may put into and one takes from (Vyukov's bounded queue). Nobody
/// waits: a full one refuses, an empty one gives nothing.
///
/// An item is a `T` and behind it a tail: bytes, as many for every item.
template <class M, class T>
class Mailbox {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @param room for at least so many
  explicit Mailbox(std::size_t room, std::size_t tail_bytes = 0)
      : cells_(std::bit_ceil(room)),
        tail_bytes_(tail_bytes),
        lines_per_cell_((sizeof(Cell) + tail_bytes + sizeof(Line) - 1) / sizeof(Line)),
        lines_(new Line[cells_ * lines_per_cell_]) {
    for (std::size_t at = 0; at < cells_; ++at) {
      new (lines_.get() + at * lines_per_cell_) Cell{};
      // relaxed: before any other worker looks.
      cell_at(at).turn.store(at, std::memory_order_relaxed);
    }
  }

  /// False: it is full.
  bool put(const T& item, const std::byte* tail = nullptr) {
    // relaxed: only a place to try; the cell's turn decides.
    std::uint64_t place = tail_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cell_at(place);
      // acquire: whoever emptied the cell has read it.
      const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn < place) return false;
      if (turn > place) {
        place = tail_.load(std::memory_order_relaxed);
        continue;
      }
      // relaxed: it gives the place away, and carries nothing.
      if (!tail_.compare_exchange(place, place + 1, std::memory_order_relaxed)) continue;
      M::on_store(&cell.item, sizeof(T) + tail_bytes_);
      cell.item = item;
      if (tail_bytes_ != 0) std::memcpy(tail_of(cell), tail, tail_bytes_);
      // release: with the taker's acquire.
      cell.turn.store(place + 1, std::memory_order_release);
      return true;
    }
  }

  /// False: it is empty. Only its owner takes.
  bool take(T& item, std::byte* tail = nullptr) {
    Cell& cell = cell_at(head_);
    // acquire: what was put is there.
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return false;
    M::on_load(&cell.item, sizeof(T) + tail_bytes_);
    item = cell.item;
    if (tail_bytes_ != 0) std::memcpy(tail, tail_of(cell), tail_bytes_);
    // release: with the acquire of the worker that puts into the cell next.
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
