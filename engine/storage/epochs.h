#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <memory>

#include "machine/seeded_fault.h"
#include "machine/shared.h"
#include "storage/tid.h"

namespace heddle {

/// Epochs (Silo §4.1), advanced by the workers themselves at transaction boundaries.
///
/// Each worker announces the epoch it runs in. The global epoch advances once every running worker
/// has announced it, so no worker lags more than one epoch behind. No lock is taken: a worker that
/// is stuck in a transaction delays the epoch and nothing else.
///
/// The oldest announced epoch also bounds reclamation. Memory retired at epoch r may be reused once
/// every running worker has announced r + 2: to get from r to r + 1 the retiring worker must itself
/// have announced a boundary after it unlinked the block, and a worker that reads r + 2 has
/// synchronised with that announcement.
///
/// TID words hold epochs up to tid::kLastEpoch: 497 days of the default period. After that the
/// epoch stands still, as if a worker held it back.
template <class M>
class Epochs {
 public:
  static constexpr double kPeriodUs = 10'000;
  /// A snapshot is taken once in this many epochs (Silo §4.9).
  static constexpr std::uint64_t kEpochsPerSnapshot = 16;
  static constexpr std::uint64_t kIdle = 0;

  /// @param last the epoch that never ends
  explicit Epochs(int workers, std::uint64_t last = tid::kLastEpoch)
      : workers_(workers), last_epoch_(last), slots_(new Slot[static_cast<std::size_t>(workers)]) {}

  [[nodiscard]] std::uint64_t current() const noexcept {
    // seq_cst: a commit reads its epoch after it locked its write set, and Silo's argument needs
    // both in one total order with those of every other worker.
    return global_.load(std::memory_order_seq_cst);
  }

  /// The same without ordering and without a charged cost: for rare decisions.
  [[nodiscard]] std::uint64_t peek() const noexcept { return global_.peek(); }

  /// Whether the last epoch has begun.
  [[nodiscard]] bool used_up() const noexcept { return peek() >= last_epoch_; }

  /// Continues from a later epoch. No worker may be running.
  void skip_to(std::uint64_t epoch) noexcept {
    // relaxed: no worker is running.
    global_.store(std::max(epoch, global_.peek()), std::memory_order_relaxed);
  }

  /// Sets the length of an epoch, in microseconds. No worker may be running.
  void set_period(double us) { period_ = M::ticks(us); }

  /// Announces a transaction boundary of `worker`; cheap while the epoch stands still. Returns true
  /// if the epoch advanced since the worker's last boundary.
  bool enter(int worker) noexcept {
    Shared<M, std::uint64_t>& announced = slots_[worker].announced;
    // acquire: pairs with the advancing worker's release, for what that worker saw unlinked.
    std::uint64_t epoch = global_.load(std::memory_order_acquire);
    if (announced.peek() == epoch) [[likely]]
      return false;
    while (true) {
      // seq_cst exchange: the announcement must be visible before this worker reads any pointer;
      // and a worker that computed a horizon without it must be noticed by the second check below.
      announced.exchange(epoch, std::memory_order_seq_cst);
      const std::uint64_t again = global_.load(std::memory_order_seq_cst);
      if (again == epoch) return true;
      epoch = again;
    }
  }

  /// The worker holds no reference and will announce an epoch before it takes one.
  void leave(int worker) noexcept {
    // release: everything it read or unlinked happened before it left.
    slots_[worker].announced.store(kIdle, std::memory_order_release);
  }

  [[nodiscard]] std::uint64_t announced(int worker) const noexcept {
    return slots_[worker].announced.peek();
  }

  /// Advances the epoch if it is due and every running worker has reached it.
  void advance_if_due(typename M::Ticks now) noexcept {
    // relaxed: only decides when to try.
    const auto last = last_advance_.load(std::memory_order_relaxed);
    if (now < last + period_) [[likely]]  // `last` may be another core's time, and ahead
      return;
    advance(now);
  }

  /// Advances the epoch if every running worker has reached it, due or not.
  bool advance(typename M::Ticks now) noexcept {
    std::uint64_t epoch = global_.load(std::memory_order_seq_cst);
    if (oldest_announced() < epoch || epoch >= last_epoch_) return false;
    last_advance_.store(now, std::memory_order_relaxed);  // relaxed: a hint
    // seq_cst: as in current(). It also passes on what the announcements published; see the class
    // comment.
    return global_.compare_exchange(epoch, epoch + 1, std::memory_order_seq_cst);
  }

  /// Blocks retired at or before this epoch can no longer be reached by any worker.
  [[nodiscard]] std::uint64_t reclaimable() const noexcept {
    if (seeded<M>(SeededFault::early_reclamation)) return current();
    const std::uint64_t oldest = std::min(oldest_announced(), current());
    return oldest < 2 ? 0 : oldest - 2;
  }

  /// The snapshot that a read-only transaction running in `epoch` reads: a multiple of
  /// kEpochsPerSnapshot of which every commit has been installed. A worker that runs in epoch e
  /// proves that all commits up to e - 2 are complete.
  [[nodiscard]] static std::uint64_t snapshot_of(std::uint64_t epoch) noexcept {
    if (seeded<M>(SeededFault::snapshot_of_now)) return epoch;
    const std::uint64_t complete = epoch < 2 ? 0 : epoch - 2;
    // Epoch 1 is the loaded database: the first snapshot.
    return std::max<std::uint64_t>(1, complete / kEpochsPerSnapshot * kEpochsPerSnapshot);
  }

  /// Whether no snapshot separates commits of the two epochs: the older version is then of no use
  /// to readers.
  [[nodiscard]] static bool same_snapshot(std::uint64_t a, std::uint64_t b) noexcept {
    return snapshot_ceiling(a) == snapshot_ceiling(b);
  }

 private:
  struct alignas(64) Slot {
    Shared<M, std::uint64_t> announced{kIdle};
  };

  /// The first snapshot that includes a commit of `epoch`.
  static std::uint64_t snapshot_ceiling(std::uint64_t epoch) noexcept {
    if (epoch <= 1) return 1;
    return (epoch + kEpochsPerSnapshot - 1) / kEpochsPerSnapshot * kEpochsPerSnapshot;
  }

  [[nodiscard]] std::uint64_t oldest_announced() const noexcept {
    std::uint64_t oldest = std::numeric_limits<std::uint64_t>::max();
    for (int worker = 0; worker < workers_; ++worker) {
      // seq_cst: pairs with the exchange and second check in enter().
      const std::uint64_t epoch = slots_[worker].announced.load(std::memory_order_seq_cst);
      if (epoch != kIdle) oldest = std::min(oldest, epoch);
    }
    return oldest;
  }

  int workers_;
  std::uint64_t last_epoch_;
  std::unique_ptr<Slot[]> slots_;
  typename M::Ticks period_ = M::ticks(kPeriodUs);
  alignas(64) Shared<M, std::uint64_t> global_{2};
  alignas(64) Shared<M, typename M::Ticks> last_advance_{0};
};

}  // namespace heddle
