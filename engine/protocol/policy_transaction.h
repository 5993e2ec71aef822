#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "machine/seeded_fault.h"
#include "protocol/access_list.h"
#include "protocol/compiled_policy.h"
#include "protocol/optimistic.h"
#include "protocol/policy_runtime.h"
#include "protocol/replay_log.h"
#include "protocol/stored_procedure.h"
#include "protocol/timeline.h"
#include "protocol/transaction_context.h"

namespace heddle {

/// A transaction run by a policy table (Polyjuice, OSDI 2021, §4).
///
/// Before an access, the wait action; the access, clean or dirty; after it, at a publication point
/// (a PUBLIC write or early validation), what was done since the last point is validated and then
/// enters the access lists in one hold of their latches (§4.3). Commit waits for the dependency set
/// and is then Silo's, with the versions that dirty reads turned into (§4.4).
///
/// Whether the outcome is serializable rests on that final validation alone: every record must
/// carry the very version the transaction read, whichever way it read it, or a later one in which
/// the columns it was given read the same, in types that validate early at their end. Waits, lists
/// and early validation only change how often it succeeds.
template <class M>
class PolicyTransaction final : public OptimisticCore<M>,
                                public StoredProcedureApi<M, PolicyTransaction<M>> {
  using Core = OptimisticCore<M>;
  using Core::conflict;
  using Core::doomed_;
  using Core::nodes_;
  using Core::set_;

 public:
  static constexpr bool kReplays = true;
  /// Retries from a validated point before the whole transaction is run again: the prefix may have
  /// become stale itself, which only the final validation would find.
  static constexpr int kRetriesFromPoint = 8;

  PolicyTransaction(Storage<M>& storage, int worker, PolicyRuntime<M>& runtime)
      : Core(storage, worker),
        runtime_(runtime),
        context_(runtime.contexts[worker]),
        wait_times_(runtime.wait_times[static_cast<std::size_t>(worker)]) {}

  /// @param type the transaction's type; `policy` must outlive the transaction
  void begin(int type, const CompiledPolicy& policy) {
    assert(linked_ == 0 && "the last transaction has left the lists");
    Core::begin_core();
    policy_ = &policy;
    type_ = static_cast<std::uint16_t>(type);
    traits_ = policy.traits();
    compiled_type_ = policy.type(type);
    log_.clear();
    dependencies_.clear();
    sources_.clear();
    pending_.clear();
    undo_.clear();
    point_ = {};
    progress_ = 0;
    retries_ = 0;
    failed_early_ = false;
    may_read_the_same_ = false;
    blocker_ = {};
    choose_duties();
    wait_times_.total = 0;
  }

  /// Time spent waiting since begin().
  [[nodiscard]] typename M::Ticks waited() const { return wait_times_.total; }

  /// Commits (§4.4). On false, retry_from_point() or abort() must follow.
  bool commit() {
    if (has_commit_point() && !last_piece_valid()) return false;
    if (!await_dependencies() || !resolve_sources()) return false;
    if (!Core::commit_core()) {
      may_read_the_same_ = has_commit_point() && !this->looked_again_ &&
                           this->reason() == AbortReason::read_validation;
      return false;
    }
    leave_lists(this->last_version());
    return true;
  }

  /// Whether what a transaction saw that wants to roll back was a state of the database at all.
  bool validate_rollback() {
    if (has_commit_point() && !last_piece_valid()) return false;
    return await_dependencies() && resolve_sources() && Core::validate(false);
  }

  void abort() {
    // Before the lists are latched: who holds a latch may be reading a record that is locked here.
    Core::unlock_write_set();
    // Nobody may read a version of a transaction whose placeholders are about to go.
    leave_lists(TransactionContext<M>::kAborted);
    Core::abort_core();
  }

  /// When an attempt has failed: what to do if it was an early validation that did. `run` the
  /// procedure again: it goes back to the last validated point, and the accesses up to there will
  /// be replayed. `conclude` what was run: it would do the same again.
  Retry retry_from_point() {
    if (may_read_the_same_) {
      may_read_the_same_ = false;
      Core::unlock_write_set();
      if (++retries_ <= kRetriesFromPoint && all_read_the_same()) {
        doomed_ = false;
        return Retry::conclude;
      }
    }
    if (!failed_early_ || point_.behind_gap || ++retries_ > kRetriesFromPoint) return Retry::no;
    if (blocker_.owner != nullptr) {
      // Until that writer has ended, a retry would meet its version again. A wait that would close
      // a cycle is skipped.
      (void)wait_for(blocker_, kUntilFinished, this->reason_state());
      if (stopped()) return Retry::no;
    }
    blocker_ = {};
    failed_early_ = false;
    doomed_ = false;
    if (!seeded<M>(SeededFault::keep_reads_after_retry)) {
      for (auto at = undo_.rbegin(); at != undo_.rend(); ++at) set_[at->entry] = at->before;
    }
    undo_.clear();
    if (seeded<M>(SeededFault::drop_read_after_retry) && point_.entries != 0) --point_.entries;
    set_.truncate(point_.entries);
    nodes_.rewind(point_.accesses);
    point_.nodes = nodes_.size();  // nodes split off by own inserts since have stayed
    dependencies_.resize(point_.dependencies);
    sources_.resize(point_.sources);
    pending_.resize(point_.pending);
    log_.rewind(point_.accesses);
    progress_ = point_.progress;
    choose_duties();
    // Records placed after the point stay in the index until the end; see drop_placeholders().
    this->stray_placeholders_ = true;
    return Retry::run;
  }

  /// See OptimisticCore.
  [[nodiscard]] typename Core::DirtySource dirty_source(std::uint32_t entry) const {
    for (const Source& source : sources_) {
      if (source.entry == entry) return {source.owner->worker(), source.incarnation, source.writes};
    }
    return {-1, 0, 0};
  }
  [[nodiscard]] bool reads_dirty() const { return !sources_.empty(); }
  [[nodiscard]] std::uint64_t incarnation() const { return context_.incarnation(); }

  /// After a loop: every round of `state` and all before it are done.
  void passed(AccessId state) {
    if (!log_.replaying()) advance_to(policy_->state(state).ordinal);
  }

 private:
  friend class StoredProcedureApi<M, PolicyTransaction<M>>;

  struct Dependency {
    TransactionContext<M>* owner;
    std::uint64_t incarnation;
    std::uint16_t type;
  };
  /// Where a dirty read came from.
  struct Source {
    std::uint32_t entry;
    TransactionContext<M>* owner;
    std::uint64_t incarnation;
    std::uint8_t writes;
    bool removed;
  };
  struct Undo {
    std::uint32_t entry;
    Access<M> before;
  };
  /// The last validated point: how much of everything there was.
  struct Point {
    std::uint32_t entries = 0;
    std::uint32_t accesses = 0;
    std::uint32_t nodes = 0;
    std::uint32_t dependencies = 0;
    std::uint32_t sources = 0;
    std::uint32_t pending = 0;
    std::uint16_t progress = 0;
    bool behind_gap = false;  ///< not all before it is in the log: it can't be gone back to
  };
  /// What a publication point is about to link.
  struct Publication {
    AccessBucket<M>* bucket;
    std::uint32_t entry;
    bool write;
  };

  // ---- the steps of an access ------------------------------------------------------------------

  /// What every access of the transaction has to do beside its state's own part.
  enum Duty : std::uint8_t {
    kReplay = 1,   ///< serve accesses from the log
    kRecord = 2,   ///< log them
    kPublish = 4,  ///< remember what was written for the next publication point
  };

  /// Derives the duties from the progress. Few transactions have any to their end: behind the last
  /// point that something depends on, an access is Silo's.
  void choose_duties() {
    duties_ =
        static_cast<std::uint8_t>((log_.replaying() ? kReplay : 0) |
                                  (progress_ < compiled_type_.recorded_until ? kRecord : 0) |
                                  (progress_ < compiled_type_.published_until ? kPublish : 0));
  }
  [[nodiscard]] bool has_duty(Duty duty) const { return (duties_ & duty) != 0; }

  [[nodiscard]] bool has_commit_point() const { return compiled_type_.commit_point != kNoState; }
  [[nodiscard]] bool has_trait(AccessId state, std::uint8_t trait) const {
    return state != kNoState && (traits_[state] & trait) != 0;
  }
  /// Whether an access at this state does now what Silo would do.
  [[nodiscard]] bool plain(AccessId state) const {
    return ((state == kNoState ? 0 : traits_[state]) | duties_) == 0;
  }

  [[gnu::always_inline]] Begin begin_access(AccessId state) {
    if (doomed_) [[unlikely]]
      return Begin::stop;
    if (plain(state)) return Begin::plain;
    return begin_policy_access(state);
  }

  [[gnu::noinline]] Begin begin_policy_access(AccessId state) {
    M::on_control();
    if (seeded<M>(SeededFault::switch_within_transaction)) adopt_newest_policy();
    if (has_duty(kReplay)) {
      if (log_.replaying()) return Begin::replay;
      choose_duties();
    }
    if (has_trait(state, state_trait::kWaits) && !dependencies_.empty() &&
        !wait_action(policy_->state(state).wait, state)) {
      return Begin::stop;
    }
    return Begin::proceed;
  }

  /// A fault.
  void adopt_newest_policy() {
    const CompiledPolicy* newest = runtime_.newest;
    if (newest == nullptr || newest == policy_) return;
    policy_ = newest;
    traits_ = newest->traits();
    compiled_type_ = newest->type(type_);
    choose_duties();
  }

  [[gnu::always_inline]] Look look(AccessId state, TableBase<M>& table, Record<M>* record,
                                   std::uint32_t bytes, bool for_scan, std::uint32_t& entry) {
    const auto place = set_.locate(record);
    entry = place.entry;
    if (entry != AccessSet<M>::kNone) {
      if (set_[entry].bytes < bytes) {
        note_undo(entry);
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
    note_undo(entry);
    return Core::next_write_buffer(entry, bytes);
  }

  Look place(AccessId state, TableBase<M>& table, const InsertResult<M>& result,
             std::uint32_t& entry) {
    return Core::adopt(state, table, result, entry);
  }

  bool mark_removed(std::uint32_t entry) {
    note_undo(entry);
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
    // A procedure may come to a publishing state out of order.
    const bool published = has_duty(kPublish) || (row != nullptr && row->publishes);
    if (published && !set_[entry].pending) {
      set_[entry].pending = true;
      pending_.push_back(entry);
    }
    return row == nullptr || end_access(state, *row);
  }

  bool end_access(AccessId state, const CompiledState& row) {
    if (row.validates && !publication_point(state, row)) return false;
    if (!row.loop) advance_to(row.ordinal);
    return true;
  }

  void advance_to(std::uint16_t ordinal) {
    if (ordinal <= progress_) return;
    progress_ = ordinal;
    choose_duties();
    // Nobody can wait for a transaction that is in no list.
    if (compiled_type_.announces && linked_ != 0) context_.announce(progress_);
  }

  // ---- the replay log --------------------------------------------------------------------------

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

  /// Remembers an entry that existed at the last point, before it changes.
  void note_undo(std::uint32_t entry) {
    if (entry < point_.entries) undo_.push_back({entry, set_[entry]});
  }

  // ---- dirty reads -----------------------------------------------------------------------------

  /// Reads the newest visible uncommitted version, if there is one.
  bool read_dirty(AccessId state, TableBase<M>& table, Record<M>* record, std::uint32_t bytes,
                  std::uint32_t& entry, Look& found) {
    AccessBucket<M>& bucket = runtime_.lists.bucket(record);
    if (bucket.empty()) return false;
    std::byte* copy = set_.allocate(bytes);
    bucket.latch();
    const AccessNode<M>* node = bucket.last_write(record);
    // A version that fills fewer columns than asked for, or whose count of writes has run out, has
    // no identity to validate: read the committed one. So too where the writer is likely to abort:
    // retries that read each other's doomed versions would keep dooming each other.
    const bool usable = node != nullptr && !node->tainted && node->writes < tid::kMaxWrites &&
                        (node->removed || node->bytes >= bytes);
    if (!usable) {
      bucket.unlatch();
      return false;
    }
    if (!node->removed) copy_visible(copy, *node, bytes);
    const Source source{set_.size(), node->owner, node->incarnation, node->writes, node->removed};
    depend_on(source.owner, source.incarnation, node->type);
    bucket.unlatch();

    sources_.push_back(source);
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

  /// Reads more columns of a dirty version, if it is still the one visible.
  bool widen_dirty(std::uint32_t entry, std::uint32_t bytes) {
    Access<M>& access = set_[entry];
    const auto source =
        std::find_if(sources_.begin(), sources_.end(),
                     [entry](const Source& candidate) { return candidate.entry == entry; });
    std::byte* copy = set_.allocate(bytes);
    AccessBucket<M>& bucket = runtime_.lists.bucket(access.record);
    bucket.latch();
    const AccessNode<M>* node = bucket.last_write(access.record);
    const bool same = node != nullptr && is_version(*node, *source) && node->bytes >= bytes;
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

  static bool is_version(const AccessNode<M>& node, const Source& source) {
    return node.owner == source.owner && node.incarnation == source.incarnation &&
           node.writes == source.writes;
  }

  /// Once every dependency has finished: which committed version each dirty read turned into.
  bool resolve_sources() {
    for (const Source& source : sources_) {
      const std::uint64_t version = source.owner->outcome(source.incarnation);
      Access<M>& access = set_[source.entry];
      if (believes(source, version)) {
        access.seen = access.record->word.load(std::memory_order_acquire) & ~tid::kLock;
        continue;
      }
      if (version == TransactionContext<M>::kAborted) {
        conflict(AbortReason::dirty_source, access.state);
        return false;
      }
      access.seen = tid::committed(version, source.writes, source.removed);
    }
    return true;
  }

  /// Faults: what a dirty read is taken for without a proof.
  [[nodiscard]] static bool believes([[maybe_unused]] const Source& source,
                                     [[maybe_unused]] std::uint64_t version) {
    if (seeded<M>(SeededFault::skip_dependency_wait)) {
      return !source.owner->finished(source.incarnation);
    }
    if (seeded<M>(SeededFault::skip_source_check)) {
      return version == TransactionContext<M>::kAborted;
    }
    return seeded<M>(SeededFault::any_write_of_source) &&
           version != TransactionContext<M>::kAborted;
  }

  // ---- dependencies and waiting ----------------------------------------------------------------

  void depend_on(TransactionContext<M>* owner, std::uint64_t incarnation, std::uint16_t type) {
    if (owner == &context_) return;
    for (const Dependency& known : dependencies_) {
      if (known.owner == owner && known.incarnation == incarnation) return;
    }
    timeline::tell<M>(timeline::What::dependency, owner->worker());
    dependencies_.push_back({owner, incarnation, type});
  }

  [[nodiscard]] bool stopped() const {
    // relaxed: carries no data; a later look will see it.
    return runtime_.stop.load(std::memory_order_relaxed) != 0;
  }

  /// Waits for one dependency to finish `accesses` of its accesses. False if that would close a
  /// cycle of waiting transactions.
  bool wait_for(const Dependency& dependency, std::uint32_t accesses, AccessId state) {
    if (dependency.owner->reached(dependency.incarnation, accesses)) return true;
    timeline::tell<M>(timeline::What::wait, dependency.owner->worker(), accesses);
    // seq_cst: see closes_cycle().
    context_.waits_for.store(
        TransactionContext<M>::pack_reference(dependency.owner->worker(), dependency.incarnation),
        std::memory_order_seq_cst);
    const bool cycle = !seeded<M>(SeededFault::skip_cycle_check) &&
                       closes_cycle<M>(runtime_.contexts, this->worker(), runtime_.workers);
    if (!cycle) {
      const auto start = M::now();
      dependency.owner->wait(dependency.incarnation, accesses, [this] { return stopped(); });
      wait_times_.add(state, M::now() - start);
    }
    timeline::tell<M>(cycle ? timeline::What::wait_skipped : timeline::What::wait_end);
    context_.waits_for.store(0, std::memory_order_release);  // release: it waits no longer
    return !cycle;
  }

  /// The wait action (§4.3): every dependency of a type must have got as far as the row says. A
  /// wait that would close a cycle is skipped: waiting is advice, validation decides.
  bool wait_action(const std::vector<std::uint16_t>& cells, AccessId state) {
    for (const Dependency& dependency : dependencies_) {
      const std::uint16_t cell = cells[dependency.type];
      if (cell == 0) continue;
      const auto type = static_cast<std::size_t>(dependency.type);
      const bool until_commit = cell > policy_->policy().signature.types[type].accesses.size();
      (void)wait_for(dependency, until_commit ? kUntilFinished : cell, state);
      if (stopped()) {
        conflict(AbortReason::stopped, state);
        return false;
      }
    }
    return true;
  }

  /// Commit, step 1: every dependency has committed or aborted.
  bool await_dependencies() {
    if (seeded<M>(SeededFault::skip_dependency_wait)) return true;
    for (const Dependency& dependency : dependencies_) {
      if (!wait_for(dependency, kUntilFinished, kNoState)) {
        conflict(AbortReason::wait_cycle, kNoState);
        return false;
      }
      if (!dependency.owner->finished(dependency.incarnation)) {
        conflict(AbortReason::stopped, kNoState);
        return false;
      }
    }
    return true;
  }

  // ---- publication -----------------------------------------------------------------------------

  [[gnu::noinline]] bool publication_point(AccessId state, const CompiledState& row) {
    if (row.waits_before_validation && !wait_action(row.wait_before_validation, state)) {
      return false;
    }
    M::on_control();
    collect_publications(row.publishes);
    latch_publications();
    M::on_control();  // two acts: making ready and validating, about as long as each other
    const bool valid = prefix_valid(state) && piece_valid();
    if (valid) {
      const bool hidden = linked_ == 0;
      for (const Publication& publication : publications_) link(publication);
      // What it finished while nobody could know of it is told before anybody can wait for it.
      if (hidden && linked_ != 0 && compiled_type_.announces && progress_ != 0)
        context_.announce(progress_);
    }
    timeline::tell<M>(timeline::What::validation, state, valid);
    if (valid && row.publishes) {
      timeline::tell<M>(timeline::What::publication, state, pending_.size());
    }
    unlatch_publications();
    if (!valid) {
      failed_early_ = !doomed_;
      conflict(AbortReason::early_validation, state);
      return false;
    }
    if (row.publishes) {
      for (const std::uint32_t entry : pending_) set_[entry].pending = false;
      pending_.clear();
    }
    undo_.clear();
    point_ = {.entries = set_.size(),
              .accesses = log_.size(),
              .nodes = nodes_.size(),
              .dependencies = static_cast<std::uint32_t>(dependencies_.size()),
              .sources = static_cast<std::uint32_t>(sources_.size()),
              .pending = static_cast<std::uint32_t>(pending_.size()),
              .progress = progress_,
              .behind_gap = !has_duty(kRecord)};
    return true;
  }

  /// The piece's reads of tables somebody publishes to, and the buffered writes if they are to
  /// become visible. A read that the transaction's own write follows is covered by the write.
  void collect_publications(bool with_writes) {
    publications_.clear();
    if (!policy_->publishes()) return;
    for (std::uint32_t entry = point_.entries; entry < set_.size(); ++entry) {
      const Access<M>& access = set_[entry];
      if (access.written() || !policy_->links_reads(access.state)) continue;
      publications_.push_back({&runtime_.lists.bucket(access.record), entry, false});
    }
    if (with_writes) {
      for (const std::uint32_t entry : pending_) {
        publications_.push_back({&runtime_.lists.bucket(set_[entry].record), entry, true});
      }
    }
    std::sort(publications_.begin(), publications_.end(),
              [](const Publication& a, const Publication& b) { return a.bucket < b.bucket; });
  }

  /// In address order, so that publishing transactions can't deadlock.
  void latch_publications() {
    const AccessBucket<M>* last = nullptr;
    for (const Publication& publication : publications_) {
      if (publication.bucket != last) publication.bucket->latch();
      last = publication.bucket;
    }
  }

  void unlatch_publications() {
    const AccessBucket<M>* last = nullptr;
    for (const Publication& publication : publications_) {
      if (publication.bucket != last) publication.bucket->unlatch();
      last = publication.bucket;
    }
  }

  /// Whether what was validated before still may hold: a dirty read whose writer has aborted since
  /// dooms the transaction, and all who would read from it.
  [[nodiscard]] bool prefix_valid(AccessId state) {
    for (std::uint32_t at = 0; at < point_.sources; ++at) {
      if (source_valid(sources_[at])) continue;
      conflict(AbortReason::dirty_source, state);
      return false;
    }
    return true;
  }

  /// Early validation after the last access, just before the commit locks what it validates again.
  [[gnu::noinline]] bool last_piece_valid() {
    assert(linked_ == 0 && sources_.empty() && dependencies_.empty() && "see commit_point");
    M::on_control();
    publications_.clear();
    const bool valid = piece_valid();
    timeline::tell<M>(timeline::What::validation, compiled_type_.commit_point, valid);
    if (valid) return true;
    failed_early_ = true;
    conflict(AbortReason::early_validation, compiled_type_.commit_point);
    return false;
  }

  /// After the final validation has failed on a record: whether running the whole transaction again
  /// would give it what it was given. What changes from here on, the final validation that follows
  /// finds.
  [[nodiscard]] bool all_read_the_same() {
    for (Access<M>& access : set_) {
      // acquire: a hint, as in piece_valid().
      if (access.record->word.load(std::memory_order_acquire) != access.seen &&
          !Core::reads_the_same(access)) {
        return false;
      }
    }
    return true;
  }

  /// Early validation: what was read since the last point has not changed, or reads the same.
  [[nodiscard]] bool piece_valid() {
    for (std::uint32_t entry = point_.entries; entry < set_.size(); ++entry) {
      Access<M>& access = set_[entry];
      if (access.dirty) continue;
      // acquire: early validation is a hint; the final one decides.
      const std::uint64_t word = access.record->word.load(std::memory_order_acquire);
      if (word == access.seen) continue;
      // Nobody waits for a record while holding latches: its writer may have been preempted.
      if (tid::locked(word) && !publications_.empty()) return false;
      if (!Core::reads_the_same(access)) return false;
    }
    for (std::uint32_t at = point_.sources; at < sources_.size(); ++at) {
      if (!source_valid(sources_[at])) return false;
    }
    for (const Publication& publication : publications_) {
      if (!publication.write || follows_what_it_read(publication)) continue;
      const AccessNode<M>* last = publication.bucket->last_write(set_[publication.entry].record);
      blocker_ = {last->owner, last->incarnation, last->type};
      return false;
    }
    return nodes_.plausible_since(point_.nodes, static_cast<Core*>(this));
  }

  /// A write is published behind the last visible one, and so can only commit after it: a
  /// transaction that read the record must have read that very version.
  [[nodiscard]] bool follows_what_it_read(const Publication& publication) const {
    const Access<M>& access = set_[publication.entry];
    const AccessNode<M>* last = publication.bucket->last_write(access.record);
    if (last == nullptr || last->owner == &context_) return true;
    for (const Source& source : sources_) {
      if (source.entry == publication.entry) return is_version(*last, source);
    }
    return false;  // it read the committed version, or placed the record itself
  }

  /// Whether a dirty read may still turn out right.
  [[nodiscard]] bool source_valid(const Source& source) const {
    if (!source.owner->finished(source.incarnation)) return true;
    const std::uint64_t version = source.owner->outcome(source.incarnation);
    return version != TransactionContext<M>::kAborted &&
           set_[source.entry].record->word.load(std::memory_order_acquire) ==
               tid::committed(version, source.writes, source.removed);
  }

  /// Links one access and takes the dependencies its place in the list gives it (§3.1): a write
  /// comes after the last write before it, or after all reads since.
  void link(const Publication& publication) {
    const Access<M>& access = set_[publication.entry];
    AccessBucket<M>& bucket = *publication.bucket;
    AccessNode<M>* own = publication.write ? own_write_node(bucket, access.record) : nullptr;
    if (own != nullptr) {  // written again: whoever read the first version will not find it
      fill(*own, access, true);
      return;
    }
    AccessNode<M>* node = next_node();
    fill(*node, access, publication.write);
    if (publication.write) {
      depend_on_predecessors(bucket, access.record);
      bucket.link_last(node);
    } else {
      bucket.link_after(position_of_read(bucket, publication.entry), node);
    }
  }

  void fill(AccessNode<M>& node, const Access<M>& access, bool write) {
    M::on_store(&node);
    // The content: the procedure wrote it, unseen until now. A removed row has none.
    if (write && !access.removed) M::on_store(access.write, access.write_bytes);
    node.record = access.record;
    node.owner = &context_;
    node.incarnation = context_.incarnation();
    node.value = access.write;
    node.bytes = access.write_bytes;
    node.type = type_;
    node.writes = access.writes;
    node.write = write;
    node.removed = access.removed;
    node.tainted = false;
  }

  AccessNode<M>* own_write_node(AccessBucket<M>& bucket, const Record<M>* record) {
    for (AccessNode<M>* node = bucket.last(); node != nullptr; node = node->previous) {
      if (node->record == record && node->write && node->owner == &context_) return node;
    }
    return nullptr;
  }

  void depend_on_predecessors(const AccessBucket<M>& bucket, const Record<M>* record) {
    bool reads_since = false;
    for (const AccessNode<M>* node = bucket.last(); node != nullptr; node = node->previous) {
      M::on_load(node);
      if (node->record != record) continue;
      if (node->write && reads_since) return;
      depend_on(node->owner, node->incarnation, node->type);
      if (node->write) return;
      reads_since = reads_since || node->owner != &context_;
    }
  }

  /// A clean read comes before every uncommitted write, a dirty one after the write it read.
  AccessNode<M>* position_of_read(const AccessBucket<M>& bucket, std::uint32_t entry) const {
    if (!set_[entry].dirty) return nullptr;
    for (const Source& source : sources_) {
      if (source.entry != entry) continue;
      for (AccessNode<M>* node = bucket.last(); node != nullptr; node = node->previous) {
        if (node->record == set_[entry].record && node->write && node->owner == source.owner &&
            node->incarnation == source.incarnation) {
          return node;
        }
      }
    }
    return nullptr;
  }

  AccessNode<M>* next_node() {
    if (linked_ == node_pool_.size()) node_pool_.emplace_back();
    return &node_pool_[linked_++];
  }

  /// Takes everything out of the lists, then tells the dependents how it ended.
  void leave_lists(std::uint64_t version) {
    if (linked_ == 0) return;
    const bool aborted = version == TransactionContext<M>::kAborted;
    for (std::size_t at = 0; at < linked_; ++at) {
      AccessNode<M>& node = node_pool_[at];
      AccessBucket<M>& bucket = runtime_.lists.bucket(node.record);
      bucket.latch();
      if (aborted && node.write) AccessBucket<M>::taint_after(node);
      bucket.unlink(&node);
      bucket.unlatch();
    }
    linked_ = 0;
    context_.finish(version);
  }

  static constexpr std::uint32_t kUntilFinished = timeline::kUntilEnd;

  PolicyRuntime<M>& runtime_;
  TransactionContext<M>& context_;
  WaitTimes<M>& wait_times_;
  const CompiledPolicy* policy_ = nullptr;
  const std::uint8_t* traits_ = nullptr;
  CompiledType compiled_type_;
  std::uint16_t type_ = 0;
  std::uint16_t progress_ = 0;
  std::uint8_t duties_ = 0;
  bool failed_early_ = false;
  bool may_read_the_same_ = false;  ///< the final validation failed on a record; see commit_point
  int retries_ = 0;
  Dependency blocker_{};  ///< whose visible write early validation failed on, if it was one
  Point point_;
  ReplayLog log_;
  std::vector<Dependency> dependencies_;
  std::vector<Source> sources_;
  std::vector<std::uint32_t> pending_;  ///< entries written and not yet visible
  std::vector<Undo> undo_;
  std::vector<Publication> publications_;
  // A deque: nodes stay where they are while the pool grows.
  std::deque<AccessNode<M>> node_pool_;
  std::size_t linked_ = 0;
};

}  // namespace heddle
