#pragma once

#include <algorithm>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "machine/shared.h"
#include "protocol/expected_access.h"
#include "protocol/version_table.h"

namespace heddle {

/// A write that its transaction is expected to make and has not made. It belongs to its
/// transaction; others access it only under the queue's latch.
template <class M>
struct alignas(64) ExpectedWrite {
  ExpectedWrite* next = nullptr;
  std::uint64_t name = 0;  ///< of the row; 0: it is in no queue
  std::uint64_t timestamp = 0;
  VersionOwner<M>* owner = nullptr;
  std::uint64_t incarnation = 0;
};

/// The expected writes per row (MVSchedO: Cheng et al., PVLDB 17(11), 2024, §4.2, algorithm 1):
/// later transactions wait for them, so that the writes need not be refused.
///
/// Only writes are waited for. An operation that comes later than a read does not affect it: the
/// read finds the version it needs at any time.
template <class M>
class WriteQueues {
 public:
  explicit WriteQueues(int workers)
      : bucket_count_(std::bit_ceil(
            std::max<std::size_t>(kLeast, kBucketsPerWorker * static_cast<std::size_t>(workers)))),
        shift_(64 - std::countr_zero(bucket_count_)),
        buckets_(new Bucket[bucket_count_]) {}

  void add(ExpectedWrite<M>& write) {
    Bucket& bucket = bucket_of(write.name);
    bucket.latch();
    M::on_store(&write);
    write.next = bucket.head;
    bucket.head = &write;
    bucket.unlatch();
  }

  void remove(ExpectedWrite<M>& write) {
    Bucket& bucket = bucket_of(write.name);
    bucket.latch();
    ExpectedWrite<M>** link = &bucket.head;
    while (*link != &write) {
      M::on_load(*link);
      link = &(*link)->next;
    }
    *link = write.next;
    bucket.unlatch();
    write.name = 0;
  }

  /// What an operation has to wait for: a worker's context, and the progress that it has to
  /// announce.
  struct Earlier {
    VersionOwner<M>* owner = nullptr;  ///< nullptr: nothing
    std::uint64_t incarnation = 0;
    std::uint32_t progress = 0;
  };
  /// The last transaction before `timestamp` that is expected to write the row.
  [[nodiscard]] Earlier last_before(std::uint64_t name, std::uint64_t timestamp) {
    Bucket& bucket = bucket_of(name);
    if (bucket.empty()) return {};
    bucket.latch();
    const ExpectedWrite<M>* last = nullptr;
    for (const ExpectedWrite<M>* write = bucket.head; write != nullptr; write = write->next) {
      M::on_load(write);
      if (write->name != name || write->timestamp >= timestamp) continue;
      if (last == nullptr || write->timestamp > last->timestamp) last = write;
    }
    Earlier earlier;
    // It announces progress after it has left the queue, so not before this read.
    if (last != nullptr) earlier = {last->owner, last->incarnation, last->owner->progress() + 1};
    bucket.unlatch();
    return earlier;
  }

 private:
  struct alignas(64) Bucket {
    Shared<M, std::uint64_t> state;  ///< bit 0: latched; bit 1: there are writes
    ExpectedWrite<M>* head = nullptr;

    void latch() noexcept {
      int spins = 0;
      // acquire: the queue as the last holder left it.
      while ((state.fetch_or(kLatched, std::memory_order_acquire) & kLatched) != 0) {
        M::relax(spins, &state);
      }
    }
    void unlatch() noexcept {
      // release: as above.
      state.store(head == nullptr ? 0 : kOccupied, std::memory_order_release);
    }
    /// Reads without the latch; may be out of date at once, as if the write had arrived later.
    [[nodiscard]] bool empty() const noexcept {
      return (state.load(std::memory_order_acquire) & kOccupied) == 0;  // acquire: for the hint
    }
  };

  static constexpr std::uint64_t kLatched = 1;
  static constexpr std::uint64_t kOccupied = 2;
  static constexpr std::size_t kLeast = 1024;
  static constexpr std::size_t kBucketsPerWorker = 64;

  [[nodiscard]] Bucket& bucket_of(std::uint64_t name) { return buckets_[name >> shift_]; }

  std::size_t bucket_count_;
  int shift_;
  std::unique_ptr<Bucket[]> buckets_;
};

/// One transaction's entries in the queues.
template <class M>
class ExpectedWrites {
 public:
  ExpectedWrites(WriteQueues<M>& queues, VersionOwner<M>& self) : queues_(queues), self_(self) {}

  /// Sets what its transactions are expected to do from here on.
  void expect(std::span<const ExpectedAccess> accesses) {
    names_.clear();
    for (const ExpectedAccess& access : accesses) {
      if (!access.writes) continue;
      const std::uint64_t name = VersionTable<M>::name_of(access.table, access.key);
      if (std::find(names_.begin(), names_.end(), name) == names_.end()) names_.push_back(name);
    }
  }

  void begin(std::uint64_t timestamp) {
    assert(waiting_ == 0);
    while (writes_.size() < names_.size()) writes_.emplace_back();
    for (std::size_t at = 0; at < names_.size(); ++at) {
      writes_[at].name = names_[at];
      writes_[at].timestamp = timestamp;
      writes_[at].owner = &self_;
      writes_[at].incarnation = self_.incarnation();
      queues_.add(writes_[at]);
    }
    waiting_ = queued_ = names_.size();
  }

  /// Its expected write of the row has been made.
  void done(std::uint64_t name) {
    if (waiting_ == 0) return;
    for (std::size_t at = 0; at < queued_; ++at) {
      if (writes_[at].name == name) return leave(writes_[at]);
    }
  }

  /// Ends the transaction: its remaining expected writes will not be made.
  /// @return whether a transaction may be waiting for its end
  bool end() {
    for (std::size_t at = 0; at < queued_ && waiting_ != 0; ++at) {
      if (writes_[at].name == 0) continue;
      queues_.remove(writes_[at]);
      --waiting_;
    }
    return std::exchange(queued_, 0) != 0;
  }

  [[nodiscard]] typename WriteQueues<M>::Earlier last_before(std::uint64_t name,
                                                             std::uint64_t timestamp) {
    return queues_.last_before(name, timestamp);
  }

 private:
  void leave(ExpectedWrite<M>& write) {
    queues_.remove(write);
    --waiting_;
    self_.announce(self_.progress() + 1);
  }

  WriteQueues<M>& queues_;
  VersionOwner<M>& self_;
  std::vector<std::uint64_t> names_;
  // A deque: elements keep their addresses while the pool grows.
  std::deque<ExpectedWrite<M>> writes_;
  std::size_t queued_ = 0;   ///< the number of writes put into queues
  std::size_t waiting_ = 0;  ///< the number of those still in a queue
};

/// A transaction without expectations.
template <class M>
struct NothingExpected {
  static void begin(std::uint64_t) {}
  static void done(std::uint64_t) {}
  static bool end() { return false; }
};

}  // namespace heddle
