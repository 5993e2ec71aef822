#pragma once

#include <algorithm>
#include <cstdint>
#include <string_view>
#include <vector>

#include "machine/seeded_fault.h"
#include "protocol/aria_options.h"
#include "protocol/batch_barrier.h"
#include "protocol/lock_plan.h"
#include "protocol/optimistic.h"
#include "protocol/protocol.h"
#include "protocol/reservations.h"
#include "protocol/stored_procedure.h"

namespace heddle {

/// The state that the workers of one run share for batches.
template <class M>
struct AriaRuntime {
  explicit AriaRuntime(const RunSetup<M>& setup)
      : options(AriaOptions::parse(setup.options)),
        batches(setup.workers, options.batch == 0 ? setup.workers : options.batch, setup.stop,
                setup.storage.epochs()),
        reservations(setup.workers) {
    mark_written_tables(plan_locks(setup.signature), setup.storage);
  }

  /// The watchdog's diagnosis: a batch waits for several workers, so none is named.
  [[nodiscard]] static int waits_for(int /*worker*/) { return -1; }

  AriaOptions options;
  BatchBarrier<M> batches;
  Reservations<M> reservations;
};

/// Aria (Lu et al., PVLDB 13(12), 2020): the transactions of a batch execute on the state before
/// it, reserve what they read and write, and commit by rules that every one of them evaluates for
/// itself. A transaction aborts if an earlier one of its batch writes a row that it writes. With
/// deterministic reordering it also aborts if both an earlier one writes a row that it reads and an
/// earlier one reads a row that it writes. Without reordering the first of the two is enough.
/// Earlier means a smaller id. A transaction that aborts keeps its id in the next batch, where it
/// precedes all new ones; the earliest of a batch always commits.
///
/// - A batch has one transaction per worker at most, because a worker runs one at a time.
/// - Rows are inserted into the indexes during the execution, as placeholders, which are absent for
///   everyone. In the second phase a transaction reads again the ranges whose index nodes have
///   changed, and reserves the placeholders that it finds: they are rows that it reads as absent.
///   So inserts follow the same rules as other writes, and there are no phantoms.
/// - A transaction that has written nothing is placed in front of its batch: nothing in the batch
///   precedes what it has read. It ends without a barrier and reserves nothing. The same holds for
///   a rollback.
template <class M>
class AriaTransaction final : public OptimisticCore<M>,
                              public StoredProcedureApi<M, AriaTransaction<M>> {
  using Core = OptimisticCore<M>;
  using Phase = typename BatchBarrier<M>::Phase;
  using Slot = typename Reservations<M>::Slot;
  using Core::set_;

 public:
  static constexpr bool kReplays = false;
  using Core::conflict;

  AriaTransaction(Storage<M>& storage, int worker, AriaRuntime<M>& runtime)
      : Core(storage, worker), runtime_(runtime) {}

  /// @param again another attempt at the same transaction: it keeps its id
  void begin(bool again) {
    Core::begin_core();
    found_.clear();
    joined_ = runtime_.batches.join(again, seat_);
    if (!joined_) {
      conflict(AbortReason::stopped, kNoState);  // every access of it fails
      return;
    }
    if (!again) first_ = seat_;
    holder_ = {seat_.batch, id_in(seat_.batch)};
  }

  /// On false, abort() must follow.
  bool commit() {
    if (this->doomed_) return false;
    const bool writes = std::any_of(set_.begin(), set_.end(),
                                    [](const Access<M>& access) { return access.written(); });
    if (writes || !this->placeholders_.empty()) {
      reserve();
      if (!seeded<M>(SeededFault::skip_batch_barrier) && !reach_commit(true)) return false;
      timeline::tell<M>(timeline::What::validate);
      if (this->doomed_ || !may_commit() || !install_all()) return false;
    }
    leave();
    return true;
  }

  /// It has seen the state before the batch, which is consistent.
  bool validate_rollback() { return joined_; }

  void abort() {
    // Until then others may look for its placeholders.
    const bool waits = joined_ && !this->placeholders_.empty() && !commits();
    if (waits) (void)reach_commit(false);
    // Of those that would write a placeholder, the earliest fills or drops it.
    std::erase_if(this->placeholders_, [this](const auto& placeholder) {
      return runtime_.reservations.written_by_other(placeholder.record, holder_);
    });
    Core::abort_core();
    if (joined_) leave();
  }

  void passed(AccessId) {}

  /// Time spent waiting for the batch since begin().
  [[nodiscard]] typename M::Ticks waited() const { return seat_.waited; }

  // ---- the steps of an access, for StoredProcedureApi ------------------------------------------

  Begin begin_access(AccessId) { return this->doomed_ ? Begin::stop : Begin::plain; }

  Look look(AccessId state, TableBase<M>& table, Record<M>* record, std::uint32_t bytes,
            bool /*for_scan*/, std::uint32_t& entry) {
    const auto place = set_.locate(record);
    entry = place.entry;
    if (entry != AccessSet<M>::kNone) return Core::look_again(entry, bytes);
    return Core::read_committed(state, table, record, bytes, place, entry);
  }

  static std::uint32_t position() { return 0; }

  std::byte* write_buffer(std::uint32_t entry, std::uint32_t bytes) {
    return Core::next_write_buffer(entry, bytes);
  }

  Look place(AccessId state, TableBase<M>& table, const InsertResult<M>& result,
             std::uint32_t& entry) {
    const Look found = Core::adopt(state, table, result, entry);
    // Another's placeholder: whichever of the two is the earlier one will drop it or fill it.
    if (found == Look::absent && !result.inserted && set_[entry].seen == tid::kPlaceholder) {
      this->placeholders_.push_back({&table, result.record});
    }
    return found;
  }

  bool mark_removed(std::uint32_t entry) { return Core::set_removed(entry); }

  /// Whether a record that a range holds now and did not when it was read is absent for the
  /// transaction. Every new one is the placeholder of another transaction of the batch.
  [[nodiscard]] bool invisible(const Record<M>* record) {
    const std::uint32_t entry = set_.find(record);
    if (entry != AccessSet<M>::kNone) return tid::absent(set_[entry].seen);
    // acquire: as for any record that is read.
    if (!tid::absent(record->word.load(std::memory_order_acquire))) return false;
    found_.push_back(record);
    return true;
  }

 private:
  [[nodiscard]] bool commits() const { return runtime_.batches.phase_of(seat_) == Phase::commit; }

  /// The transaction's id in a batch. It is smaller the more batches ago the transaction began, so
  /// that an older one has the smaller id; and of those that began in one batch, the first to join.
  [[nodiscard]] std::uint64_t id_in(std::uint64_t batch) const {
    constexpr int kSeatBits = BatchBarrier<M>::kSeatBits;
    constexpr std::uint64_t kOldest =
        (std::uint64_t{1} << (Reservations<M>::kIdBits - kSeatBits)) - 1;
    return (kOldest - (batch - first_.batch)) << kSeatBits | first_.number;
  }

  /// Leaves the batch: in the first phase it takes no part in the others, in the last it has ended.
  void leave() {
    joined_ = false;
    runtime_.batches.arrive(seat_, {.stays = false});
  }

  /// Waits for the next phase. On false the run was stopped, and the batch will not end.
  bool await() {
    joined_ = runtime_.batches.await(seat_);
    if (!joined_) conflict(AbortReason::stopped, kNoState);
    return joined_;
  }

  /// Ends the execution and waits for the last phase. On false the run was stopped.
  /// @param decides it may commit
  bool reach_commit(bool decides) {
    const bool missed = std::any_of(set_.begin(), set_.end(), [](const Access<M>& access) {
      return tid::absent(access.seen) && !access.written();
    });
    runtime_.batches.arrive(seat_, {.placed = !this->placeholders_.empty(),
                                    .watching = missed || this->nodes_.size() != 0});
    if (!await()) return false;
    if (commits()) return true;
    if (decides) revisit();
    runtime_.batches.arrive(seat_);
    return await();
  }

  /// Reserves what the transaction writes, and with reordering what it only reads. Tables that are
  /// never written need no reservations.
  void reserve() {
    for (const Access<M>& access : set_) {
      if (!access.table->written()) continue;
      if (access.written()) {
        runtime_.reservations.claim(access.record, holder_.batch).reserve_write(holder_);
      } else if (runtime_.options.reordering) {
        runtime_.reservations.claim(access.record, holder_.batch).reserve_read(holder_);
      }
    }
  }

  /// Finds the rows that other transactions of the batch have put where this one has read none.
  /// No row is inserted in this phase.
  void revisit() {
    if (seeded<M>(SeededFault::overlook_new_rows)) return;
    for (const Access<M>& access : set_) {
      // acquire: as for any record that is read. A deleted row whose record has left the index may
      // have a new one.
      if (access.absent && !access.written() &&
          tid::dead(access.record->word.load(std::memory_order_acquire))) {
        return conflict(AbortReason::record_unlinked, access.state);
      }
    }
    if (!this->nodes_.current() && !this->nodes_.look_again(static_cast<Core*>(this))) {
      return conflict(AbortReason::node_validation, kNoState);
    }
    if (!runtime_.options.reordering) return;
    for (const Record<M>* record : found_) {
      runtime_.reservations.claim(record, holder_.batch).reserve_read(holder_);
    }
  }

  /// The paper's rules: decides from the reservations of the whole batch.
  bool may_commit() {
    bool reads_written = false;  // RAW: an earlier transaction writes what this one reads
    bool writes_read = false;    // WAR: an earlier one reads what this one writes
    AccessId state = kNoState;
    for (const Access<M>& access : set_) {
      if (!access.table->written()) continue;
      const Slot* slot = runtime_.reservations.find(access.record, holder_.batch);
      if (slot == nullptr) continue;
      const bool written = slot->written_before(holder_);
      if (access.written()) {
        if (written && !seeded<M>(SeededFault::skip_waw_rule)) {
          conflict(AbortReason::write_after_write, access.state);
          return false;
        }
        writes_read = writes_read || slot->read_before(holder_);
      } else if (written && !reads_written) {
        reads_written = true;
        state = access.state;
      }
    }
    for (const Record<M>* record : found_) {
      const Slot* slot = runtime_.reservations.find(record, holder_.batch);
      reads_written = reads_written || (slot != nullptr && slot->written_before(holder_));
    }
    if (!reads_written || seeded<M>(SeededFault::skip_raw_rule)) return true;
    if (runtime_.options.reordering && !writes_read) return true;
    conflict(AbortReason::read_after_write, state);
    return false;
  }

  bool install_all() {
    Core::lock_write_set();
    for (const auto& locked : this->locked_) {
      if (!tid::dead(locked.record->word.peek())) continue;
      // It held no row, and has left its index.
      conflict(AbortReason::record_unlinked, set_[locked.entry].state);
      return false;
    }
    std::uint64_t highest = 0;
    for (const Access<M>& access : set_) highest = std::max(highest, tid::version(access.seen));
    const bool of_now =
        seeded<M>(SeededFault::skip_batch_barrier) || seeded<M>(SeededFault::batch_of_two_epochs);
    return Core::install_in(of_now ? this->storage().epochs().current() : runtime_.batches.epoch(),
                            highest);
  }

  AriaRuntime<M>& runtime_;
  typename BatchBarrier<M>::Seat seat_;
  typename BatchBarrier<M>::Seat first_;  ///< of its first attempt
  typename Reservations<M>::Holder holder_;
  bool joined_ = false;
  std::vector<const Record<M>*> found_;  ///< placeholders of others found by revisit()
};

/// Aria as a protocol the driver runs.
struct Aria {
  static constexpr std::string_view kName = "aria";
  using Options = AriaOptions;
  template <class M>
  using Runtime = AriaRuntime<M>;

  template <class M>
  class Executor {
   public:
    Executor(Runtime<M>& runtime, Storage<M>& storage, int worker)
        : txn_(storage, worker, runtime) {}

    template <class P>
    Attempt<M> attempt(const P& procedure, int /*type*/, std::uint32_t prior_aborts) {
      txn_.begin(prior_aborts != 0);
      return attempt_by<M>(txn_, procedure);
    }
    static const CompiledPolicy* policy() { return nullptr; }

   private:
    AriaTransaction<M> txn_;
  };
};

}  // namespace heddle
