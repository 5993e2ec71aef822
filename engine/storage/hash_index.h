#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/record.h"
#include "storage/shared_key.h"
#include "storage/storage.h"

namespace heddle {

/// Maps keys to records, unordered: one cache line for most finds.
///
/// A fixed array of buckets, each a cache line of slots (two lines for keys of three words and
/// more); a full bucket continues in overflow buckets. One version word, the first bucket's, guards
/// the whole chain; a miss adds that word to a transaction's node set.
///
/// The array does not grow: it is sized so that `expected_rows` take half its slots. With f times
/// the expected rows a chain has about f / 2 buckets. So pass the number of rows at the end of a
/// run, or use an OrderedIndex.
///
/// Callers are inside an epoch, so that the overflow buckets they meet stay readable.
template <class M, class K>
class HashIndex {
 public:
  static constexpr IndexKind kKind = IndexKind::hash;

  HashIndex(Storage<M>& storage, std::size_t expected_rows)
      : storage_{storage},
        bucket_count_{std::max<std::size_t>(8, (2 * expected_rows + kSlots - 1) / kSlots)} {
    void* memory = storage_.allocate(kSetupWorker, bucket_count_ * sizeof(Bucket));
    buckets_ = static_cast<Bucket*>(memory);
    for (std::size_t i = 0; i < bucket_count_; ++i) new (buckets_ + i) Bucket;
  }

  HashIndex(const HashIndex&) = delete;
  HashIndex& operator=(const HashIndex&) = delete;

  /// The record of `key`; or nullptr, and `seen` then guards the key's absence.
  [[nodiscard]] Record<M>* find(const K& key, NodeVersion<M>& seen) const {
    const Bucket& head = bucket_of(key);
    for (int spins = 0;; M::relax(spins)) {
      const std::uint64_t version = head.version.await_unlocked();
      Record<M>* const record = lookup(head, key);
      if (!head.version.unchanged(version)) [[unlikely]]
        continue;
      if (record == nullptr) seen = {head.version.word(), version};
      return record;
    }
  }

  /// Maps `key` to `record` unless it is mapped already.
  InsertResult<M> insert(int worker, const K& key, Record<M>* record) {
    assert(record != nullptr);
    Bucket& head = bucket_of(key);
    for (int spins = 0;; M::relax(spins)) {
      const std::uint64_t version = head.version.await_unlocked();
      const Probe probe = search(head, key);
      if (probe.record != nullptr) {
        if (!head.version.unchanged(version)) continue;
        return {.record = probe.record};
      }
      if (!head.version.try_lock(version)) continue;
      Slot& slot = probe.free != nullptr ? *probe.free : extend(worker, *probe.last);
      slot.key.store(key);
      slot.record.store(record, std::memory_order_release);  // release: publishes the record
      return {.record = record,
              .inserted = true,
              .before = {head.version.word(), version},
              .after = head.version.unlock_changed()};
    }
  }

  /// Unmaps `key` if it is mapped to `record`.
  bool remove(int worker, const K& key, const Record<M>* record) {
    assert(record != nullptr);
    Bucket& head = bucket_of(key);
    for (int spins = 0;; M::relax(spins)) {
      const std::uint64_t version = head.version.await_unlocked();
      const Probe probe = search(head, key);
      if (probe.record != record) {
        if (!head.version.unchanged(version)) continue;
        return false;
      }
      if (!head.version.try_lock(version)) continue;
      probe.slot->record.store(nullptr, std::memory_order_release);  // release: payload
      Bucket* const dropped = unlink_if_empty(probe);
      head.version.unlock_changed();
      if (dropped != nullptr) storage_.retire(worker, dropped, sizeof(Bucket));
      return true;
    }
  }

  /// Calls `f(key, record)` for every record, in no order. Quiescent only.
  template <class F>
  void for_each(F f) const {
    for (std::size_t i = 0; i < bucket_count_; ++i) {
      const Bucket* bucket = buckets_ + i;
      for (; bucket != nullptr; bucket = bucket->overflow.peek()) {
        for (const Slot& slot : bucket->slots) {
          if (slot.record.peek() != nullptr) f(slot.key.peek(), slot.record.peek());
        }
      }
    }
  }

  /// Starts fetching the cache line that a find of `key` reads first. Returns its address.
  const void* prefetch(const K& key) const noexcept {
    const Bucket& head = bucket_of(key);
    M::fetch_ahead(&head, sizeof(Bucket));
    return &head;
  }

