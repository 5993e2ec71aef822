#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "protocol/outcome.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle {

/// One record that a transaction has accessed: read, written, or both.
template <class M>
struct Access {
  Record<M>* record;
  TableBase<M>* table;
  std::uint64_t seen;      ///< the TID word it must still have at commit
  const std::byte* value;  ///< what the transaction sees: its own write, else what it read
  std::byte* write;        ///< its own write, to be installed
  const std::byte* read;   ///< the committed content that it read; nullptr where it is not kept
  std::uint32_t bytes;     ///< the number of payload bytes in `value`
  std::uint32_t write_bytes;
  std::uint32_t read_bytes;
  AccessId state;       ///< the access that first touched it
  std::uint8_t writes;  ///< the number of times the transaction wrote it
  bool absent : 1;      ///< the row does not exist for this transaction
  bool removed : 1;     ///< the transaction deletes it
  bool dirty : 1;       ///< read from an uncommitted version
  bool pending : 1;     ///< a write that others can't see yet

  [[nodiscard]] bool written() const { return writes != 0; }
};
// One entry per cache line: a commit traverses the set several times.
static_assert(sizeof(void*) != 8 || sizeof(Access<struct AnyMachine>) == 64);

/// Memory for the values of one transaction: bump-allocated, reset as a whole. Chunks start at
/// cache-line boundaries: values that become visible are read by other cores.
class ValueArena {
 public:
  [[nodiscard]] std::byte* allocate(std::size_t bytes) {
    if (used_ + bytes > kChunkBytes) [[unlikely]]
      return grow(bytes);
    std::byte* block = current_ + used_;
    used_ += (bytes + 15) & ~std::size_t{15};
    return block;
  }

  /// Frees all allocations. Chunks are kept for the next large transaction: memory that other
  /// workers may have read must not be reused for something else while they run.
  void reset() {
    at_ = 0;
    current_ = start_of(chunks_.front());
    used_ = 0;
    if (!large_.empty()) [[unlikely]]
      large_.clear();
  }

 private:
  static constexpr std::size_t kChunkBytes = 64 * 1024;

  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  using Chunk = std::unique_ptr<Line[]>;

  static std::byte* start_of(const Chunk& chunk) {
    return reinterpret_cast<std::byte*>(chunk.get());
  }

  static Chunk chunk(std::size_t bytes) {
    // Not std::make_unique: the memory need not be cleared.
    return Chunk(new Line[(bytes + sizeof(Line) - 1) / sizeof(Line)]);
  }

  std::byte* grow(std::size_t bytes) {
    if (bytes > kChunkBytes / 4) {  // own chunk: bump allocation continues in the current one
      large_.push_back(chunk(bytes));
      return start_of(large_.back());
    }
    if (++at_ == chunks_.size()) chunks_.push_back(chunk(kChunkBytes));
    current_ = start_of(chunks_[at_]);
    used_ = 0;
    return allocate(bytes);
  }

  std::vector<Chunk> chunks_ = [] {
    std::vector<Chunk> first;
    first.push_back(chunk(kChunkBytes));
    return first;
  }();
  std::vector<Chunk> large_;
  std::size_t at_ = 0;  ///< the current chunk
  std::byte* current_ = start_of(chunks_.front());
  std::size_t used_ = 0;
};

