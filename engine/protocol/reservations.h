#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "machine/shared.h"
#include "storage/record.h"

namespace heddle {

/// For each record that a batch has accessed, the smallest transaction id that reserved it for
/// writing and for reading (Aria, PVLDB 13(12), 2020).
///
/// Nothing is cleared between batches: every word carries a tag of its batch, and one of another
/// batch counts as empty. The table has a fixed size. A record that finds no free slot in reach of
/// its home shares one slot with all others of its kind; that aborts transactions which do not
/// conflict, but never the one with the smallest id.
///
/// Reservations are made in one phase of a batch and looked up in a later one. The barrier between
/// the two orders them, so all accesses are relaxed.
template <class M>
class Reservations {
 public:
  /// A transaction of a batch: what its reservations carry.
  struct Holder {
    std::uint64_t batch = 0;
    std::uint64_t id = 0;  ///< below 2^kIdBits; an earlier transaction has a smaller one
  };
  static constexpr int kIdBits = 48;

  /// The reservations of one record. They are empty where the tags are not the batch's.
  class Slot {
   public:
    void reserve_write(const Holder& holder) { reserve(write_, holder); }
    void reserve_read(const Holder& holder) { reserve(read_, holder); }

    /// Whether a transaction with a smaller id has reserved the record.
    [[nodiscard]] bool written_before(const Holder& holder) const {
      return precedes(write_.load(std::memory_order_relaxed), holder);
    }
    [[nodiscard]] bool read_before(const Holder& holder) const {
      return precedes(read_.load(std::memory_order_relaxed), holder);
    }

   private:
    friend class Reservations;
    /// Whether one that is not the holder has.
    [[nodiscard]] bool written_by_other(const Holder& holder) const {
      const std::uint64_t word = write_.load(std::memory_order_relaxed);
      return word >> kIdBits == tag_of(holder.batch) && word != word_of(holder);
    }

    static constexpr std::uint64_t kTags = (std::uint64_t{1} << (64 - kIdBits)) - 1;

    static std::uint64_t tag_of(std::uint64_t batch) { return batch % kTags + 1; }
    static std::uint64_t word_of(const Holder& holder) {
      return tag_of(holder.batch) << kIdBits | holder.id;
    }
    /// Within a batch the smaller word has the smaller id.
    static bool precedes(std::uint64_t word, const Holder& holder) {
      return word >> kIdBits == tag_of(holder.batch) && word < word_of(holder);
    }
    static void reserve(Shared<M, std::uint64_t>& reservation, const Holder& holder) {
      const std::uint64_t own = word_of(holder);
      std::uint64_t word = reservation.load(std::memory_order_relaxed);
      while (word >> kIdBits != tag_of(holder.batch) || own < word) {
        if (reservation.compare_exchange(word, own, std::memory_order_relaxed)) return;
      }
    }

    Shared<M, std::uint64_t> record_;
    Shared<M, std::uint64_t> write_;
    Shared<M, std::uint64_t> read_;
  };

  explicit Reservations(int workers)
      : count_(std::bit_ceil(
            std::max<std::size_t>(kLeast, kSlotsPerWorker * static_cast<std::size_t>(workers)))),
        shift_(64 - std::countr_zero(count_)),
        lines_(new Line[count_ / kSlotsPerLine + 1]) {}

  /// The record's slot in a batch; takes one if it has none.
  [[nodiscard]] Slot& claim(const Record<M>* record, std::uint64_t batch) {
    const std::uint64_t key = key_of(record, batch);
    std::size_t at = home(record);
    for (int probe = 0; probe < kReach; ++probe, at = (at + 1) & (count_ - 1)) {
      Slot& slot = slot_at(at);
      std::uint64_t seen = slot.record_.load(std::memory_order_relaxed);
      if (seen == key) return slot;
      if (!of_batch(seen, batch) &&
          slot.record_.compare_exchange(seen, key, std::memory_order_relaxed)) {
        return slot;
      }
      if (seen == key) return slot;  // another transaction was first
    }
    return slot_at(count_);
  }

  /// The record's slot in a batch; nullptr: it has none.
  [[nodiscard]] const Slot* find(const Record<M>* record, std::uint64_t batch) const {
    const std::uint64_t key = key_of(record, batch);
    std::size_t at = home(record);
    for (int probe = 0; probe < kReach; ++probe, at = (at + 1) & (count_ - 1)) {
      const Slot& slot = slot_at(at);
      const std::uint64_t seen = slot.record_.load(std::memory_order_relaxed);
      if (seen == key) return &slot;
      if (!of_batch(seen, batch)) return nullptr;
    }
    return &slot_at(count_);
  }

  /// Whether the smallest id that has reserved the record for writing is another's than the
  /// holder's. False where the record has no slot of its own.
  [[nodiscard]] bool written_by_other(const Record<M>* record, const Holder& holder) const {
    const Slot* slot = find(record, holder.batch);
    return slot != nullptr && slot != &slot_at(count_) && slot->written_by_other(holder);
  }

 private:
  /// The transactions of a batch are one per worker, and few access more rows.
  static constexpr std::size_t kSlotsPerWorker = 256;
  static constexpr std::size_t kLeast = 1024;
  static constexpr int kReach = 32;

  static constexpr std::size_t kSlotsPerLine = 2;
  /// Of the cache.
  struct alignas(64) Line {
    std::array<Slot, kSlotsPerLine> slots;
  };

  [[nodiscard]] Slot& slot_at(std::size_t at) const {
    return lines_[at / kSlotsPerLine].slots[at % kSlotsPerLine];
  }

  // A record's key: its address without the four bits that are 0, above a tag of the batch.
  static constexpr int kTagBits = 21;
  static constexpr std::uint64_t kTags = (std::uint64_t{1} << kTagBits) - 1;

  static std::uint64_t tag_of(std::uint64_t batch) { return batch % kTags + 1; }
  static std::uint64_t key_of(const Record<M>* record, std::uint64_t batch) {
    return reinterpret_cast<std::uintptr_t>(record) >> 4 << kTagBits | tag_of(batch);
  }
  static bool of_batch(std::uint64_t key, std::uint64_t batch) {
    return (key & kTags) == tag_of(batch);
  }
  [[nodiscard]] std::size_t home(const Record<M>* record) const {
    const auto bits = M::number_of(record) >> 4;
    return (bits * 0x9e37'79b9'7f4a'7c15ULL) >> shift_;
  }

  std::size_t count_;
  int shift_;
  std::unique_ptr<Line[]> lines_;  ///< the last slot is shared by all that find none
};

}  // namespace heddle
