#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "machine/shared.h"
#include "machine/signal.h"
#include "protocol/timeline.h"
#include "storage/record.h"

namespace heddle {

/// A worker's state in the lock table.
template <class M>
struct alignas(64) LockOwner {
  Signal<M> granted;                   ///< advances with every lock granted after a wait
  Shared<M, std::uint64_t> waits_for;  ///< owner number + 1 of a blocker, for diagnosis
  int worker = 0;
  typename M::Ticks waited = 0;  ///< since the owner last reset it
};

/// The time of a transaction's first attempt; kept over its retries, so that it becomes the oldest
/// and wins.
struct LockAge {
  std::uint64_t began = 0;
  int worker = 0;
  auto operator<=>(const LockAge&) const = default;
};

/// A record's position in the global locking order.
struct LockOrder {
  std::uint32_t rank = 0;
  std::uint64_t key = 0;
  auto operator<=>(const LockOrder&) const = default;
};

/// One transaction's request for one record. It belongs to its transaction.
template <class M>
struct alignas(64) LockRequest {
  LockRequest* previous = nullptr;
  LockRequest* next = nullptr;
  Record<M>* record = nullptr;
  LockOwner<M>* owner = nullptr;
  LockAge age;
  bool exclusive = false;
  bool granted = false;
  bool upgrading = false;  ///< granted shared, waiting for exclusive; no new request passes it
};

/// How a conflict is resolved.
enum class ConflictRule : std::uint8_t { wait_die, no_wait };

/// Record locks, shared and exclusive, granted in the order of their requests.
///
/// Wait-die: a transaction may wait for younger ones and dies otherwise (Rosenkrantz et al. 1978).
/// Polyjuice (OSDI 2021, §7.1) adds that a request in global lock order never needs to die. Each
/// rule alone excludes deadlock, but both together do not: an old transaction may wait out of order
/// for a young one that waits, in order, for it. A cycle must contain a wait that only the order
/// allows (the waiter is younger) and one out of order. The table therefore never lets waits of
/// these two kinds exist at once: the second to arrive dies.
template <class M>
class LockTable {
 public:
  explicit LockTable(int workers, const Shared<M, std::uint64_t>& stop)
      : stop_(stop),
        bucket_count_(std::bit_ceil(
            std::max<std::size_t>(kLeast, kBucketsPerWorker * static_cast<std::size_t>(workers)))),
        shift_(64 - std::countr_zero(bucket_count_)),
        buckets_(new Bucket[bucket_count_]) {}

  /// Requests a lock. `request` has record, owner, age and exclusive set.
  /// @param ordered the record comes after every lock its transaction holds
  /// @return false if the transaction must die; the request is then not in the table.
  bool acquire(LockRequest<M>& request, bool ordered, ConflictRule rule) {
    M::on_control();
    Bucket& bucket = bucket_of(request.record);
    bucket.latch();
    LockRequest<M>* blocker = nullptr;
    bool oldest = true;
    for (LockRequest<M>* other = bucket.head; other != nullptr; other = other->next) {
      M::on_load(other);
      if (!conflicts(*other, request)) continue;
      blocker = other;
      oldest = oldest && request.age < other->age;
    }
    request.granted = blocker == nullptr;
    if (request.granted) {
      bucket.append(&request);
      bucket.unlatch();
      return true;
    }
    const std::uint64_t kind = kind_of_wait(oldest, ordered);
    if (rule == ConflictRule::no_wait || (!oldest && !ordered) || !admit(kind)) {
      bucket.unlatch();
      return false;
    }
    bucket.append(&request);
    return wait(bucket, request, *blocker, kind);
  }

  /// Upgrades a shared lock that its transaction holds to an exclusive one.
  bool upgrade(LockRequest<M>& request, ConflictRule rule) {
    Bucket& bucket = bucket_of(request.record);
    bucket.latch();
    LockRequest<M>* blocker = nullptr;
    bool may_wait = rule == ConflictRule::wait_die;
    for (LockRequest<M>* other = bucket.head; other != nullptr; other = other->next) {
      if (other->record != request.record || other == &request) continue;
      if (other->granted) blocker = other;
      // Waiting requests would wait for more than they agreed to, and another upgrade would wait
      // for this one; only holders may be waited for.
      may_wait = may_wait && other->granted && !other->upgrading && request.age < other->age;
    }
    if (blocker == nullptr) {
      request.exclusive = true;
      bucket.unlatch();
      return true;
    }
    if (!may_wait || !admit(kUnordered)) {
      bucket.unlatch();
      return false;
    }
    request.upgrading = true;
    return wait(bucket, request, *blocker, kUnordered);
  }

  void release(LockRequest<M>& request) {
    Bucket& bucket = bucket_of(request.record);
    bucket.latch();
    bucket.unlink(&request);
    grant_waiting(bucket, request.record);
    bucket.unlatch();
  }

 private:
  struct alignas(64) Bucket {
    Shared<M, std::uint64_t> latched;
    LockRequest<M>* head = nullptr;
    LockRequest<M>* tail = nullptr;

    void latch() noexcept {
      int spins = 0;
      // acquire: the requests as the last holder left them.
      while (latched.exchange(1, std::memory_order_acquire) != 0) M::relax(spins);
    }
    void unlatch() noexcept { latched.store(0, std::memory_order_release); }  // release: as above

