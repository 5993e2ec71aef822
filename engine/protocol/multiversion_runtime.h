#pragma once

#include <cassert>
#include <cstdint>
#include <memory>

#include "machine/shared.h"
#include "machine/signal.h"
#include "model/isolation.h"
#include "protocol/lock_plan.h"
#include "protocol/protocol.h"
#include "protocol/timestamps.h"
#include "protocol/version_table.h"

namespace heddle {

/// The state that the workers of one run share to order transactions by timestamps.
template <class M>
struct MultiversionRuntime {
  explicit MultiversionRuntime(const RunSetup<M>& setup, Isolation level = Isolation::serializable)
      : workers(setup.workers),
        isolation(level),
        stop(setup.stop),
        storage(setup.storage),
        timestamps(setup.workers, next_epoch(setup.storage)),
        versions(setup.workers, setup.storage),
        owners(new VersionOwner<M>[static_cast<std::size_t>(setup.workers)]) {
    for (int worker = 0; worker < workers; ++worker) owners[worker].set_worker(worker);
    mark_written_tables(plan_locks(setup.signature), storage);
    storage.order_by_timestamps(&timestamps.last());
  }
  MultiversionRuntime(const MultiversionRuntime&) = delete;
  MultiversionRuntime& operator=(const MultiversionRuntime&) = delete;
  ~MultiversionRuntime() { storage.order_by_timestamps(nullptr); }

  /// The worker that `worker` waits for, or -1.
  [[nodiscard]] int waits_for(int worker) const {
    // relaxed: for diagnosis.
    const auto reference = owners[worker].waits_for.load(std::memory_order_relaxed);
    return reference == 0 ? -1 : VersionOwner<M>::worker_of(reference);
  }

  /// Lets no other worker begin a transaction until let_others_go(), unless another worker runs
  /// alone already.
  bool go_alone(int worker) {
    std::uint64_t nobody = 0;
    // acq_rel: the next worker to take it comes after the last to release it.
    if (!someone_alone_.compare_exchange(nobody, 1, std::memory_order_acq_rel)) return false;
    alone_.publish(name_of(worker));
    return true;
  }
  void let_others_go() {
    alone_.publish(0);
    someone_alone_.store(0, std::memory_order_release);  // release: as above
  }
  /// Waits until the worker may begin a transaction, or the run stops. The worker that runs alone
  /// is inside a transaction, so it has a core.
  /// @return the time waited
  typename M::Ticks await_turn(int worker) {
    const auto may_begin = [own = name_of(worker)](std::uint64_t alone) {
      return alone == 0 || alone == own;
    };
    if (may_begin(alone_.load())) [[likely]]
      return 0;
    const auto start = M::now();
    // relaxed: the flag carries no data.
    alone_.wait(may_begin, [this] { return stop.load(std::memory_order_relaxed) != 0; });
    return M::now() - start;
  }

  int workers;
  Isolation isolation;
  const Shared<M, std::uint64_t>& stop;
  Storage<M>& storage;
  Timestamps<M> timestamps;
  VersionTable<M> versions;
  std::unique_ptr<VersionOwner<M>[]> owners;

 private:
  /// A worker's value in a signal's word: never 0, bit 0 clear.
  static std::uint64_t name_of(int worker) { return (static_cast<std::uint64_t>(worker) + 1) << 1; }

  /// Versions left by other protocols are of epochs up to now.
  static std::uint64_t next_epoch(Storage<M>& storage) {
    const bool advanced = storage.epochs().advance(M::now());
    assert(advanced && "no worker is running");
    (void)advanced;
    return storage.epochs().current();
  }

  alignas(64) Signal<M> alone_;  ///< the worker that runs alone; 0: none
  alignas(64) Shared<M, std::uint64_t> someone_alone_;
};

}  // namespace heddle
