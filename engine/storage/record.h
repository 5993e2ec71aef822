#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "machine/seeded_fault.h"
#include "machine/shared.h"
#include "storage/shared_bytes.h"
#include "storage/tid.h"

namespace heddle {

/// An overwritten version, kept for snapshot readers. The payload follows the header.
template <class M>
struct Version {
  std::uint64_t word;  ///< the TID word it was committed with
  Version* previous;
  [[nodiscard]] const std::byte* payload() const {
    return reinterpret_cast<const std::byte*>(this + 1);
  }
  [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
};

/// A record's past: the chain of its overwritten versions, and whether an unlink of the record is
/// pending. Changed only under the record's lock.
template <class M>
class Past {
 public:
  [[nodiscard]] const Version<M>* newest(std::memory_order order) const noexcept {
    return version_of(word_.load(order));
  }
  [[nodiscard]] Version<M>* newest() const noexcept { return version_of(word_.peek()); }
  void add(Version<M>* version) noexcept {
    // release: a reader that follows the link sees the version's content.
    word_.store(reinterpret_cast<std::uintptr_t>(version) | (word_.peek() & kToUnlink),
                std::memory_order_release);
  }

  [[nodiscard]] bool to_unlink() const noexcept { return (word_.peek() & kToUnlink) != 0; }
  void set_to_unlink(bool to_unlink) noexcept {
    // relaxed: only holders of the lock read the flag, and the chain is unchanged.
    word_.store((word_.peek() & ~kToUnlink) | (to_unlink ? kToUnlink : 0),
                std::memory_order_relaxed);
  }

 private:
  static constexpr std::uintptr_t kToUnlink = 1;  // versions are 16-byte aligned

  static Version<M>* version_of(std::uintptr_t word) noexcept {
    return reinterpret_cast<Version<M>*>(word & ~kToUnlink);
  }

  Shared<M, std::uintptr_t> word_;
};

/// A record: TID word, chain of past versions, the payload in place, then the key.
///
/// The header holds nothing for protocols other than Silo: what they need in addition is kept in
/// separate tables, so that a protocol that is not running costs no memory and no cache line.
template <class M>
struct Record {
  Shared<M, std::uint64_t> word;
  Past<M> past;

  [[nodiscard]] std::byte* payload() { return reinterpret_cast<std::byte*>(this + 1); }
  [[nodiscard]] const std::byte* payload() const {
    return reinterpret_cast<const std::byte*>(this + 1);
  }
};

/// Copies `bytes` (a multiple of 8) out of a record that another core may be overwriting.
template <class M>
[[gnu::always_inline]] inline void copy_from_record(void* to, const std::byte* from,
                                                    std::size_t bytes) noexcept {
  M::on_load(from, bytes);
  shared_bytes::load(to, from, bytes);
}

/// Copies `bytes` (a multiple of 8) into a record whose TID word the caller has locked. A reader
/// that sees any of it also sees the lock.
template <class M>
inline void copy_to_record(std::byte* to, const void* from, std::size_t bytes) noexcept {
  M::on_store(to, bytes);
  shared_bytes::store(to, from, bytes);
}

/// A consistent copy of the first `bytes` of the record. Returns the TID word it was committed with
/// (never locked). The payload of an absent record has no meaning.
template <class M>
[[gnu::always_inline]] inline std::uint64_t read_stable(const Record<M>& record, void* to,
                                                        std::size_t bytes) noexcept {
  int spins = 0;
  while (true) {
    // acquire: the payload read below is at least as new as this word.
    const std::uint64_t before = record.word.load(std::memory_order_acquire);
    if (!tid::locked(before)) [[likely]] {
      copy_from_record<M>(to, record.payload(), bytes);
      // acquire is not needed: the loads of the copy keep this load after them.
      if (seeded<M>(SeededFault::read_without_second_look) ||
          record.word.load(std::memory_order_relaxed) == before) [[likely]]
        return before;
    }
    M::relax(spins, &record.word);
  }
}

/// Locks the record's TID word; returns the word without the lock bit.
template <class M>
inline std::uint64_t lock_record(Record<M>& record) noexcept {
  int spins = 0;
  while (true) {
    std::uint64_t word = record.word.load(std::memory_order_relaxed);  // relaxed: the CAS decides
    // seq_cst: Silo's validation needs this lock ordered before the loads that validate.
    if (!tid::locked(word) &&
        record.word.compare_exchange(word, word | tid::kLock, std::memory_order_seq_cst)) {
      return word;
    }
    M::relax(spins, &record.word);
  }
}

/// Replaces the TID word of a record the caller has locked, and so unlocks it.
template <class M>
inline void unlock_record(Record<M>& record, std::uint64_t word) noexcept {
  // release: what was installed under the lock is visible to every reader of this word.
  record.word.store(word, std::memory_order_release);
}

}  // namespace heddle