    void append(LockRequest<M>* request) {
      request->previous = tail;
      request->next = nullptr;
      (tail == nullptr ? head : tail->next) = request;
      tail = request;
    }
    void unlink(LockRequest<M>* request) {
      (request->previous == nullptr ? head : request->previous->next) = request->next;
      (request->next == nullptr ? tail : request->next->previous) = request->previous;
    }
  };

  static constexpr std::size_t kLeast = 1024;
  static constexpr std::size_t kBucketsPerWorker = 128;
  // Two counters in one word: waits that only the order allows, and waits out of order.
  static constexpr std::uint64_t kOnlyOrdered = 1;
  static constexpr std::uint64_t kUnordered = std::uint64_t{1} << 32;
  static constexpr std::uint64_t kHarmless = 0;

  [[nodiscard]] Bucket& bucket_of(const Record<M>* record) {
    const auto bits = M::number_of(record) >> 4;
    return buckets_[(bits * 0x9e37'79b9'7f4a'7c15ULL) >> shift_];
  }

  static bool conflicts(const LockRequest<M>& ahead, const LockRequest<M>& request) {
    return ahead.record == request.record &&
           (ahead.exclusive || ahead.upgrading || request.exclusive);
  }

  static std::uint64_t kind_of_wait(bool oldest, bool ordered) {
    if (!oldest) return kOnlyOrdered;
    return ordered ? kHarmless : kUnordered;
  }

  /// Counts a wait, unless one of the kind that excludes it exists.
  bool admit(std::uint64_t kind) {
    if (kind == kHarmless) return true;
    const std::uint64_t other = kind == kOnlyOrdered ? ~(kUnordered - 1) : kUnordered - 1;
    std::uint64_t counts = waits_.load(std::memory_order_relaxed);  // relaxed: the CAS decides
    while (true) {
      if ((counts & other) != 0) return false;
      // acq_rel: the two kinds exclude each other through this word alone.
      if (waits_.compare_exchange(counts, counts + kind, std::memory_order_acq_rel)) return true;
    }
  }

  /// Waits; the request is queued and the bucket latched. Returns false if stopped; the request is
  /// then removed.
  bool wait(Bucket& bucket, LockRequest<M>& request, const LockRequest<M>& blocker,
            std::uint64_t kind) {
    LockOwner<M>& owner = *request.owner;
    const std::uint64_t before = owner.granted.own();
    owner.waits_for.store(static_cast<std::uint64_t>(blocker.owner->worker) + 1,
                          std::memory_order_relaxed);  // relaxed: for diagnosis only
    if constexpr (M::kRecords) {
      const auto whom = static_cast<std::uint32_t>(blocker.owner->worker);
      timeline::tell<M>(timeline::What::wait, whom, timeline::kUntilGranted);
    }
    bucket.unlatch();
    const auto start = M::now();
    owner.granted.wait([before](std::uint64_t value) { return value != before; },
                       // relaxed: the flag carries no data.
                       [this] { return stop_.load(std::memory_order_relaxed) != 0; });
    owner.waited += M::now() - start;
    timeline::tell<M>(timeline::What::wait_end);
    owner.waits_for.store(0, std::memory_order_relaxed);
    if (kind != kHarmless) waits_.fetch_add(~kind + 1, std::memory_order_acq_rel);  // as in admit()
    if (owner.granted.load() != before) return true;
    bucket.latch();
    const bool upgrade = request.upgrading;            // not granted: it keeps its shared lock
    const bool granted = request.granted && !upgrade;  // granted just before the stop
    request.upgrading = false;
    if (!granted && !upgrade) bucket.unlink(&request);
    if (!granted) grant_waiting(bucket, request.record);
    bucket.unlatch();
    return granted;
  }

  /// Whether a request must wait: a new one for any conflicting request ahead of it, an upgrade for
  /// every other holder.
  static bool is_blocked(const Bucket& bucket, const LockRequest<M>& request) {
    for (const LockRequest<M>* other = bucket.head; other != nullptr; other = other->next) {
      if (!request.upgrading && other == &request) return false;
      if (other == &request || other->record != request.record) continue;
      if (request.upgrading ? other->granted : conflicts(*other, request)) return true;
    }
    return false;
  }

  /// Grants the requests that are no longer blocked.
  void grant_waiting(Bucket& bucket, const Record<M>* record) {
    for (LockRequest<M>* request = bucket.head; request != nullptr; request = request->next) {
      M::on_load(request);
      if (request->record != record || (request->granted && !request->upgrading)) continue;
      if (is_blocked(bucket, *request)) continue;
      request->exclusive = request->exclusive || request->upgrading;
      request->upgrading = false;
      request->granted = true;
      Signal<M>& signal = request->owner->granted;
      signal.publish(signal.load() + kGrant);
    }
  }

  static constexpr std::uint64_t kGrant = 2;  // bit 0 is the signal's

  const Shared<M, std::uint64_t>& stop_;
  std::size_t bucket_count_;
  int shift_;
  std::unique_ptr<Bucket[]> buckets_;
  alignas(64) Shared<M, std::uint64_t> waits_;
};

}  // namespace heddle
