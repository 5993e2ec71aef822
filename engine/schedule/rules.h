#pragma once

#include <algorithm>
#include <concepts>

#include "schedule/batch.h"
#include "schedule/touches.h"

/// The start times that a concurrency control protocol allows (Cheng et al., VLDB 2024, §2.1, and
/// the simulator published with it).
///
/// Each set of rules keeps a few integers per key about the placed transactions. `earliest` is the
/// first start that one touch allows, possibly below 1; `place` records that a transaction was
/// placed. A transaction's own operations never constrain it.
namespace heddle::schedule {

template <typename R>
concept Rules =
    requires(const typename R::Key& seen, typename R::Key& changed, const Touch& touch) {
      { R::earliest(seen, touch) } -> std::same_as<Slot>;
      { R::place(changed, touch, Slot{}, Slot{}) } -> std::same_as<void>;
      { R::kReadsOrderReads } -> std::convertible_to<bool>;
    };

/// Multi-version timestamp ordering, writes visible at once: a read comes after the key's last
/// write, a write after the key's last access.
struct Mvtso {
  static constexpr bool kReadsOrderReads = false;

  struct Key {
    Slot write = 0;   ///< time of the last write
    Slot access = 0;  ///< time of the last read or write
  };

  static Slot earliest(const Key& key, const Touch& touch) {
    return std::max(key.write + 2 - touch.first(), key.access + 2 - touch.first_write);
  }

  static void place(Key& key, const Touch& touch, Slot start, Slot /*end*/) {
    if (touch.writes()) key.write = std::max(key.write, start + touch.last_write - 1);
    key.access = std::max(key.access, start + touch.last - 1);
  }
};

/// Two-phase locking: a lock lasts from its operation to the transaction's end, and readers share
/// it.
struct Lock {
  static constexpr bool kReadsOrderReads = true;

  struct Key {
    Slot start = 0;        ///< of the newest lock
    Slot end = 0;          ///< of it and those that share it
    bool written = false;  ///< whether it is exclusive
  };

  static Slot earliest(const Key& key, const Touch& touch) {
    if (key.written) return key.end + 2 - touch.first();
    return std::max(key.start + 1 - touch.first_read, key.end + 2 - touch.first_write);
  }

  /// Once a transaction has written, its lock is exclusive, whatever follows.
  static void place(Key& key, const Touch& touch, Slot start, Slot end) {
    const bool shared = !key.written && !touch.writes();
    key = {start + touch.last - 1, shared ? std::max(key.end, end) : end, touch.writes()};
  }
};

/// Optimistic concurrency control: a transaction's writes become visible when it ends, and what it
/// has read must not change before that.
struct Occ {
  static constexpr bool kReadsOrderReads = false;

  struct Key {
    Slot newest = 0;       ///< the latest access of all transactions placed
    Slot end = 0;          ///< of the transaction that made that access
    Slot write = 0;        ///< the latest write
    bool written = false;  ///< whether the latest access is a write
  };

  static Slot earliest(const Key& key, const Touch& touch) {
    if (key.written) return key.end + 1 - touch.first();
    return std::max(key.end + 1 - touch.first_write, key.write + 2 - touch.first_read);
  }

  static void place(Key& key, const Touch& touch, Slot start, Slot end) {
    if (touch.writes()) key.write = start + touch.last_write - 1;
    const Slot last = start + touch.last - 1;
    if (last < key.newest) return;
    key.newest = last;
    key.end = end;
    key.written = touch.last_write == touch.last;
  }
};

static_assert(Rules<Mvtso> && Rules<Lock> && Rules<Occ>);

}  // namespace heddle::schedule
