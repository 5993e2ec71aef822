#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "machine/shared.h"
#include "storage/epochs.h"
#include "storage/tid.h"

namespace heddle {

/// Timestamps for transactions, each issued once, and the oldest one still in use.
///
/// A timestamp is a TID version: the epoch above, a sequence below. take() is for a transaction
/// that begins, so that a transaction that begins after another has ended comes after it, and its
/// epoch is at least the one its worker has announced. So when an epoch is two behind, all its
/// timestamps have ended, as Silo's commits have, and snapshots by epoch (Silo §4.9) are snapshots
/// by timestamp. A timestamp is never of a future epoch: where the current one has none left, the
/// worker waits for the next when it begins, and does not commit under next().
template <class M>
class Timestamps {
 public:
  /// @param epoch of the first timestamp; no existing version is of this epoch
  /// @param used the number of its timestamps that are not issued
  Timestamps(int workers, std::uint64_t epoch, std::uint64_t used = 0)
      : workers_(workers), slots_(new Slot[static_cast<std::size_t>(workers)]) {
    // relaxed: no worker is running.
    last_.store(tid::first_of_epoch(epoch) + used * tid::kStep, std::memory_order_relaxed);
  }

  static constexpr std::uint64_t kNone = 0;

  /// The next timestamp. It is in use until the worker takes another. Returns kNone if the run was
  /// stopped while the worker waited for one. The worker holds no reference, so it may announce
  /// epochs.
  template <class Stopped>
  std::uint64_t take(int worker, Epochs<M>& epochs, Stopped stopped) {
    while (true) {
      const std::uint64_t epoch = epochs.announced(worker);
      const std::uint64_t first = tid::first_of_epoch(epoch);
      // seq_cst: before everything that this transaction notes for others to see; see
      // OrderedIndex::note_removal().
      const std::uint64_t timestamp =
          last_.fetch_add(tid::kStep, std::memory_order_seq_cst) + tid::kStep;
      if (timestamp >= first) [[likely]] {
        const std::uint64_t needed = tid::epoch(timestamp);
        if (needed > epoch && needed > epochs.peek()) [[unlikely]] {
          if (!await(needed, worker, epochs, stopped)) return kNone;
          continue;
        }
        // release: a worker that sees it also sees that the transaction with the previous one has
        // ended. Until then the previous one, which is older, stands in for it.
        slots_[worker].timestamp.store(timestamp, std::memory_order_release);
        return timestamp;
      }
      std::uint64_t last = timestamp;
      while (last < first && !last_.compare_exchange(last, first, std::memory_order_seq_cst)) {
      }
    }
  }

  /// The next timestamp, for what the worker commits now: greater than every one that has been
  /// issued. The one it took before stays in use. Returns kNone if the epoch has none left.
  std::uint64_t next(int worker, const Epochs<M>& epochs) {
    // seq_cst: the records that the worker has locked are locked for all that take a later one.
    const std::uint64_t timestamp =
        last_.fetch_add(tid::kStep, std::memory_order_seq_cst) + tid::kStep;
    const std::uint64_t needed = tid::epoch(timestamp);
    return needed > epochs.announced(worker) && needed > epochs.peek() ? kNone : timestamp;
  }

  /// A timestamp that is not newer than any in use now or later.
  ///
  /// The last timestamp of an idle worker may be old; but the worker has then left its epoch, and
  /// every running worker has announced an epoch that its timestamps are not older than.
  [[nodiscard]] std::uint64_t oldest_in_use(const Epochs<M>& epochs) const {
    // Before the slots: a worker that takes a timestamp after this has an epoch at least this
    // one's.
    const std::uint64_t reclaimable = epochs.reclaimable();
    std::uint64_t oldest = last_.load(std::memory_order_seq_cst);
    for (int worker = 0; worker < workers_; ++worker) {
      // acquire: pairs with the release in take().
      oldest = std::min(oldest, slots_[worker].timestamp.load(std::memory_order_acquire));
    }
    return std::max(oldest, tid::first_of_epoch(reclaimable + 1));
  }

  [[nodiscard]] const Shared<M, std::uint64_t>& last() const { return last_; }

 private:
  struct alignas(64) Slot {
    Shared<M, std::uint64_t> timestamp{0};
  };

  /// Waits until `epoch` has begun, and helps to advance it. Returns false if stopped.
  template <class Stopped>
  static bool await(std::uint64_t epoch, int worker, Epochs<M>& epochs, Stopped stopped) {
    for (int spins = 0; epochs.current() < epoch; M::relax(spins)) {
      if (stopped()) return false;
      epochs.enter(worker);
      (void)epochs.advance(M::now());
    }
    epochs.enter(worker);
    return true;
  }

  int workers_;
  std::unique_ptr<Slot[]> slots_;
  alignas(64) Shared<M, std::uint64_t> last_;
};

}  // namespace heddle
