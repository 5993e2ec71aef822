#pragma once

#include <cassert>
#include <cstdint>

#include "machine/seeded_fault.h"
#include "machine/shared.h"

namespace heddle {

template <class M>
struct Record;

/// The direction of a scan.
enum class Order : std::uint8_t { ascending, descending };

/// The version of an index node that a scan or a miss observed: still valid at commit iff `*word ==
/// value`.
template <class M>
struct NodeVersion {
  const Shared<M, std::uint64_t>* word = nullptr;
  std::uint64_t value = 0;
};

/// What an insert changed in the index, in terms of a transaction's node set.
template <class M>
struct InsertResult {
  Record<M>* record = nullptr;  ///< the record now in the index: the new one or the existing one
  bool inserted = false;
  /// The node just before the insert; in an ordered index also set where nothing was inserted. A
  /// transaction whose node set holds exactly this may replace the value by `after` and add
  /// `created`: only its own insert came between.
  NodeVersion<M> before{};
  std::uint64_t after = 0;
  /// Nodes split off, which now cover part of the range `before` covered: only a leaf that splits
  /// makes one.
  static constexpr int kCreatedMax = 1;
  NodeVersion<M> created[kCreatedMax]{};
  int created_count = 0;
};

/// The word that guards an index node: bit 0 is the lock, the rest counts changes.
///
/// It is a sequence lock. A reader loads the word, reads the node's payload with *acquire* loads
/// and loads the word again: had any payload load seen a writer's (*release*) store, it would have
/// brought that writer's lock bit with it, and the second load would differ. So no fence is needed.
/// The count only grows, and only when the node's keys change; an observed value can therefore go
/// into a transaction's node set. It has 63 bits, 292 years of a change each nanosecond, so
/// overflow is not handled. A node taken out of the index counts one change and is never locked
/// again: a transaction that still holds its last value fails at the next check.
template <class M>
class VersionLock {
 public:
  static constexpr std::uint64_t kLocked = 1;
  static constexpr std::uint64_t kChange = 2;

  /// The current value; waits while the node is locked.
  [[nodiscard]] std::uint64_t await_unlocked() const noexcept {
    // acquire: payload loads that follow see at least the node of this version.
    std::uint64_t value = word_.load(std::memory_order_acquire);
    for (int spins = 0; (value & kLocked) != 0;) [[unlikely]] {
      M::relax(spins, &word_);
      value = word_.load(std::memory_order_acquire);  // acquire: as above
    }
    return value;
  }

  /// The current value, for callers that do not wait for a locked node.
  [[nodiscard]] std::uint64_t now() const noexcept {
    return word_.load(std::memory_order_acquire);  // acquire: as in await_unlocked()
  }

  /// Whether all that was read from the node since `seen` was loaded belongs to one version of it.
  [[nodiscard]] bool unchanged(std::uint64_t seen) const noexcept {
    // relaxed: the payload loads before it are acquire, so it cannot be reordered before them.
    return word_.load(std::memory_order_relaxed) == seen;
  }

  /// The same where `seen` is what now() returned, and may be a locked value.
  [[nodiscard]] bool unlocked_and_unchanged(std::uint64_t seen) const noexcept {
    if (seeded<M>(SeededFault::fetched_from_any_version)) return true;
    return (seen & kLocked) == 0 && unchanged(seen);
  }

  /// Takes the lock if the node is still at `seen`; then all that was read since is still valid.
  [[nodiscard]] bool try_lock(std::uint64_t seen) noexcept {
    assert((seen & kLocked) == 0);
    // seq_cst: of two transactions that each change a node and then validate the node the other
    // changed (also seq_cst), at least one must see the other; acquire alone lets both miss.
    return word_.compare_exchange(seen, seen | kLocked, std::memory_order_seq_cst);
  }

  /// Returns the new value.
  std::uint64_t unlock_changed() noexcept {
    const std::uint64_t next = (word_.peek() & ~kLocked) + kChange;
    assert((word_.peek() & kLocked) != 0);
    word_.store(next, std::memory_order_release);  // release: publishes the payload stores
    return next;
  }

  void unlock_unchanged() noexcept {
    assert((word_.peek() & kLocked) != 0);
    // release: keeps the holder's payload loads inside the lock.
    word_.store(word_.peek() & ~kLocked, std::memory_order_release);
  }

  [[nodiscard]] const Shared<M, std::uint64_t>* word() const noexcept { return &word_; }

 private:
  Shared<M, std::uint64_t> word_;
};

}  // namespace heddle
