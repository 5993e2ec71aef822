#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "machine/shared.h"
#include "protocol/lock_request.h"
#include "protocol/spin_latch.h"
#include "protocol/timeline.h"
#include "protocol/wait_graph.h"

namespace heddle {

/// A record's position in the global locking order.
struct LockOrder {
  std::uint32_t rank = 0;
  std::uint64_t key = 0;
  auto operator<=>(const LockOrder&) const = default;
};

/// How a conflict is resolved.
enum class ConflictRule : std::uint8_t {
  wait_die,
  no_wait,
  detect,  ///< every request waits, and of a deadlock one transaction dies
};

enum class LockAnswer : std::uint8_t { granted, waits, dies };

/// Record locks, shared and exclusive.
///
/// Under `detect` a WaitGraph has the requests that wait, and decides who of them gets a lock.
/// Locks without waiters do not touch it. Under the other rules a lock is granted in the order of
/// its requests, and no graph is needed.
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
  /// @param graph for ConflictRule::detect, and for no other
  explicit LockTable(int workers, const Shared<M, std::uint64_t>& stop,
                     std::unique_ptr<WaitGraph<M>> graph = nullptr)
      : stop_(stop),
        graph_(std::move(graph)),
        bucket_count_(std::bit_ceil(
            std::max<std::size_t>(kLeast, kBucketsPerWorker * static_cast<std::size_t>(workers)))),
        shift_(64 - std::countr_zero(bucket_count_)),
        buckets_(new Bucket[bucket_count_]) {}

  /// Requests a lock and waits until it is granted. `request` has record, owner, age and exclusive
  /// set.
  /// @param ordered the record comes after every lock its transaction holds
  /// @return false if the transaction must die; the request is then not in the table.
  bool acquire(LockRequest<M>& request, bool ordered, ConflictRule rule) {
    const LockAnswer answer = ask(request, ordered, rule);
    return answer == LockAnswer::granted || (answer == LockAnswer::waits && await(request));
  }

  /// Upgrades a shared lock that its transaction holds to an exclusive one.
  bool upgrade(LockRequest<M>& request, ConflictRule rule) {
    const LockAnswer answer = ask_upgrade(request, rule);
    return answer == LockAnswer::granted || (answer == LockAnswer::waits && await(request));
  }

