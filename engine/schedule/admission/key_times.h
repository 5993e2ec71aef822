#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "machine/shared.h"
#include "schedule/admission/operation.h"
#include "schedule/admission/options.h"

namespace heddle::admission {

/// The time at which each hot key will be free: of the scheduled transactions, only the latest
/// writer and the latest of all count (SMF, VLDB 2024, §4.1.3: "for each hot key, we consider only
/// the conflicting operation of the latest transaction").
///
/// These are estimates of when transactions will have ended; an error costs time, never
/// correctness, which the protocol underneath ensures. So no operation here waits: there are two
/// words per key, each advanced by a compare-and-exchange that is tried a few times and then
/// abandoned. Every access is relaxed: the words publish no other data, and each alone only grows.
template <class M>
class KeyTimes {
 public:
  using Ticks = typename M::Ticks;

  explicit KeyTimes(Rules rules) : rules_(rules), keys_(kSlots) {}

  /// The earliest start, `now` or later, at which the scheduled transactions delay no operation.
  /// @param duration of the transaction
  [[nodiscard]] Ticks earliest(const Operations& operations, Ticks now, Ticks duration) const {
    Ticks start = now;
    for (const Operation& operation : operations) {
      start = later(start, operation, free_at(operation), duration);
    }
    return start;
  }

  /// Schedules a transaction, no earlier than `start`. Returns when it may begin: later than
  /// `earliest` returned if a key has been taken since.
  Ticks place(const Operations& operations, Ticks start, Ticks duration) {
    for (const Operation& operation : operations) {
      Key& key = keys_[operation.slot];
      if (operation.writes) {
        start = take(key.write, operation, later(start, operation, free_at(operation), duration),
                     duration);
      } else {
        start = later(start, operation, free_at(operation), duration);
      }
      extend(key.access, release(operation, start, duration));
    }
    return start;
  }

  /// Records a transaction that begins at once, whatever it conflicts with.
  void note(const Operations& operations, Ticks now, Ticks duration) {
    for (const Operation& operation : operations) {
      Key& key = keys_[operation.slot];
      const Ticks until = release(operation, now, duration);
      if (operation.writes) extend(key.write, until);
      extend(key.access, until);
    }
  }

 private:
  struct alignas(64) Key {
    Shared<M, Ticks> write;   ///< when the latest writer releases it
    Shared<M, Ticks> access;  ///< when the latest of all releases it
  };

  /// The times from which a key may be read and written.
  struct Free {
    Ticks to_read;
    Ticks to_write;
  };

  static constexpr int kTries = 4;

  static Ticks load(const Shared<M, Ticks>& word) { return word.load(std::memory_order_relaxed); }

  [[nodiscard]] Free free_at(const Operation& operation) const {
    const Key& key = keys_[operation.slot];
    return {operation.reads ? load(key.write) : 0, operation.writes ? load(key.access) : 0};
  }

  /// The time after its start at which a transaction needs the key to read it, and to write it:
  /// optimistic transactions write at their end.
  [[nodiscard]] Ticks read_after(const Operation& operation, Ticks duration) const {
    return part(operation, duration);
  }
  [[nodiscard]] Ticks write_after(const Operation& operation, Ticks duration) const {
    return rules_ == Rules::occ ? duration : part(operation, duration);
  }

  /// The time at which it releases the key: at its end, unless its writes are visible at once.
  [[nodiscard]] Ticks release(const Operation& operation, Ticks start, Ticks duration) const {
    if (rules_ != Rules::mvtso) return start + duration;
    return start + std::min(duration, part(operation, duration) + duration / kStep);
  }

  static Ticks part(const Operation& operation, Ticks duration) {
    return static_cast<Ticks>(operation.place * static_cast<float>(duration));
  }

  [[nodiscard]] Ticks later(Ticks start, const Operation& operation, const Free& free,
                            Ticks duration) const {
    start = std::max(start, before(free.to_read, read_after(operation, duration)));
    return std::max(start, before(free.to_write, write_after(operation, duration)));
  }

  static Ticks before(Ticks time, Ticks by) { return time > by ? time - by : 0; }

  /// Takes the key for a writer, after its present holder.
  Ticks take(Shared<M, Ticks>& word, const Operation& operation, Ticks start, Ticks duration) {
    Ticks seen = load(word);
    for (int attempt = 0; attempt < kTries; ++attempt) {
      start = later(start, operation, {operation.reads ? seen : 0, seen}, duration);
      const Ticks until = std::max(seen, release(operation, start, duration));
      if (word.compare_exchange(seen, until, std::memory_order_relaxed)) break;
    }
    return start;
  }

  /// Advances a word to a time, if that is later.
  static void extend(Shared<M, Ticks>& word, Ticks until) {
    Ticks seen = load(word);
    for (int attempt = 0; attempt < kTries && seen < until; ++attempt) {
      if (word.compare_exchange(seen, until, std::memory_order_relaxed)) break;
    }
  }

  /// The share of a transaction that one operation takes, under `mvtso`.
  static constexpr Ticks kStep = 8;

  Rules rules_;
  std::vector<Key> keys_;
};

}  // namespace heddle::admission
