#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#include "machine/seeded_fault.h"
#include "protocol/access_list.h"
#include "protocol/access_set.h"
#include "protocol/compiled_policy.h"
#include "protocol/outcome.h"
#include "protocol/policy_dependencies.h"
#include "protocol/policy_early_validation.h"
#include "protocol/policy_runtime.h"
#include "protocol/replay_log.h"
#include "protocol/stored_procedure.h"
#include "protocol/timeline.h"
#include "protocol/transaction_context.h"
#include "storage/storage.h"

namespace heddle {

/// A transaction run by a policy table (Polyjuice, OSDI 2021, §4): the steps of an access, and the
/// commit.
///
/// Before an access, the wait action runs (policy_dependencies.h). The access is clean or dirty. At
/// a publication point after it (a PUBLIC write or early validation), what was done since the last
/// point is validated (policy_early_validation.h) and then enters the access lists
/// (policy_publication.h), in one hold of their latches (§4.3). A transaction that reads dirty what
/// it publishes next holds the latch of that list from the read on, which the paper does not do: of
/// several that read the same version, all but one would fail to publish.
///
/// Commit waits for the dependency set and is then Silo's, with the versions that dirty reads have
/// become (§4.4).
///
/// Serializability rests on that final validation alone. Every record must have the very version
/// that the transaction read, clean or dirty; in types that validate early at their end, it may
/// have a later version in which the columns that were read are the same. Waits, lists and early
/// validation only change how often validation succeeds.
template <class M>
class PolicyTransaction final : public EarlyValidatingCore<M>,
                                public StoredProcedureApi<M, PolicyTransaction<M>> {
  using Core = EarlyValidatingCore<M>;
  using Core::compiled_type_;
  using Core::dependencies_;
  using Core::doomed_;
  using Core::log_;
  using Core::policy_;
  using Core::progress_;
  using Core::publication_;
  using Core::set_;

 public:
  static constexpr bool kReplays = true;
  using Core::conflict;

  PolicyTransaction(Storage<M>& storage, int worker, PolicyRuntime<M>& runtime)
      : Core(storage, worker, runtime), runtime_(runtime) {}

  /// @param type the transaction's type; `policy` must outlive the transaction
  void begin(int type, const CompiledPolicy& policy) {
    Core::begin_pieces(static_cast<std::uint16_t>(type));
    follow(policy);
  }

  /// Time spent waiting since begin().
  [[nodiscard]] typename M::Ticks waited() const { return dependencies_.waited(); }

  /// Commits (§4.4). On false, retry_from_point() or abort() must follow.
  bool commit() {
    if (!ready_to_validate()) return false;
    if (!Core::commit_core()) {
      Core::note_refusal();
      return false;
    }
    timeline::tell<M>(timeline::What::release);
    publication_.leave(this->last_version());
    return true;
  }

  /// For a transaction that is to roll back: whether it saw a state of the database.
  bool validate_rollback() { return ready_to_validate() && Core::validate(false); }

  void abort() {
    publication_.give_up_latch();
    // Before it latches the lists: a transaction that holds a latch may wait to read a record
    // locked here.
    Core::unlock_write_set();
    // Before its placeholders are removed: until it has left the lists, others can read its
    // versions.
    publication_.leave(TransactionContext<M>::kAborted);
    Core::abort_core();
  }

  /// After a failed attempt: see EarlyValidatingCore::retry_piece().
  Retry retry_from_point() {
    publication_.give_up_latch();
    const Retry retry = Core::retry_piece();
    if (retry == Retry::run) choose_duties();
    return retry;
  }

  /// See OptimisticCore.
  [[nodiscard]] typename Core::DirtySource dirty_source(std::uint32_t entry) const {
    const auto* source = dependencies_.source_of(entry);
    if (source == nullptr) return {-1, 0, 0};
    return {source->owner->worker(), source->incarnation, source->writes};
  }
  [[nodiscard]] bool reads_dirty() const { return dependencies_.reads_dirty(); }
  [[nodiscard]] std::uint64_t incarnation() const { return publication_.incarnation(); }

  /// After a loop: every round of `state` and all accesses before it are finished.
  void passed(AccessId state) {
    if (!log_.replaying()) advance_to(policy_->state(state).ordinal);
  }

 private:
  using Source = typename Dependencies<M>::Source;

  // ---- the duties of an access -----------------------------------------------------------------

  /// What every access of the transaction has to do in addition to its state's actions.
  enum Duty : std::uint8_t {
    kReplay = 1,   ///< serve accesses from the log
    kRecord = 2,   ///< log them
    kPublish = 4,  ///< note what was written for the next publication point
    kKeep = 8,     ///< continue with the write, or give up the latch of what was read
  };

  /// Takes the actions from this policy from here on.
  void follow(const CompiledPolicy& policy) {
    policy_ = &policy;
    traits_ = policy.traits();
    compiled_type_ = policy.type(this->type_);
    choose_duties();
  }

  /// Derives the duties from the progress. Few transactions keep duties to their end: after the
  /// last point that something depends on, an access is Silo's.
  void choose_duties() {
    duties_ = static_cast<std::uint8_t>(
        (log_.replaying() ? kReplay : 0) | (Core::records() ? kRecord : 0) |
        (progress_ < compiled_type_.published_until ? kPublish : 0) |
        (publication_.keeps_latch() ? kKeep : 0));
  }
  [[nodiscard]] bool has_duty(Duty duty) const { return (duties_ & duty) != 0; }

  [[nodiscard]] bool has_trait(AccessId state, std::uint8_t trait) const {
    return state != kNoState && (traits_[state] & trait) != 0;
  }
  /// Whether an access at this state now does exactly what Silo does.
  [[nodiscard]] bool plain(AccessId state) const {
    return ((state == kNoState ? 0 : traits_[state]) | duties_) == 0;
  }

 public:
  // ---- the steps of an access, for StoredProcedureApi ------------------------------------------

  [[gnu::always_inline]] Begin begin_access(AccessId state) {
    if (doomed_) [[unlikely]]
      return Begin::stop;
    if (plain(state)) return Begin::plain;
    return begin_policy_access(state);
  }

  [[gnu::always_inline]] Look look(AccessId state, TableBase<M>& table, Record<M>* record,
                                   std::uint32_t bytes, bool for_scan, std::uint32_t& entry) {
    const auto place = set_.locate(record);
    entry = place.entry;
    if (has_duty(kKeep)) give_up_latch();
    if (entry != AccessSet<M>::kNone) {
      if (set_[entry].bytes < bytes) {
        Core::note_undo(entry);
        if (set_[entry].dirty && !widen_dirty(entry, bytes)) return Look::stop;
      }
      return Core::look_again(entry, bytes);
    }
    if (!for_scan && has_trait(state, state_trait::kDirtyRead)) {
      Look found = Look::gone;
      if (read_dirty(state, table, record, bytes, entry, found)) return found;
    }
    return Core::read_committed(state, table, record, bytes, place, entry);
  }

  [[nodiscard]] std::uint32_t position() const { return log_.size(); }

  std::byte* write_buffer(std::uint32_t entry, std::uint32_t bytes) {
    Core::note_undo(entry);
    return Core::next_write_buffer(entry, bytes);
  }

  Look place(AccessId state, TableBase<M>& table, const InsertResult<M>& result,
             std::uint32_t& entry) {
    if (has_duty(kKeep)) give_up_latch();
    return Core::adopt(state, table, result, entry);
  }

  bool mark_removed(std::uint32_t entry) {
    Core::note_undo(entry);
    return Core::set_removed(entry);
  }

  [[gnu::noinline]] bool end_read(AccessId state) {
    if (doomed_) return false;
    if (state == kNoState) return true;
    const CompiledState& row = policy_->state(state);
    if (row.reads_and_writes) return true;  // the write that follows ends this state
    return end_access(state, row);
  }

  [[gnu::noinline]] bool end_write(AccessId state, std::uint32_t entry) {
    log_write(true);
    const CompiledState* const row = state == kNoState ? nullptr : &policy_->state(state);
    // A procedure may reach a publishing state out of order.
    const bool published = has_duty(kPublish) || (row != nullptr && row->publishes);
    if (published) publication_.defer(set_, entry);
    return row == nullptr || end_access(state, *row);
  }

  // ---- the replay log, for StoredProcedureApi --------------------------------------------------

  void log_row(std::uint32_t entry, const void* value) {
    if (has_duty(kRecord)) log_.add_row(value, entry);
  }
  void log_write(bool ok) {
    if (has_duty(kRecord)) log_.add_write(ok);
  }
  void log_scan_begin() {
    if (has_duty(kRecord)) log_.add_scan();
  }
  void log_scan_row(const void* key, std::size_t bytes, std::uint32_t entry, const void* value) {
    if (!has_duty(kRecord)) return;
    std::byte* copy = set_.allocate(bytes);
    std::memcpy(copy, key, bytes);
    log_.add_scan_row(copy, value, entry);
  }
  auto replay_row() {
    const ReplayLog::Row& row = log_.next_row();
    return std::pair{row.value, row.entry};
  }
  bool replay_write() { return log_.next_write(); }
  template <class F>
  void replay_scan(F visit) {
    log_.next_scan([&](const ReplayLog::Row& row) { visit(row.key, row.value, row.entry); });
  }

 private:
  // ---- parts of the steps ----------------------------------------------------------------------

  [[gnu::noinline]] Begin begin_policy_access(AccessId state) {
    M::on_control();
    if (has_duty(kKeep) && !continues_with_write(state)) give_up_latch();
    if (seeded<M>(SeededFault::switch_within_transaction)) adopt_newest_policy();
    if (has_duty(kReplay)) {
      if (log_.replaying()) return Begin::replay;
      choose_duties();
    }
    if (has_trait(state, state_trait::kWaits) && !dependencies_.empty() &&
        !Core::wait_action(policy_->state(state).wait, state)) {
      return Begin::stop;
    }
    return Begin::proceed;
  }

  /// Whether an access at `state` may be the write that follows the read whose latch is kept, and
  /// need not wait for others. If it is another read, look() gives up the latch.
  [[nodiscard]] bool continues_with_write(AccessId state) const {
    return state == kept_for_ && (!has_trait(state, state_trait::kWaits) ||
                                  dependencies_.nothing_to_wait_for(policy_->state(state).wait));
  }

  /// After a dirty read: keeps the latch of the list for the write at `replaced_at`, if there is
  /// one.
  void release_or_keep(AccessBucket<M>& bucket, AccessId replaced_at) {
    if (replaced_at == kNoState) return bucket.unlatch();
    publication_.keep_latch(bucket);
    kept_for_ = replaced_at;
    choose_duties();
  }
  void give_up_latch() {
    publication_.give_up_latch();
    choose_duties();
  }

  /// A seeded fault: changes the policy in the middle of a transaction.
  void adopt_newest_policy() {
    const CompiledPolicy* newest = runtime_.newest;
    if (newest == nullptr || newest == policy_) return;
    give_up_latch();  // it was kept for a write of the old table
    follow(*newest);
  }

  bool end_access(AccessId state, const CompiledState& row) {
    if (row.validates) {
      if (!Core::publication_point(state, row)) return false;
      if (has_duty(kKeep)) choose_duties();  // the latch was released with the others
    }
    if (!row.loop) advance_to(row.ordinal);
    return true;
  }

  void advance_to(std::uint16_t ordinal) {
    if (ordinal <= progress_) return;
    progress_ = ordinal;
    choose_duties();
    if (compiled_type_.announces) publication_.announce(progress_);
  }

  // ---- dirty reads -----------------------------------------------------------------------------

  /// Reads the newest visible uncommitted version, if there is one.
  bool read_dirty(AccessId state, TableBase<M>& table, Record<M>* record, std::uint32_t bytes,
                  std::uint32_t& entry, Look& found) {
    AccessBucket<M>& bucket = runtime_.lists.bucket(record);
    const AccessId replaced_at = policy_->state(state).replaced_at;
    if (replaced_at == kNoState && bucket.empty()) return false;
    bucket.latch();
    const AccessNode<M>* node = bucket.last_write(record);
    // A version that has fewer columns than requested, or whose count of writes is exhausted, has
    // no identity to validate: the committed version is read. The same applies where the writer is
    // likely to abort: retries that read each other's doomed versions would keep dooming each
    // other. A writer that has committed is about to leave, and the record may be newer.
    const bool committed = node == nullptr || node->owner->finished(node->incarnation);
    const bool usable = !committed && !node->tainted && node->writes < tid::kMaxWrites &&
                        (node->removed || node->bytes >= bytes);
    if (!usable) {
      // Over a running writer that was not read, no publication would succeed. A locked record is
      // not waited for with a latch: its writer may have been preempted. acquire: a hint; the
      // record may be locked just after.
      const bool keeps = committed && !tid::locked(record->word.load(std::memory_order_acquire));
      release_or_keep(bucket, keeps ? replaced_at : kNoState);
      return false;
    }
    std::byte* copy = set_.allocate(bytes);
    if (!node->removed) copy_visible(copy, *node, bytes);
    const Source source{set_.size(), node->owner, node->incarnation, node->writes, node->removed};
    dependencies_.add(source.owner, source.incarnation, node->type);
    release_or_keep(bucket, replaced_at);

    dependencies_.add_source(source);
    entry = set_.add({.record = record,
                      .table = &table,
                      .seen = 0,  // known once the source has committed
                      .value = copy,
                      .write = nullptr,
                      .read = nullptr,
                      .bytes = bytes,
                      .write_bytes = 0,
                      .read_bytes = 0,
                      .state = state,
                      .writes = 0,
                      .absent = source.removed,
                      .removed = false,
                      .dirty = true,
                      .pending = false});
    found = source.removed ? Look::absent : Look::present;
    return true;
  }

  /// Reads more columns of a dirty version, if it is still the visible one.
  bool widen_dirty(std::uint32_t entry, std::uint32_t bytes) {
    Access<M>& access = set_[entry];
    const Source& source = *dependencies_.source_of(entry);  // every dirty entry has one
    std::byte* copy = set_.allocate(bytes);
    AccessBucket<M>& bucket = runtime_.lists.bucket(access.record);
    bucket.latch();
    const AccessNode<M>* node = bucket.last_write(access.record);
    const bool same = node != nullptr && source.is_version(*node) && node->bytes >= bytes;
    if (same) copy_visible(copy, *node, bytes);
    bucket.unlatch();
    if (!same) {
      conflict(AbortReason::dirty_source, access.state);
      return false;
    }
    if (access.write != nullptr) std::memcpy(copy, access.write, access.write_bytes);
    access.value = copy;
    access.bytes = bytes;
    return true;
  }

  static void copy_visible(std::byte* to, const AccessNode<M>& node, std::uint32_t bytes) {
    M::on_load(node.value, bytes);
    std::memcpy(to, node.value, bytes);
  }

  // ---- the commit ------------------------------------------------------------------------------

  /// The steps before the final validation, of a commit or of a rollback: the last piece is valid,
  /// every dependency has ended (§4.4, step 1), and every dirty read has become a committed
  /// version.
  bool ready_to_validate() {
    publication_.give_up_latch();
    if (Core::has_commit_point() && !Core::last_piece_valid()) return false;
    const AbortReason unfinished = dependencies_.await_all();
    if (unfinished != AbortReason::none) {
      conflict(unfinished, kNoState);
      return false;
    }
    const std::uint32_t unresolved = dependencies_.resolve(set_);
    if (unresolved != AccessSet<M>::kNone) {
      conflict(AbortReason::dirty_source, set_[unresolved].state);
      return false;
    }
    return true;
  }

  PolicyRuntime<M>& runtime_;
  const std::uint8_t* traits_ = nullptr;  ///< the policy's, by state
  std::uint8_t duties_ = 0;
  AccessId kept_for_ = kNoState;  ///< the state of the write for which a latch is kept
};

}  // namespace heddle