  /// The result of find() if the fetched line is enough to determine it; else nullptr, also while a
  /// writer holds the bucket. Never waits.
  /// @param place what prefetch() returned for this key, in the same epoch
  [[nodiscard, gnu::always_inline]] Record<M>* find_at(const void* place,
                                                       const K& key) const noexcept {
    const auto& head = *static_cast<const Bucket*>(place);
    const std::uint64_t version = head.version.now();
    for (const Slot& slot : head.slots) {
      if (!slot.key.equals(key)) continue;
      // acquire: payload (VersionLock); and the record's own contents
      Record<M>* const record = slot.record.load(std::memory_order_acquire);
      if (record != nullptr) return head.version.unlocked_and_unchanged(version) ? record : nullptr;
    }
    return nullptr;
  }

 private:
  static constexpr int kSetupWorker = 0;
  static constexpr std::size_t kLine = 64;

  /// Empty iff `record` is null; an empty slot keeps the key it had before.
  struct Slot {
    SharedKey<M, K> key;
    Shared<M, Record<M>*> record;
  };

  static constexpr std::size_t kHeader = 16;  // version and overflow
  static constexpr std::size_t kBucketBytes =
      kLine * ((kHeader + 2 * sizeof(Slot) + kLine - 1) / kLine);  // at least two slots
  static constexpr std::size_t kSlots = (kBucketBytes - kHeader) / sizeof(Slot);

  struct alignas(kLine) Bucket {
    VersionLock<M> version;  // unused in an overflow bucket: the head's guards the chain
    Shared<M, Bucket*> overflow;
    std::array<Slot, kSlots> slots;
  };
  static_assert(sizeof(Bucket) == kBucketBytes && std::is_trivially_destructible_v<Bucket>);

  /// Where a search of a chain ended.
  struct Probe {
    Slot* slot = nullptr;         // the key's slot, if it has one,
    Record<M>* record = nullptr;  // and what it holds
    Slot* free = nullptr;         // the first empty slot met
    Bucket* last = nullptr;       // the bucket the search ended in, and
    Bucket* previous = nullptr;   // the one before it, if `last` is an overflow bucket
  };

  [[nodiscard]] Bucket& bucket_of(const K& key) const noexcept {
    __extension__ using Wide = unsigned __int128;
    // The high half of the product scales the hash to [0, bucket_count_).
    return buckets_[static_cast<std::size_t>((Wide{hash_of(key)} * bucket_count_) >> 64)];
  }

  [[nodiscard]] static Record<M>* lookup(const Bucket& head, const K& key) noexcept {
    const Bucket* bucket = &head;
    do {
      for (const Slot& slot : bucket->slots) {
        if (!slot.key.equals(key)) continue;
        // acquire: payload (VersionLock); and the record's own contents
        Record<M>* const record = slot.record.load(std::memory_order_acquire);
        if (record != nullptr) return record;
      }
      bucket = bucket->overflow.load(std::memory_order_acquire);  // acquire: the bucket's contents
    } while (bucket != nullptr);
    return nullptr;
  }

  [[nodiscard]] static Probe search(Bucket& head, const K& key) noexcept {
    Probe probe;
    for (Bucket* bucket = &head; bucket != nullptr;) {
      probe.previous = probe.last;
      probe.last = bucket;
      for (Slot& slot : bucket->slots) {
        // acquire: payload (VersionLock); and the record's own contents
        Record<M>* const record = slot.record.load(std::memory_order_acquire);
        if (record == nullptr) {
          if (probe.free == nullptr) probe.free = &slot;
        } else if (slot.key.equals(key)) {
          probe.slot = &slot;
          probe.record = record;
          return probe;
        }
      }
      bucket = bucket->overflow.load(std::memory_order_acquire);  // acquire: the bucket's contents
    }
    return probe;
  }

  /// Adds a bucket behind the last of a locked chain.
  Slot& extend(int worker, Bucket& last) {
    assert(last.overflow.peek() == nullptr);
    auto* const bucket = new (storage_.allocate(worker, sizeof(Bucket))) Bucket;
    last.overflow.store(bucket, std::memory_order_release);  // release: the empty slots
    return bucket->slots.front();
  }

  /// Takes a bucket that a removal emptied out of its locked chain, unless it is the chain's head.
  static Bucket* unlink_if_empty(const Probe& probe) noexcept {
    if (probe.previous == nullptr) return nullptr;
    for (const Slot& slot : probe.last->slots) {
      if (slot.record.peek() != nullptr) return nullptr;
    }
    // release: payload. The bucket keeps its own link, so that readers inside it can leave it.
    probe.previous->overflow.store(probe.last->overflow.peek(), std::memory_order_release);
    return probe.last;
  }

  Storage<M>& storage_;
  const std::size_t bucket_count_;
  Bucket* buckets_ = nullptr;  // owned by storage_
};

}  // namespace heddle