/// The flat read/write set of a transaction, with O(1) lookup by record.
///
/// The lookup uses open addressing over entry numbers. Clearing it raises a base: a slot below the
/// base is empty, so a new transaction clears no memory.
template <class M>
class AccessSet {
 public:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};

  /// The position of a record in the lookup, present or not; valid until the set changes.
  struct Place {
    std::uint32_t entry;  ///< kNone: not in the set
    std::uint32_t slot;
  };

  AccessSet() : entries_(new Access<M>[kFirstSlots / 2]), slots_(kFirstSlots, 0) {}

  [[nodiscard]] std::uint32_t size() const { return size_; }
  [[nodiscard]] Access<M>& operator[](std::uint32_t entry) { return entries_[entry]; }
  [[nodiscard]] const Access<M>& operator[](std::uint32_t entry) const { return entries_[entry]; }
  [[nodiscard]] Access<M>* begin() { return entries_.get(); }
  [[nodiscard]] Access<M>* end() { return entries_.get() + size_; }

  [[nodiscard, gnu::always_inline]] Place locate(const Record<M>* record) const {
    for (std::uint32_t at = home(record);; at = next(at)) {
      const std::uint32_t slot = slots_[at];
      if (slot < base_) [[likely]]
        return {kNone, at};
      if (entries_[slot - base_].record == record) return {slot - base_, at};
    }
  }
  [[nodiscard]] std::uint32_t find(const Record<M>* record) const { return locate(record).entry; }

  /// Adds an entry; the caller sets its fields other than `record`. Precondition: `place` is
  /// locate(record), and the record is not in the set.
  [[gnu::always_inline]] Access<M>& append(Record<M>* record, Place place) {
    assert(place.entry == kNone);
    slots_[place.slot] = base_ + size_;
    Access<M>& access = entries_[size_++];
    access.record = record;
    if (size_ * 2 == slots_.size()) [[unlikely]]
      return enlarge();
    return access;
  }

  /// Precondition: find(access.record) == kNone.
  std::uint32_t add(const Access<M>& access) {
    append(access.record, locate(access.record)) = access;
    return size_ - 1;
  }

  /// Removes the entries from `count` on.
  void truncate(std::uint32_t count) {
    assert(count <= size_);
    forget_slots();
    size_ = count;
    for (std::uint32_t entry = 0; entry < count; ++entry) occupy(entry);
  }

  void clear() {
    forget_slots();
    size_ = 0;
    values_.reset();
  }

  [[nodiscard]] std::byte* allocate(std::size_t bytes) { return values_.allocate(bytes); }

 private:
  static constexpr std::size_t kFirstSlots = 256;
  static constexpr std::uint32_t kHighestBase = 0x7fff'ffff;

  [[nodiscard]] std::uint32_t home(const Record<M>* record) const {
    // Records are 16-byte aligned; the multiplier spreads neighbours (Fibonacci hashing).
    const auto bits = reinterpret_cast<std::uintptr_t>(record) >> 4;
    return static_cast<std::uint32_t>((bits * 0x9e37'79b9'7f4a'7c15ULL) >> shift_);
  }
  [[nodiscard]] std::uint32_t next(std::uint32_t at) const {
    return (at + 1) & (static_cast<std::uint32_t>(slots_.size()) - 1);
  }

  void occupy(std::uint32_t entry) {
    std::uint32_t at = home(entries_[entry].record);
    while (slots_[at] >= base_) at = next(at);
    slots_[at] = base_ + entry;
  }

  /// Slots hold base + entry; starts over before that could overflow.
  void forget_slots() {
    base_ += size_;
    if (base_ < kHighestBase) [[likely]]
      return;
    std::fill(slots_.begin(), slots_.end(), 0);
    base_ = 1;
  }

  /// Doubles everything when half the slots are taken. Returns the last entry at its new place.
  [[gnu::noinline, gnu::cold]] Access<M>& enlarge() {
    slots_.assign(slots_.size() * 2, 0);
    shift_ = 64 - std::countr_zero(slots_.size());
    base_ = 1;
    auto entries = std::unique_ptr<Access<M>[]>(new Access<M>[slots_.size() / 2]);
    std::copy(begin(), end(), entries.get());
    entries_ = std::move(entries);
    for (std::uint32_t entry = 0; entry < size_; ++entry) occupy(entry);
    return entries_[size_ - 1];
  }

  std::unique_ptr<Access<M>[]> entries_;
  std::uint32_t size_ = 0;
  std::vector<std::uint32_t> slots_;
  int shift_ = 64 - std::countr_zero(kFirstSlots);
  std::uint32_t base_ = 1;
  ValueArena values_;
};

}  // namespace heddle
