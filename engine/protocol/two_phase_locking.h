#pragma once

#include <cassert>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "protocol/grant/registry.h"
#include "protocol/lock_plan.h"
#include "protocol/lock_table.h"
#include "protocol/locking_options.h"
#include "protocol/optimistic.h"
#include "protocol/partition_modes.h"
#include "protocol/protocol.h"
#include "protocol/stored_procedure.h"
#include "protocol/timeline.h"
#include "protocol/wait_graph.h"

namespace heddle {

/// The state that the workers of one run share for locking.
template <class M>
struct LockRuntime {
  LockRuntime(int worker_count, const Shared<M, std::uint64_t>& stop, const Signature& signature,
              const LockingOptions& options, Storage<M>& storage)
      : workers(worker_count),
        rule(options.rule),
        plan(plan_locks(signature)),
        table(worker_count, stop, make_graph(worker_count, signature.types.size(), options)),
        modes(options.partitions == 0
                  ? nullptr
                  : std::make_unique<PartitionModes<M>>(options.partitions, options.span)),
        owners(new LockOwner<M>[static_cast<std::size_t>(worker_count)]) {
    for (int worker = 0; worker < worker_count; ++worker) owners[worker].worker = worker;
    for (TableBase<M>* base : storage.tables()) {
      const auto rank = plan.ranks.find(base->name());
      if (rank != plan.ranks.end()) base->set_lock_rank(rank->second);
    }
    mark_written_tables(plan, storage);
  }

  int workers;
  ConflictRule rule;
  LockPlan plan;
  LockTable<M> table;
  std::unique_ptr<PartitionModes<M>> modes;  ///< nullptr: all records are locked
  std::unique_ptr<LockOwner<M>[]> owners;

