#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "machine/shared.h"

namespace heddle {

/// A bounded queue that any worker may put into and one takes from (Vyukov's bounded queue). Nobody
/// waits: a full one refuses, an empty one gives nothing.
template <class M, class T>
class Mailbox {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @param room for at least so many
  explicit Mailbox(std::size_t room) : cells_(std::bit_ceil(room)) {
    for (std::size_t at = 0; at < cells_.size(); ++at) {
      // relaxed: before anybody else looks.
      cells_[at].turn.store(at, std::memory_order_relaxed);
    }
  }

  /// False: it is full.
  bool put(const T& item) {
    // relaxed: only a place to try; the cell's turn decides.
    std::uint64_t place = tail_.load(std::memory_order_relaxed);
    while (true) {
      Cell& cell = cells_[place % cells_.size()];
      // acquire: whoever emptied the cell has read it.
      const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
      if (turn < place) return false;
      if (turn > place) {
        place = tail_.load(std::memory_order_relaxed);
        continue;
      }
      // relaxed: it gives the place away, and carries nothing.
      if (!tail_.compare_exchange(place, place + 1, std::memory_order_relaxed)) continue;
      M::on_store(&cell.item, sizeof(T));
      cell.item = item;
      // release: with the taker's acquire.
      cell.turn.store(place + 1, std::memory_order_release);
      return true;
    }
  }

  /// False: it is empty. Only its owner takes.
  bool take(T& item) {
    Cell& cell = cells_[head_ % cells_.size()];
    // acquire: what was put is there.
    if (cell.turn.load(std::memory_order_acquire) != head_ + 1) return false;
    M::on_load(&cell.item, sizeof(T));
    item = cell.item;
    // release: with the acquire of whoever puts into the cell next.
    cell.turn.store(head_ + cells_.size(), std::memory_order_release);
    ++head_;
    return true;
  }

 private:
  struct Cell {
    alignas(64) Shared<M, std::uint64_t> turn;
    T item;
  };

  std::vector<Cell> cells_;
  alignas(64) Shared<M, std::uint64_t> tail_;
  alignas(64) std::uint64_t head_ = 0;  ///< the owner's
};

}  // namespace heddle
