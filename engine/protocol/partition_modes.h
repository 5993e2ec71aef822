#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "machine/shared.h"
#include "protocol/spin_latch.h"

namespace heddle {

/// Mean and variance of some latencies, in ticks.
class LatencyTally {
 public:
  void add(double ticks) {
    ++count_;
    const double before = ticks - mean_;
    mean_ += before / static_cast<double>(count_);
    squares_ += before * (ticks - mean_);
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] double mean() const { return mean_; }
  /// The squared standard error of the mean. Precondition: at least two latencies.
  [[nodiscard]] double squared_error() const {
    const auto n = static_cast<double>(count_);
    return squares_ / ((n - 1) * n);
  }
  /// Whether this mean is the lower one by more than two standard errors of the difference.
  [[nodiscard]] bool surely_below(const LatencyTally& other) const {
    return mean_ + 2 * std::sqrt(squared_error() + other.squared_error()) < other.mean_;
  }

 private:
  std::uint64_t count_ = 0;
  double mean_ = 0;
  double squares_ = 0;  ///< sum of the squared distances from the mean
};

/// Decides whether the records of one partition are locked or only validated. It compares the mean
/// latency of the transactions that touch the partition, from the first attempt to the commit. With
/// a fixed number of workers, throughput is its inverse; it has every cost of a conflict in it:
/// waits, aborted attempts and backoff.
///
/// The mode that is not in use is tried for one span every now and then, and kept if transactions
/// are surely faster. Trials become rarer while they fail, and are due at once after the latency
/// has changed.
class PartitionMode {
 public:
  /// @param samples latencies of a span; at least 2
  explicit PartitionMode(std::uint64_t samples)
      : samples_(samples), to_skip_(samples / kSkippedShare) {}

  [[nodiscard]] bool locks() const { return locks_; }

  /// Takes the latency of a committed transaction, and decides at the end of a span.
  void committed(double ticks) {
    if (to_skip_ != 0) {
      --to_skip_;
      return;
    }
    span_.add(ticks);
    if (span_.count() < samples_) return;
    if (trying_) {
      end_trial();
    } else {
      end_span();
    }
    span_ = {};
  }

 private:
  /// A span begins when this share of its number has ended: they began in the mode before.
  static constexpr std::uint64_t kSkippedShare = 4;
  static constexpr std::uint64_t kFewestSpans = 8;  ///< between two trials
  static constexpr std::uint64_t kMostSpans = 128;
  static constexpr double kChange = 1.5;  ///< of the latency, after which a trial is due

  void end_trial() {
    trying_ = false;
    if (span_.surely_below(usual_)) {
      usual_ = span_;
      between_ = kFewestSpans;
    } else {
      between_ = std::min(2 * between_, kMostSpans);
      change_mode();
    }
    until_trial_ = between_;
    decided_at_ = usual_.mean();
  }

  void end_span() {
    usual_ = span_;
    const bool changed = decided_at_ != 0 && (usual_.mean() > kChange * decided_at_ ||
                                              usual_.mean() * kChange < decided_at_);
    if (changed) between_ = kFewestSpans;
    if (!changed && --until_trial_ != 0) return;
    trying_ = true;
    change_mode();
  }

  void change_mode() {
    locks_ = !locks_;
    to_skip_ = samples_ / kSkippedShare;
  }

  std::uint64_t samples_;
  std::uint64_t to_skip_;
  bool locks_ = false;
  bool trying_ = false;
  LatencyTally span_;              ///< so far
  LatencyTally usual_;             ///< of the last span in the mode that is kept
  double decided_at_ = 0;          ///< the mean latency at the last decision; 0: none yet
  std::uint64_t until_trial_ = 1;  ///< spans
  std::uint64_t between_ = kFewestSpans / 2;
};

/// The partitions of a run, each with its mode, for two-phase locking that mixes both.
///
/// The mixed execution of CormCC (Tang and Elmore, USENIX ATC 2018): all accesses to a partition
/// follow one protocol, a transaction may touch partitions of both, and the protocol of a partition
/// changes while transactions run. Here that needs no protocol of its own for the change: a commit
/// validates what was locked as well (LockingTransaction), so a transaction is right whatever the
/// modes were at each of its accesses.
template <class M>
class PartitionModes {
 public:
  /// @param count of the partitions
  /// @param span PartitionMode's number of latencies
  PartitionModes(std::size_t count, std::uint64_t span)
      : count_(count), partitions_(new Partition[count]) {
    for (std::size_t at = 0; at < count; ++at) partitions_[at].mode = PartitionMode(span);
  }

  [[nodiscard]] std::size_t count() const { return count_; }

  [[nodiscard]] bool locks(std::size_t partition) const {
    // relaxed: both answers are right, see above.
    return partitions_[partition].locks.load(std::memory_order_relaxed) != 0;
  }

  /// Takes the latency of a committed transaction that has touched the partition.
  void committed(std::size_t partition, double ticks) {
    Partition& changed = partitions_[partition];
    changed.latch.latch();
    const bool before = changed.mode.locks();
    changed.mode.committed(ticks);
    // relaxed: see locks().
    if (changed.mode.locks() != before) {
      changed.locks.store(changed.mode.locks() ? 1 : 0, std::memory_order_relaxed);
    }
    changed.latch.unlatch();
  }

 private:
  /// Two cache lines: reading the mode does not wait for the tallies.
  struct Partition {
    alignas(64) Shared<M, std::uint64_t> locks;
    alignas(64) SpinLatch<M> latch;
    PartitionMode mode{2};
  };

  std::size_t count_;
  std::unique_ptr<Partition[]> partitions_;
};

/// The partitions that one transaction touches, and its latency.
template <class M>
class TouchedPartitions {
 public:
  /// @param modes nullptr: everything is locked
  explicit TouchedPartitions(PartitionModes<M>* modes)
      : modes_(modes), touched_in_(modes == nullptr ? 0 : modes->count()) {}

  /// @param first an attempt that is not a retry
  void begin(bool first) {
    if (modes_ == nullptr || !first) return;
    touched_.clear();
    ++transaction_;
    began_ = transaction_ % kSampled == 0 ? M::now() : 0;
  }

  /// Whether the record with a word of that partition is to be locked.
  [[nodiscard]] bool locks(std::uint64_t word) {
    if (modes_ == nullptr) return true;
    const std::size_t partition = word % modes_->count();
    if (began_ != 0 && touched_in_[partition] != transaction_) {
      touched_in_[partition] = transaction_;
      touched_.push_back(partition);
    }
    return modes_->locks(partition);
  }

  void committed() {
    if (modes_ == nullptr || began_ == 0) return;
    const auto latency = static_cast<double>(M::now() - began_);
    for (const std::size_t partition : touched_) modes_->committed(partition, latency);
  }

 private:
  /// Every second transaction is measured: the others pay for no clock and no latch.
  static constexpr std::uint64_t kSampled = 2;

  PartitionModes<M>* modes_;
  std::vector<std::uint64_t> touched_in_;  ///< by partition: the transaction that last touched it
  std::vector<std::size_t> touched_;
  std::uint64_t transaction_ = 0;
  typename M::Ticks began_ = 0;  ///< 0: it is not measured
};

}  // namespace heddle