 private:
  static std::unique_ptr<WaitGraph<M>> make_graph(int workers, std::size_t types,
                                                  const LockingOptions& options) {
    if (options.rule != ConflictRule::detect) return nullptr;
    return std::make_unique<WaitGraph<M>>(
        workers, types, grant::make_policy(options.grant, options.policy), options.policy.exact);
  }
};

/// Strict two-phase locking on records (LockTable). Record locks do not cover
/// phantoms, which are left to the node set: a scan or a miss whose index node has changed by the
/// time of the commit aborts the transaction.
///
/// All locks are held until the commit is installed. The commit itself is Silo's: with every record
/// locked its validation of records cannot fail, and costs one comparison per record.
///
/// With LockingOptions::partitions only some partitions of the data are locked. The others are
/// accessed as under Silo, and the commit's validation is what keeps them right.
template <class M>
class LockingTransaction final : public OptimisticCore<M>,
                                 public StoredProcedureApi<M, LockingTransaction<M>> {
  using Core = OptimisticCore<M>;
  using Request = LockRequest<M>;
  using Core::set_;

 public:
  static constexpr bool kReplays = false;
  using Core::conflict;

  LockingTransaction(Storage<M>& storage, int worker, LockRuntime<M>& runtime)
      : Core(storage, worker),
        runtime_(runtime),
        owner_(runtime.owners[worker]),
        touched_(runtime.modes.get()) {}

  /// @param retry another attempt at the same transaction: it keeps its age
  void begin(bool retry, int type = 0) {
    assert(owner_.held == 0);
    Core::begin_core();
    if (!retry) age_ = {M::now(), this->worker()};
    touched_.begin(!retry);
    lock_of_entry_.clear();
    highest_ = {};
    owner_.waited = 0;
    owner_.granted_at = 0;
    owner_.type = type;
  }

  /// On false, abort() must follow.
  bool commit() {
    if (!Core::commit_core()) return false;
    timeline::tell<M>(timeline::What::release);
    runtime_.table.committed(owner_);
    release_all();
    touched_.committed();
    return true;
  }

  bool validate_rollback() { return Core::validate(false); }

  void abort() {
    Core::abort_core();
    release_all();
  }

  void passed(AccessId) {}

  [[nodiscard]] typename M::Ticks waited() const { return owner_.waited; }

  // ---- the steps of an access, for StoredProcedureApi ------------------------------------------

  Begin begin_access(AccessId) { return this->doomed_ ? Begin::stop : Begin::plain; }

  Look look(AccessId state, TableBase<M>& table, Record<M>* record, std::uint32_t bytes,
            bool /*for_scan*/, std::uint32_t& entry) {
    const auto place = set_.locate(record);
    entry = place.entry;
    if (entry != AccessSet<M>::kNone) return Core::look_again(entry, bytes);
    Request* lock = nullptr;
    if (table.written() && locks(table, record)) {
      lock = acquire(state, table, record, for_update(state));
      if (lock == nullptr) return Look::stop;
    }
    const Look found = Core::read_committed(state, table, record, bytes, place, entry);
    if (found != Look::gone) lock_of_entry_.push_back(lock);
    return found;  // the lock of a record that is gone is kept to the end, without effect
  }

  static std::uint32_t position() { return 0; }

  std::byte* write_buffer(std::uint32_t entry, std::uint32_t bytes) {
    return make_exclusive(entry) ? Core::next_write_buffer(entry, bytes) : nullptr;
  }

  Look place(AccessId state, TableBase<M>& table, const InsertResult<M>& result,
             std::uint32_t& entry) {
    if (!result.inserted) {
      entry = set_.find(result.record);
      if (entry != AccessSet<M>::kNone) return Core::adopt(state, table, result, entry);
      Request* lock = nullptr;
      if (locks(table, result.record)) {
        lock = acquire(state, table, result.record, true);
        if (lock == nullptr) return Look::stop;
      }
      const Look found = Core::adopt(state, table, result, entry);
      if (found != Look::gone) lock_of_entry_.push_back(lock);
      return found;
    }
    const Look placed = Core::adopt(state, table, result, entry);
    if (placed != Look::absent) return placed;
    if (!locks(table, result.record)) {
      lock_of_entry_.push_back(nullptr);
      return placed;
    }
    lock_of_entry_.push_back(acquire(state, table, result.record, true));
    if (lock_of_entry_.back() == nullptr) return Look::stop;
    // Until the lock was granted another transaction may have made the placeholder a row. acquire:
    // as new as the lock.
    if (result.record->word.load(std::memory_order_acquire) == tid::kPlaceholder) return placed;
    conflict(AbortReason::lock_conflict, state);
    return Look::stop;
  }

  bool mark_removed(std::uint32_t entry) {
    return make_exclusive(entry) && Core::set_removed(entry);
  }

 private:
  [[nodiscard]] bool for_update(AccessId state) const {
    return state != kNoState && runtime_.plan.reads_for_update[state];
  }

  [[nodiscard]] bool locks(const TableBase<M>& table, const Record<M>* record) {
    return runtime_.modes == nullptr ||
           touched_.locks(table.order_of(record) >> table.partition_shift());
  }

  Request* acquire(AccessId state, TableBase<M>& table, Record<M>* record, bool exclusive) {
    if (owner_.held == requests_.size()) requests_.emplace_back();
    Request& request = requests_[owner_.held];
    request.record = record;
    request.owner = &owner_;
    request.age = age_;
    request.exclusive = exclusive;
    request.upgrading = false;
    const LockOrder order{table.lock_rank(), table.order_of(record)};
    const bool ordered = owner_.held == 0 || highest_ < order;
    if (!runtime_.table.acquire(request, ordered, runtime_.rule)) {
      conflict(reason_to_die(), state);
      return nullptr;
    }
    ++owner_.held;
    if (highest_ < order) highest_ = order;
    return &request;
  }

  bool make_exclusive(std::uint32_t entry) {
    Request* lock = lock_of_entry_[entry];
    if (lock == nullptr) {
      assert(runtime_.modes != nullptr && "a table that is written is locked when read");
      return true;  // its partition was not locked; the commit validates the record
    }
    if (lock->exclusive) return true;
    if (runtime_.table.upgrade(*lock, runtime_.rule)) return true;
    conflict(reason_to_die(), set_[entry].state);
    return false;
  }

  /// Only the owner's own wait makes it a victim, and that has ended: no other thread writes here.
  [[nodiscard]] AbortReason reason_to_die() const {
    return owner_.is_victim ? AbortReason::deadlock : AbortReason::lock_conflict;
  }

  void release_all() {
    if (runtime_.rule == ConflictRule::detect) {
      for (std::size_t at = 0; at < owner_.held; ++at)
        runtime_.table.release_by_graph(requests_[at]);
    } else {
      for (std::size_t at = 0; at < owner_.held; ++at) runtime_.table.release(requests_[at]);
    }
    owner_.held = 0;
  }

  LockRuntime<M>& runtime_;
  LockOwner<M>& owner_;
  LockAge age_;
  LockOrder highest_;
  TouchedPartitions<M> touched_;
  std::vector<Request*> lock_of_entry_;  ///< parallel to the access set; nullptr: never locked
  // A deque: requests stay where they are while the pool grows.
  std::deque<Request> requests_;
};

/// Two-phase locking as a protocol the driver runs; its options are LockingOptions.
struct TwoPhaseLocking {
  static constexpr std::string_view kName = "two_phase_locking";
  using Options = LockingOptions;

  template <class M>
  struct Runtime : LockRuntime<M> {
    explicit Runtime(const RunSetup<M>& setup)
        : LockRuntime<M>(setup.workers, setup.stop, setup.signature,
                         LockingOptions::parse(setup.options, setup.signature), setup.storage) {}

    /// The worker that `worker` waits for, or -1.
    [[nodiscard]] int waits_for(int worker) const {
      // relaxed: for diagnosis.
      return static_cast<int>(this->owners[worker].waits_for.load(std::memory_order_relaxed)) - 1;
    }
  };

  template <class M>
  class Executor {
   public:
    Executor(Runtime<M>& runtime, Storage<M>& storage, int worker)
        : txn_(storage, worker, runtime) {}

    template <class P>
    Attempt<M> attempt(const P& procedure, int type, std::uint32_t prior_aborts) {
      txn_.begin(prior_aborts != 0, type);
      return attempt_by<M>(txn_, procedure);
    }
    static const CompiledPolicy* policy() { return nullptr; }

   private:
    LockingTransaction<M> txn_;
  };
};

}  // namespace heddle
