#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <cstring>
#include <deque>
#include <utility>
#include <vector>

#include "machine/seeded_fault.h"
#include "protocol/multiversion_runtime.h"
#include "protocol/optimistic.h"
#include "protocol/stored_procedure.h"
#include "protocol/timeline.h"
#include "protocol/version_table.h"
#include "protocol/write_queues.h"

namespace heddle {

/// Multi-version timestamp ordering (Bernstein and Goodman 1983; as MVTSO in Cheng et al., PVLDB
/// 17(11), 2024, §4.2.1): transactions are serialized in the order of the timestamps that they take
/// when they begin.
///
/// - A read returns the newest version that is not newer than its transaction, committed or not,
///   and leaves its timestamp with the row.
/// - A write is visible at once. It is refused if a later transaction has read the row, because
///   that one has read the version before it. Every write is of a row that its transaction has
///   read, so no version is ever inserted before an existing one.
/// - A commit waits for the writers of the uncommitted versions that it read. All of them are
///   earlier, so waits form no cycle; if one of them aborts, its readers abort too.
/// - A missing row is read like any other: the name of its key keeps the timestamp. A scan leaves
///   its timestamp with every index leaf that it reaches, then checks whether the leaf has changed
///   since; an insert puts its row into the index first, and is refused if a later scan was there.
///   So of a scan and an insert one sees the other.
///
/// A commit is installed as Silo's is, under the TID that is its timestamp: each record then holds
/// its newest committed version. Older versions are kept as long as a transaction may read them.
///
/// Weaker isolation levels give up parts of this. Nothing uncommitted is read, no reader leaves a
/// timestamp, and a commit takes a second, later timestamp once it has locked its records.
///
/// - `snapshot` (Berenson et al., SIGMOD 1995, §4.2): a read returns the newest version committed
///   before the transaction began, and waits where a commit may be just before that. A commit is
///   refused if a row that it writes has a newer version than was read: the first committer wins.
/// - `read_committed`: a read returns the newest committed version. A commit overwrites newer ones
///   than were read; it is refused if a row that it writes has been inserted or deleted meanwhile.
///   An attempt also aborts where it needs more columns of a row that has changed since it read it.
///
/// @tparam Expected the accesses known before the transaction begins: ExpectedWrites, or
///         NothingExpected
template <class M, class Expected = NothingExpected<M>>
class MultiversionTransaction final
    : public OptimisticCore<M>,
      public StoredProcedureApi<M, MultiversionTransaction<M, Expected>> {
  using Core = OptimisticCore<M>;
  using Core::conflict;
  using Core::doomed_;
  using Core::set_;

 public:
  static constexpr bool kReplays = false;
  /// Rows are identified by their keys, and readers leave timestamps in the index.
  static constexpr bool kLeavesTimestamps = true;
  /// Its reads are as of one moment since it began, not as of the time of each read. Those of
  /// `read_committed` are later, which the checker need not know.
  static constexpr bool kReadsAsOfBegin = true;

  MultiversionTransaction(Storage<M>& storage, int worker, MultiversionRuntime<M>& runtime,
                          Expected expected = {})
      : Core(storage, worker),
        runtime_(runtime),
        isolation_(runtime.isolation),
        self_(runtime.owners[worker]),
        expected_(std::move(expected)) {}

  [[nodiscard]] Expected& expected() { return expected_; }

  void begin() {
    assert(published_ == 0 && "the last transaction's versions are gone");
    Core::begin_core();
    named_.clear();
    dependencies_.clear();
    sources_.clear();
    waited_ = runtime_.await_turn(this->worker());
    const std::uint64_t taken = runtime_.timestamps.take(this->worker(), this->storage().epochs(),
                                                         [this] { return stopped(); });
    if (taken == Timestamps<M>::kNone) [[unlikely]] {
      // Every access of it fails; the last timestamp is used in place of a new one.
      conflict(AbortReason::stopped, kNoState);
    } else {
      timestamp_ = taken;
    }
    version_ = timestamp_;
    if ((begun_ += kLooksPerBegin) >= runtime_.workers) {
      begun_ = 0;
      horizon_ = runtime_.timestamps.oldest_in_use(this->storage().epochs());
    }
    expected_.begin(timestamp_);
  }

  /// On false, abort() must follow.
  bool commit() {
    if (!await_dependencies()) return false;
    Core::lock_write_set();
    timeline::tell<M>(timeline::What::validate);
    for (const auto& locked : this->locked_) {
      const Access<M>& access = set_[locked.entry];
      if (may_overwrite(access)) continue;
      // Where it is serializable what was read is still valid, or the transaction would have
      // aborted before; but a record that held no row may have left its index.
      conflict(is_serializable() ? AbortReason::record_unlinked : AbortReason::read_validation,
               access.state);
      return false;
    }
    if (!is_serializable() && !this->locked_.empty()) {
      const std::uint64_t later =
          runtime_.timestamps.next(this->worker(), this->storage().epochs());
      if (later == Timestamps<M>::kNone) [[unlikely]] {
        conflict(AbortReason::epoch_full, kNoState);
        return false;
      }
      version_ = later;
    }
    // No conflict can occur any more, so other transactions need not wait until everything is
    // installed: a transaction that overwrites one of these rows waits for its record's lock.
    timeline::tell<M>(timeline::What::install);
    end(version_);
    for (const auto& locked : this->locked_) install(locked.entry);
    this->locked_.clear();
    if (this->stray_placeholders_) Core::drop_placeholders();
    return true;
  }

  /// Whether a transaction that is to roll back saw a state of the database.
  bool validate_rollback() {
    if (!await_dependencies()) return false;
    for (const Access<M>& access : set_) {
      // It may not have found its own insert again. acquire: no read is ordered before it.
      if (!access.written() || !tid::dead(access.record->word.load(std::memory_order_acquire))) {
        continue;
      }
      conflict(AbortReason::record_unlinked, access.state);
      return false;
    }
    return true;
  }

  void abort() {
    Core::unlock_write_set();
    for (Named& named : named_) {
      if (named.pending == nullptr) continue;
      VersionBucket<M>& bucket = runtime_.versions.bucket(named.name);
      bucket.latch();
      bucket.remove(*named.pending);
      bucket.unlatch();
    }
    end(VersionOwner<M>::kAborted);
    Core::abort_core();
  }

  void passed(AccessId) {}

  /// Time spent waiting since begin().
  [[nodiscard]] typename M::Ticks waited() const { return waited_; }

  /// See OptimisticCore.
  [[nodiscard]] std::uint64_t last_version() const { return version_; }
  [[nodiscard]] typename Core::DirtySource dirty_source(std::uint32_t entry) const {
    for (const Source& source : sources_) {
      if (source.entry != entry) continue;
      return {source.owner->worker(), source.incarnation, writes_of(set_[entry].seen)};
    }
    return {-1, 0, 0};
  }
  [[nodiscard]] bool reads_dirty() const { return !sources_.empty(); }
  [[nodiscard]] std::uint64_t incarnation() const { return self_.incarnation(); }

  [[nodiscard]] std::uint64_t timestamp() const { return timestamp_; }

 private:
  /// The part of an access-set entry that only this protocol needs.
  struct Named {
    std::uint64_t name = 0;                ///< of the row; 0: its table is never written
    PendingVersion<M>* pending = nullptr;  ///< nullptr: not written
    bool unread = false;                   ///< just put into the index, and not read since
  };
  struct Dependency {
    VersionOwner<M>* owner;
    std::uint64_t incarnation;
  };
  /// An uncommitted version that was read: its writer and the writer's incarnation.
  struct Source {
    std::uint32_t entry;
    VersionOwner<M>* owner;
    std::uint64_t incarnation;
  };

  static std::uint8_t writes_of(std::uint64_t word) {
    return static_cast<std::uint8_t>(word >> tid::kWritesShift & tid::kMaxWrites);
  }

 public:
  // ---- the steps of an access, for StoredProcedureApi ------------------------------------------

  Begin begin_access(AccessId) { return doomed_ ? Begin::stop : Begin::plain; }

  Look look(AccessId state, TableBase<M>& table, std::uint64_t name, Record<M>* record,
            std::uint32_t bytes, std::uint32_t& entry) {
    const auto place = set_.locate(record);
    entry = place.entry;
    if (entry != AccessSet<M>::kNone) {
      return widened(entry, bytes) ? Core::look_again(entry, bytes) : Look::stop;
    }
    if (table.written()) return read_version(state, table, name, record, bytes, place, entry);
    const Look found = Core::read_committed(state, table, record, bytes, place, entry);
    if (found != Look::gone) named_.emplace_back();
    return found;
  }

  std::byte* write_buffer(std::uint32_t entry, std::uint32_t bytes) {
    return widened(entry, std::max(bytes, set_[entry].write_bytes))
               ? Core::next_write_buffer(entry, bytes)
               : nullptr;
  }

  bool mark_removed(std::uint32_t entry) { return Core::set_removed(entry); }

  /// Makes a write of the procedure visible to others.
  bool end_write(AccessId state, std::uint32_t entry) {
    if (!is_serializable()) return true;  // visible once it is committed
    Access<M>& access = set_[entry];
    Named& named = named_[entry];
    assert(named.name != 0 && "a table is written by no other states than its signature names");
    VersionBucket<M>& bucket = runtime_.versions.bucket(named.name);
    M::on_control();
    bucket.latch();
    // Its own read has left its timestamp there.
    const bool late = bucket.last_reader(named.name) > timestamp_ &&
                      !seeded<M>(SeededFault::write_behind_readers);
    const bool taken =
        named.unread && bucket.read(*access.record, timestamp_, nullptr, 0, &self_).word !=
                            tid::kPlaceholder;  // another transaction has made it a row meanwhile
    if (!late && !taken) {
      if (named.unread) bucket.note_reader(named.name, timestamp_);
      named.unread = false;
      const bool again = named.pending != nullptr;
      if (!again) named.pending = &next_pending();
      if (!access.removed) M::on_store(access.write, access.write_bytes);
      PendingVersion<M>& version = *named.pending;
      version.record = access.record;
      version.owner = &self_;
      version.incarnation = self_.incarnation();
      version.word = tid::committed(timestamp_, access.writes, access.removed);
      version.value = access.write;
      version.bytes = access.removed ? 0 : access.write_bytes;
      if (again) {
        version.reach = std::max(version.reach, version.bytes);
      } else {
        bucket.add(version);
      }
    }
    bucket.unlatch();
    if (late || taken) {
      conflict(late ? AbortReason::late_write : AbortReason::read_validation, access.state);
      return false;
    }
    timeline::tell<M>(timeline::What::publication, state, 1);
    expected_.done(named.name);
    return true;
  }

  /// A record for `name` is in the index, inserted just now or found there.
  template <class T>
  Look place(AccessId state, T& table, std::uint64_t name, const InsertResult<M>& result,
             std::uint32_t& entry) {
    Look found = Look::absent;
    if (result.inserted) {
      this->placeholders_.push_back({&table, result.record});
      entry = set_.add(entry_of(state, table, result.record, {}, nullptr, 0));
      named_.push_back({.name = name, .unread = true});
    } else {
      const auto place = set_.locate(result.record);
      entry = place.entry;
      if (entry == AccessSet<M>::kNone) {
        found = read_version(state, table, name, result.record, 0, place, entry);
        // Changed since it began: it may have missed the row.
        if (found == Look::present && tid::version(set_[entry].seen) > timestamp_) {
          conflict(AbortReason::read_validation, state);
          return Look::stop;
        }
      } else if (!set_[entry].absent && !set_[entry].removed) {
        found = Look::present;
      }
    }
    if constexpr (requires { table.index().last_removal(); }) {
      // Whichever transaction inserted the record: it may be later than a scan that this one
      // precedes.
      if (is_serializable() && found == Look::absent &&
          !may_insert_at(result.before.word, table.index().last_removal())) {
        conflict(AbortReason::late_insert, state);
        return Look::stop;
      }
    }
    return found;
  }

 private:
  /// Reads a row's version at the transaction's timestamp, and leaves the timestamp with the row.
  Look read_version(AccessId state, TableBase<M>& table, std::uint64_t name, Record<M>* record,
                    std::uint32_t bytes, typename AccessSet<M>::Place place, std::uint32_t& entry) {
    if (!await_writers(state, name)) return Look::stop;
    std::byte* copy = set_.allocate(bytes);
    VersionBucket<M>& bucket = runtime_.versions.bucket(name);
    M::on_control();
    latch_between_commits(bucket, *record);
    const VisibleVersion<M> found = bucket.read(*record, as_of(), copy, bytes, &self_);
    if (is_serializable() && !tid::dead(found.word)) [[likely]]
      bucket.note_reader(name, timestamp_);
    bucket.unlatch();
    if (tid::dead(found.word)) [[unlikely]]
      return Look::gone;
    entry = set_.size();
    set_.append(record, place) = entry_of(state, table, record, found, copy, bytes);
    named_.push_back({.name = name});
    if (found.owner != nullptr) {
      sources_.push_back({entry, found.owner, found.incarnation});
      depend_on(found.owner, found.incarnation);
    }
    return set_[entry].absent ? Look::absent : Look::present;
  }

  /// Latches a row's bucket. Below serializability a commit that has locked the record may be
  /// before the transaction's begin, so it first waits until that has installed its version.
  void latch_between_commits(VersionBucket<M>& bucket, const Record<M>& record) const {
    bucket.latch();
    if (is_serializable()) return;
    while (may_change_before_begin(record)) {
      bucket.unlatch();  // which the commit needs
      for (int spins = 0; may_change_before_begin(record);) M::relax(spins, &record.word);
      bucket.latch();
    }
  }

  /// Whether a transaction has locked the record whose commit may have an earlier timestamp.
  [[nodiscard]] bool may_change_before_begin(const Record<M>& record) const {
    if (seeded<M>(SeededFault::read_before_install)) return false;
    // acquire: a commit with an earlier timestamp than the transaction's had locked its records
    // before it took that. A lock over a later version is of a later commit.
    const std::uint64_t word = record.word.load(std::memory_order_acquire);
    return tid::locked(word) && tid::version(word) <= timestamp_;
  }

  /// The time as of which committed versions are read.
  [[nodiscard]] std::uint64_t as_of() const {
    return isolation_ == Isolation::read_committed ? kNow : timestamp_;
  }

  static Access<M> entry_of(AccessId state, TableBase<M>& table, Record<M>* record,
                            const VisibleVersion<M>& found, const std::byte* copy,
                            std::uint32_t bytes) {
    return {.record = record,
            .table = &table,
            .seen = found.word,
            .value = copy,
            .write = nullptr,
            .read = copy,
            .bytes = bytes,
            .write_bytes = 0,
            .read_bytes = bytes,
            .state = state,
            .writes = 0,
            .absent = tid::absent(found.word),
            .removed = false,
            .dirty = found.owner != nullptr,
            .pending = false};
  }

  /// Reads more columns of a row than the first access did. They are of the same version, unless
  /// its writer has aborted since, or under `read_committed` another has committed.
  bool widened(std::uint32_t entry, std::uint32_t bytes) {
    Access<M>& access = set_[entry];
    if (access.bytes >= bytes || access.absent || access.removed) return true;
    const std::uint64_t name = named_[entry].name;
    if (name == 0) return true;  // read as in Silo
    std::byte* copy = set_.allocate(bytes);
    VersionBucket<M>& bucket = runtime_.versions.bucket(name);
    M::on_control();
    bucket.latch();
    const VisibleVersion<M> found = bucket.read(*access.record, as_of(), copy, bytes, &self_);
    bucket.unlatch();
    if (found.word != access.seen) {
      conflict(is_serializable() ? AbortReason::dirty_source : AbortReason::read_validation,
               access.state);
      return false;
    }
    if (access.write != nullptr) std::memcpy(copy, access.write, access.write_bytes);
    access.value = copy;
    access.bytes = bytes;
    return true;
  }

 public:
  // ---- missing rows and scans, for StoredProcedureApi -------------------------------------------

  [[nodiscard]] static std::uint64_t name_of(const auto& table, const auto& key) {
    return VersionTable<M>::name_of(table.number(), word_of(key));
  }

  /// Notes that the key was missed. Returns false if a row may have been inserted meanwhile.
  bool note_miss(TableBase<M>& table, std::uint64_t name, const NodeVersion<M>& seen) {
    if (!table.written() || !is_serializable()) return true;
    if (seeded<M>(SeededFault::miss_without_timestamp)) return true;
    M::on_control();
    note_reader(runtime_.versions.bucket(name), name);
    return still(seen);
  }

  /// Notes that a leaf was scanned. Returns false if it has changed since it was read.
  bool note_scan(TableBase<M>& table, const NodeVersion<M>& seen) {
    if (!table.written() || !is_serializable()) return true;
    if (seeded<M>(SeededFault::scan_without_timestamp)) return true;
    M::on_control();
    note_reader(runtime_.versions.bucket(seen.word), VersionTable<M>::name_of(seen.word));
    return still(seen);
  }

  /// Called on a leaf split: the readers of the left leaf have read the right one as well.
  auto follow_split() {
    return [this](const Shared<M, std::uint64_t>* left, const Shared<M, std::uint64_t>* right) {
      if (seeded<M>(SeededFault::split_without_timestamp)) return;
      VersionBucket<M>& from = runtime_.versions.bucket(left);
      from.latch();
      const std::uint64_t last = from.last_reader(VersionTable<M>::name_of(left));
      from.unlatch();
      VersionBucket<M>& to = runtime_.versions.bucket(right);
      to.latch();
      to.note_reader(VersionTable<M>::name_of(right), last);
      to.unlatch();
    };
  }

 private:
  void note_reader(VersionBucket<M>& bucket, std::uint64_t name) {
    bucket.latch();
    bucket.note_reader(name, timestamp_);
    bucket.unlatch();
  }

  /// A transaction that changes the node after this check finds the timestamp, because the bucket's
  /// latch came between.
  static bool still(const NodeVersion<M>& seen) {
    // seq_cst: see OrderedIndex::note_removal().
    return seen.word->load(std::memory_order_seq_cst) == seen.value;
  }

  [[nodiscard]] bool may_insert_at(const Shared<M, std::uint64_t>* leaf,
                                   std::uint64_t last_removal) {
    if (seeded<M>(SeededFault::insert_behind_scans)) return true;
    if (last_removal > timestamp_) return false;
    VersionBucket<M>& bucket = runtime_.versions.bucket(leaf);
    bucket.latch();
    const std::uint64_t last = bucket.last_reader(VersionTable<M>::name_of(leaf));
    bucket.unlatch();
    return last <= timestamp_;
  }

  // ---- dependencies, and the end ---------------------------------------------------------------

  void depend_on(VersionOwner<M>* owner, std::uint64_t incarnation) {
    for (const Dependency& known : dependencies_) {
      if (known.owner == owner && known.incarnation == incarnation) return;
    }
    timeline::tell<M>(timeline::What::dependency, owner->worker());
    dependencies_.push_back({owner, incarnation});
  }

  [[nodiscard]] bool stopped() const {
    // relaxed: carries no data; a later check will see it.
    return runtime_.stop.load(std::memory_order_relaxed) != 0;
  }

  /// Waits until no earlier transaction is expected to write the row: each that is expected to has
  /// written it or has ended.
  bool await_writers([[maybe_unused]] AccessId state, [[maybe_unused]] std::uint64_t name) {
    if constexpr (requires { expected_.last_before(name, timestamp_); }) {
      while (true) {
        const auto earlier = expected_.last_before(name, timestamp_);
        if (earlier.owner == nullptr) return true;
        wait_for(*earlier.owner, earlier.incarnation, earlier.progress);
        if (stopped()) {
          conflict(AbortReason::stopped, state);
          return false;
        }
      }
    }
    return true;
  }

  /// Waits until every version that was read is committed. The writers waited for have earlier
  /// timestamps.
  bool await_dependencies() {
    if (seeded<M>(SeededFault::skip_dependency_wait)) return true;
    for (const Dependency& dependency : dependencies_) {
      VersionOwner<M>& owner = *dependency.owner;
      if (!owner.finished(dependency.incarnation)) wait_for(owner, dependency.incarnation);
      if (!owner.finished(dependency.incarnation)) {
        conflict(AbortReason::stopped, kNoState);
        return false;
      }
      if (owner.outcome(dependency.incarnation) == VersionOwner<M>::kAborted &&
          !seeded<M>(SeededFault::skip_source_check)) {
        conflict(AbortReason::dirty_source, kNoState);
        return false;
      }
    }
    return true;
  }

  void wait_for(VersionOwner<M>& owner, std::uint64_t incarnation,
                std::uint32_t progress = timeline::kUntilEnd) {
    timeline::tell<M>(timeline::What::wait, owner.worker(), progress);
    self_.waits_for.store(VersionOwner<M>::pack_reference(owner.worker(), incarnation),
                          std::memory_order_relaxed);  // relaxed: for diagnosis only
    const auto start = M::now();
    owner.wait(incarnation, progress, [this] { return stopped(); });
    waited_ += M::now() - start;
    self_.waits_for.store(0, std::memory_order_relaxed);
    timeline::tell<M>(timeline::What::wait_end);
  }

  PendingVersion<M>& next_pending() {
    if (published_ == pending_.size()) pending_.emplace_back();
    return pending_[published_++];
  }

  /// Whether the version of a record that the transaction has locked may be followed by its own.
  [[nodiscard]] bool may_overwrite(const Access<M>& access) const {
    const std::uint64_t word = unlocked(*access.record);
    if (isolation_ == Isolation::read_committed ||
        (isolation_ == Isolation::snapshot && seeded<M>(SeededFault::last_committer_wins))) {
      return !tid::dead(word) && tid::absent(word) == tid::absent(access.seen);
    }
    return word == access.seen;
  }
  [[nodiscard]] static std::uint64_t unlocked(const Record<M>& record) {
    return record.word.peek() & ~tid::kLock;
  }

  /// Puts a committed version into its record, which is locked.
  void install(std::uint32_t entry) {
    const Access<M>& access = set_[entry];
    const Named& named = named_[entry];
    const std::uint64_t before = unlocked(*access.record);
    const std::uint64_t word = tid::committed(version_, access.writes, access.removed);
    VersionBucket<M>& bucket = runtime_.versions.bucket(named.name);
    bucket.latch();
    if (!tid::absent(before) && isolation_ != Isolation::read_committed) {
      runtime_.versions.keep(this->worker(), bucket, *access.table, *access.record, before,
                             version_, horizon_);
    }
    if (this->storage().keeps_snapshots() && access.table->in_snapshots()) {
      Core::keep_version(access, before, version_);
    }
    // Readers with earlier timestamps must find the record to find its past versions.
    if (access.removed) {
      this->storage().unlink_later(this->worker(), access.table, access.record, word);
    } else {
      copy_to_record<M>(access.record->payload(), access.write, access.write_bytes);
    }
    unlock_record(*access.record, word);
    if (named.pending != nullptr) bucket.remove(*named.pending);
    bucket.unlatch();
  }

  /// Announces the outcome to the transactions that have read from this one.
  void end(std::uint64_t version) {
    const bool awaited = expected_.end();
    if (published_ == 0 && !awaited) return;
    published_ = 0;
    self_.finish(version);
  }

  /// The average number of workers' timestamps that each transaction reads to determine the oldest
  /// one.
  static constexpr int kLooksPerBegin = 2;
  /// After every timestamp.
  static constexpr std::uint64_t kNow = ~std::uint64_t{0};

  [[nodiscard]] bool is_serializable() const { return isolation_ == Isolation::serializable; }

  MultiversionRuntime<M>& runtime_;
  Isolation isolation_;
  VersionOwner<M>& self_;
  [[no_unique_address]] Expected expected_;
  std::uint64_t timestamp_ = 0;  ///< of its begin
  std::uint64_t version_ = 0;    ///< of what it commits
  std::uint64_t horizon_ = 0;    ///< no transaction reads as of a time before this
  int begun_ = 0;                ///< kLooksPerBegin for each begin since then
  typename M::Ticks waited_ = 0;
  std::vector<Named> named_;  ///< parallel to the access set
  std::vector<Dependency> dependencies_;
  std::vector<Source> sources_;
  // A deque: versions stay where they are while the pool grows.
  std::deque<PendingVersion<M>> pending_;
  std::size_t published_ = 0;
};

}  // namespace heddle
