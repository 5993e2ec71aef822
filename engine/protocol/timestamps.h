#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>

#include "machine/shared.h"
#include "storage/epochs.h"
#include "storage/tid.h"

namespace heddle {

/// Timestamps for transactions, each given out once, and the oldest one still in use.
///
/// A timestamp is a TID version: the epoch above, a sequence below. It is taken when a transaction
/// begins, so that who begins after another has ended comes after it, and its epoch is at least the
/// one its worker has announced. So when an epoch is two behind, all its timestamps are through, as
/// Silo's commits are, and snapshots by epoch (Silo §4.9) are snapshots by timestamp.
template <class M>
class Timestamps {
 public:
  /// @param epoch in which the first one is given out; no version that exists is of it
  Timestamps(int workers, std::uint64_t epoch)
      : workers_(workers), slots_(new Slot[static_cast<std::size_t>(workers)]) {
    last_.store(tid::first_of_epoch(epoch), std::memory_order_relaxed);  // relaxed: nobody runs
  }

  /// The next one, for a worker that has announced `epoch`. It is in use until the next is taken.
  std::uint64_t take(int worker, std::uint64_t epoch) {
    const std::uint64_t first = tid::first_of_epoch(epoch);
    while (true) {
      // seq_cst: before whatever this transaction notes for others to see; see
      // OrderedIndex::note_removal().
      const std::uint64_t timestamp =
          last_.fetch_add(tid::kStep, std::memory_order_seq_cst) + tid::kStep;
      if (timestamp >= first) [[likely]] {
        // release: who sees it also sees that what had the one before is through. Until then that
        // one stands for it, and is older.
        slots_[worker].timestamp.store(timestamp, std::memory_order_release);
        return timestamp;
      }
      std::uint64_t last = timestamp;
      while (last < first && !last_.compare_exchange(last, first, std::memory_order_seq_cst)) {
      }
    }
  }

  /// A timestamp that none in use now or later is older than.
  ///
  /// A worker's last one may be old, for it idles; but then it has left its epoch, and whoever runs
  /// has announced one that his timestamps are not older than.
  [[nodiscard]] std::uint64_t oldest_in_use(const Epochs<M>& epochs) const {
    // Before the slots: who takes one after this has an epoch at least this one's.
    const std::uint64_t reclaimable = epochs.reclaimable();
    std::uint64_t oldest = last_.load(std::memory_order_seq_cst);
    for (int worker = 0; worker < workers_; ++worker) {
      // acquire: with the release in take().
      oldest = std::min(oldest, slots_[worker].timestamp.load(std::memory_order_acquire));
    }
    return std::max(oldest, tid::first_of_epoch(reclaimable + 1));
  }

  [[nodiscard]] const Shared<M, std::uint64_t>& last() const { return last_; }

 private:
  struct alignas(64) Slot {
    Shared<M, std::uint64_t> timestamp{0};
  };

  int workers_;
  std::unique_ptr<Slot[]> slots_;
  alignas(64) Shared<M, std::uint64_t> last_;
};

}  // namespace heddle