  /// The first half of acquire(): await() must follow if it waits.
  LockAnswer ask(LockRequest<M>& request, bool ordered, ConflictRule rule) {
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
      return LockAnswer::granted;
    }
    if (rule == ConflictRule::detect) {
      bucket.append(&request);
      return ask_graph(bucket, request);
    }
    const std::uint64_t kind = kind_of_wait(oldest, ordered);
    if (rule == ConflictRule::no_wait || (!oldest && !ordered) || !admit(kind)) {
      bucket.unlatch();
      return LockAnswer::dies;
    }
    bucket.append(&request);
    begin_wait(bucket, request, *blocker->owner, kind);
    return LockAnswer::waits;
  }

  /// The first half of upgrade().
  LockAnswer ask_upgrade(LockRequest<M>& request, ConflictRule rule) {
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
      return LockAnswer::granted;
    }
    if (rule == ConflictRule::detect) {
      request.upgrading = true;
      return ask_graph(bucket, request);
    }
    if (!may_wait || !admit(kUnordered)) {
      bucket.unlatch();
      return LockAnswer::dies;
    }
    request.upgrading = true;
    begin_wait(bucket, request, *blocker->owner, kUnordered);
    return LockAnswer::waits;
  }

  /// Waits for a request that waits. False: its transaction must die, and the request is not in the
  /// table; an upgrade keeps its shared lock.
  bool await(LockRequest<M>& request) {
    LockOwner<M>& owner = *request.owner;
    const std::uint64_t before = owner.before_wait;
    const auto start = M::now();
    owner.granted.wait([before](std::uint64_t value) { return value != before; },
                       // relaxed: the flag carries no data.
                       [this] { return stop_.load(std::memory_order_relaxed) != 0; });
    owner.waited += M::now() - start;
    timeline::tell<M>(timeline::What::wait_end);
    owner.waits_for.store(0, std::memory_order_relaxed);
    if (graph_ != nullptr) return end_of_graph_wait(request);
    const std::uint64_t kind = kKinds[request.wait];
    if (kind != kHarmless) waits_.fetch_add(~kind + 1, std::memory_order_acq_rel);  // as in admit()
    if (owner.granted.load() != before) return true;
    Bucket& bucket = bucket_of(request.record);
    bucket.latch();
    const bool upgrade = request.upgrading;            // not granted: it keeps its shared lock
    const bool granted = request.granted && !upgrade;  // granted just before the stop
    request.upgrading = false;
    if (!granted && !upgrade) bucket.unlink(&request);
    if (!granted) grant_waiting(bucket, request.record);
    bucket.unlatch();
    return granted;
  }

  /// Releases a lock, under a rule other than `detect`.
  void release(LockRequest<M>& request) {
    Bucket& bucket = bucket_of(request.record);
    bucket.latch();
    bucket.unlink(&request);
    grant_waiting(bucket, request.record);
    bucket.unlatch();
  }

  /// The same under `detect`.
  void release_by_graph(LockRequest<M>& request) {
    Bucket& bucket = bucket_of(request.record);
    bucket.latch();
    bucket.unlink(&request);
    if (request.queue != 0) {
      const GraphLatch latch(*graph_);
      graph_->release(request);
    }
    bucket.unlatch();
  }

  /// A transaction of `owner` has committed: under some grant policies its time is of use.
  void committed(const LockOwner<M>& owner) {
    if (owner.granted_at == 0) return;
    const GraphLatch latch(*graph_);
    graph_->learn(owner, M::now() - owner.granted_at);
  }

 private:
  struct alignas(64) Bucket : SpinLatch<M> {
    LockRequest<M>* head = nullptr;
    LockRequest<M>* tail = nullptr;

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
  static constexpr std::array kKinds{kHarmless, kOnlyOrdered, kUnordered};  // by LockRequest::wait

  /// Holds the graph's latch; the latch of a bucket is always taken first.
  class GraphLatch {
   public:
    explicit GraphLatch(WaitGraph<M>& graph) : graph_(graph) { graph_.latch(); }
    GraphLatch(const GraphLatch&) = delete;
    GraphLatch& operator=(const GraphLatch&) = delete;
    ~GraphLatch() { graph_.unlatch(); }

   private:
    WaitGraph<M>& graph_;
  };

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

  /// The request is queued and the bucket latched, which ends here.
  void begin_wait(Bucket& bucket, LockRequest<M>& request, const LockOwner<M>& blocker,
                  std::uint64_t kind) {
    request.wait =
        static_cast<std::uint8_t>(std::find(kKinds.begin(), kKinds.end(), kind) - kKinds.begin());
    LockOwner<M>& owner = *request.owner;
    owner.before_wait = owner.granted.own();
    tell_of_wait(owner, blocker);
    bucket.unlatch();
  }

  static void tell_of_wait(LockOwner<M>& owner, const LockOwner<M>& blocker) {
    owner.waits_for.store(static_cast<std::uint64_t>(blocker.worker) + 1,
                          std::memory_order_relaxed);  // relaxed: for diagnosis only
    const auto whom = static_cast<std::uint32_t>(blocker.worker);
    timeline::tell<M>(timeline::What::wait, whom, timeline::kUntilGranted);
  }

  // ---- under `detect` --------------------------------------------------------------------------

  /// The number of the record's queue in the graph; 0: there is none. A queue that is used has
  /// holders, each of which has its number.
  static std::uint32_t queue_of(const Bucket& bucket, const Record<M>* record) {
    for (const LockRequest<M>* other = bucket.head; other != nullptr; other = other->next) {
      if (other->record == record && other->granted && other->queue != 0) return other->queue;
    }
    return 0;
  }

  /// Hands a request to the graph; the bucket is latched, which ends here. A new request is in the
  /// bucket, and leaves it if the transaction must die.
  LockAnswer ask_graph(Bucket& bucket, LockRequest<M>& request) {
    using Begun = typename WaitGraph<M>::Begun;
    LockOwner<M>& owner = *request.owner;
    owner.before_wait = owner.granted.own();
    const bool upgrade = request.upgrading;
    Begun begun{};
    {
      const GraphLatch latch(*graph_);
      begun = graph_->begin(queue_of(bucket, request.record), request, owner.held, [&](auto add) {
        for (LockRequest<M>* other = bucket.head; other != nullptr; other = other->next) {
          if (other->record == request.record && other->granted) add(*other);
        }
      });
      if (begun == Begun::waits) tell_of_wait(owner, graph_->blocker_of(request));
    }
    if (begun == Begun::dies && !upgrade) bucket.unlink(&request);
    bucket.unlatch();
    if (begun == Begun::waits) return LockAnswer::waits;
    return begun == Begun::granted ? LockAnswer::granted : LockAnswer::dies;
  }

  bool end_of_graph_wait(LockRequest<M>& request) {
    LockOwner<M>& owner = *request.owner;
    // load() acquires what was written before the wake-up: whether the owner is a victim.
    const bool woken = owner.granted.load() != owner.before_wait;
    if (!woken || owner.is_victim) {
      Bucket& bucket = bucket_of(request.record);
      bucket.latch();
      const GraphLatch latch(*graph_);
      // A grant may have come between, but not to a victim.
      const bool granted = request.granted && !request.upgrading;
      if (!granted) {
        if (!request.upgrading) bucket.unlink(&request);
        request.upgrading = false;
        graph_->leave(queue_of(bucket, request.record), request);
      }
      bucket.unlatch();
      if (!granted) return false;
    }
    if (graph_->learns_times()) owner.granted_at = M::now();
    return true;
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
      timeline::tell<M>(timeline::What::wake, static_cast<std::uint32_t>(request->owner->worker));
      Signal<M>& signal = request->owner->granted;
      signal.publish(signal.load() + kGrant);
    }
  }

  static constexpr std::uint64_t kGrant = 2;  // bit 0 is the signal's

  const Shared<M, std::uint64_t>& stop_;
  std::unique_ptr<WaitGraph<M>> graph_;
  std::size_t bucket_count_;
  int shift_;
  std::unique_ptr<Bucket[]> buckets_;
  alignas(64) Shared<M, std::uint64_t> waits_;
};

}  // namespace heddle
