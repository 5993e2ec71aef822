#pragma once

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <vector>

#include "machine/seeded_fault.h"
#include "protocol/access_set.h"
#include "protocol/node_set.h"
#include "protocol/outcome.h"
#include "protocol/timeline.h"
#include "storage/storage.h"

namespace heddle {

/// The part of a transaction that every protocol of this engine shares: its sets, placing records
/// for inserts, and Silo's way of installing a commit (SOSP 2013, §4.4-§4.6).
///
/// A protocol decides when records may be accessed and what must be validated. Under every
/// protocol, versions are installed under the record's lock bit with a TID greater than any the
/// transaction has seen, so that validation, snapshots and index nodes have the same meaning under
/// all of them.
template <class M>
class OptimisticCore {
 public:
  OptimisticCore(Storage<M>& storage, int worker) : storage_(storage), worker_(worker) {}

  [[nodiscard]] int worker() const { return worker_; }
  [[nodiscard]] Storage<M>& storage() { return storage_; }
  [[nodiscard]] AbortReason reason() const { return reason_; }
  /// The access at which the transaction aborted; kNoState if the abort belongs to no access.
  [[nodiscard]] AccessId reason_state() const { return reason_state_; }
  [[nodiscard]] const std::byte* value_of(std::uint32_t entry) const { return set_[entry].value; }

  // For observers: the accesses of the last attempt, until the next begins.

  /// The access set.
  [[nodiscard]] const AccessSet<M>& accesses() const { return set_; }
  /// The version it committed as.
  [[nodiscard]] std::uint64_t last_version() const { return last_version_; }
  /// The writer of a version that was uncommitted when it was read.
  struct DirtySource {
    int worker;
    std::uint64_t incarnation;
    std::uint8_t writes;
  };
  [[nodiscard]] static DirtySource dirty_source(std::uint32_t /*entry*/) { return {-1, 0, 0}; }
  /// The incarnation of its worker's context; advances with every attempt that others could see.
  [[nodiscard]] static std::uint64_t incarnation() { return 0; }

  /// The outcome of a procedure after an access that returned nothing: the protocol's abort if
  /// there was a conflict, the transaction's rollback if the row does not exist.
  [[nodiscard]] Outcome stop() const { return doomed_ ? Outcome::abort : Outcome::rollback; }

  /// Dooms the transaction: it has to abort and run again.
  void conflict(AbortReason reason, AccessId state) {
    if (doomed_) return;
    doomed_ = true;
    reason_ = reason;
    reason_state_ = state;
  }

 protected:
  void begin_core() {
    set_.clear();
    nodes_.clear();
    locked_.clear();
    watched_.clear();
    placeholders_.clear();
    doomed_ = false;
    stray_placeholders_ = false;
    looked_again_ = false;
    reason_ = AbortReason::none;
    reason_state_ = kNoState;
  }

  /// Reads a record's committed version into the set. The entry may be absent.
  /// @param place locate(record); the set does not hold the record yet
  [[gnu::always_inline]] Look read_committed(AccessId state, TableBase<M>& table, Record<M>* record,
                                             std::uint32_t bytes,
                                             typename AccessSet<M>::Place place,
                                             std::uint32_t& entry) {
    std::byte* copy = set_.allocate(bytes);
    const std::uint64_t word = read_stable(*record, copy, bytes);
    if (tid::dead(word)) [[unlikely]]
      return Look::gone;
    entry = set_.size();
    Access<M>& access = set_.append(record, place);
    access.table = &table;
    access.seen = word;
    access.value = copy;
    access.write = nullptr;
    access.read = copy;
    access.bytes = bytes;
    access.write_bytes = 0;
    access.read_bytes = bytes;
    access.state = state;
    access.writes = 0;
    access.absent = tid::absent(word);
    access.removed = false;
    access.dirty = false;
    access.pending = false;
    return access.absent ? Look::absent : Look::present;
  }

  /// Accesses a record that the set already holds: what the transaction read or wrote, widened if
  /// this access needs more columns than the first.
  Look look_again(std::uint32_t entry, std::uint32_t bytes) {
    Access<M>& access = set_[entry];
    if (access.removed || access.absent) return Look::absent;
    if (access.bytes < bytes && !widen(access, bytes)) return Look::stop;
    return Look::present;
  }

  /// A private copy of what the transaction sees of the row, to be modified and installed. Each
  /// write has a buffer of its own: values returned before stay unchanged. nullptr if the
  /// transaction must stop.
  std::byte* next_write_buffer(std::uint32_t entry, std::uint32_t bytes) {
    Access<M>& access = set_[entry];
    if (seeded<M>(SeededFault::drop_own_write) && access.writes == 1 && access.write != nullptr) {
      return set_.allocate(std::max(bytes, access.write_bytes));
    }
    const std::uint32_t size = std::max(bytes, access.write_bytes);
    const bool exists = !access.absent && !access.removed;
    if (exists && access.bytes < size && !widen(access, size)) return nullptr;
    std::byte* buffer = set_.allocate(size);
    if (exists) std::memcpy(buffer, access.value, size);
    access.write = buffer;
    access.value = buffer;
    access.write_bytes = size;
    access.bytes = size;
    if (access.writes < tid::kMaxWrites) ++access.writes;
    return buffer;
  }

  /// Adds to the set the placeholder that an insert put into the index, or the record it found
  /// there. Returns `absent` if the row may be written, `present` if the key is taken.
  Look adopt(AccessId state, TableBase<M>& table, const InsertResult<M>& result,
             std::uint32_t& entry) {
    if (result.inserted) {
      placeholders_.push_back({&table, result.record});
      nodes_.own_insert(result);
      entry = set_.add({.record = result.record,
                        .table = &table,
                        .seen = tid::kPlaceholder,
                        .value = nullptr,
                        .write = nullptr,
                        .read = nullptr,
                        .bytes = 0,
                        .write_bytes = 0,
                        .read_bytes = 0,
                        .state = state,
                        .writes = 0,
                        .absent = true,
                        .removed = false,
                        .dirty = false,
                        .pending = false});
      return Look::absent;
    }
    const auto place = set_.locate(result.record);
    entry = place.entry;
    if (entry != AccessSet<M>::kNone) {
      const Access<M>& access = set_[entry];
      return access.absent || access.removed ? Look::absent : Look::present;
    }
    return read_committed(state, table, result.record, 0, place, entry);
  }

 public:
  /// Whether a record that a range holds now and did not when it was scanned is invisible to the
  /// transaction: it is its own insert, or one that has not committed and so will come after it. A
  /// record that is being committed counts as a phantom.
  [[nodiscard]] bool invisible(const Record<M>* record) {
    const std::uint32_t entry = set_.find(record);
    if (entry != AccessSet<M>::kNone) return tid::absent(set_[entry].seen);
    // seq_cst: as in validate().
    const std::uint64_t word = record->word.load(std::memory_order_seq_cst);
    watched_.push_back({record, word});
    return tid::absent(word) && !tid::locked(word);
  }
  [[nodiscard]] const Record<M>* record_of(std::uint32_t entry) const { return set_[entry].record; }
  [[nodiscard]] NodeSet<M>& nodes() { return nodes_; }
  [[nodiscard]] std::byte* allocate(std::size_t bytes) { return set_.allocate(bytes); }

  /// The row inserted at `entry` exists for this transaction from here on.
  void revive(std::uint32_t entry) {
    set_[entry].absent = false;
    set_[entry].removed = false;
  }

 protected:
  bool set_removed(std::uint32_t entry) {
    Access<M>& access = set_[entry];
    access.removed = true;
    if (access.writes < tid::kMaxWrites) ++access.writes;
    return true;
  }

  /// Silo's commit, phases 1 to 3. On false nothing has changed and conflict() has been called;
  /// abort_core() must follow.
  bool commit_core() {
    if (seeded<M>(SeededFault::validate_before_locks) && !validate(false)) return false;
    lock_write_set();
    timeline::tell<M>(timeline::What::validate);
    // The serialization point: after the locks, before the validation.
    const std::uint64_t epoch = storage_.epochs().current();
    if (!seeded<M>(SeededFault::validate_before_locks) && !validate()) return false;
    return install_in(epoch, highest_seen_);
  }

  /// Installs the write set, which is locked, under a version of an epoch that is greater than
  /// `highest_seen`. On false conflict() has been called.
  bool install_in(std::uint64_t epoch, std::uint64_t highest_seen) {
    const std::uint64_t version = next_version(epoch, highest_seen);
    if (tid::epoch(version) != epoch) [[unlikely]] {
      conflict(AbortReason::epoch_full, kNoState);
      return false;
    }
    last_version_ = version;
    timeline::tell<M>(timeline::What::install);
    install(version);
    return true;
  }

  /// Ends the transaction without effect: unlocks, and takes its placeholders out of the indexes.
  void abort_core() {
    unlock_write_set();
    drop_placeholders();
  }

  /// Releases the locks of a commit that was refused.
  void unlock_write_set() {
    for (const Locked& locked : locked_) {
      unlock_record(*locked.record, locked.record->word.peek() & ~tid::kLock);
    }
    locked_.clear();
  }

  /// Whether at one moment since the write set was locked every record and every range was as the
  /// transaction read it. That moment is its place in the serial order.
  ///
  /// Versions only grow, so a record that still has the version that was read has not changed
  /// since. A range whose node has changed is scanned again; see NodeSet::look_again() for what
  /// follows.
  bool validate(bool write_set_locked = true) {
    constexpr int kRounds = 4;
    if (seeded<M>(SeededFault::skip_rollback_validation) && !write_set_locked) return true;
    watched_.clear();
    for (int round = 0; round < kRounds; ++round) {
      const bool looked_again = !seeded<M>(SeededFault::skip_node_validation) && !nodes_.current();
      looked_again_ = looked_again_ || looked_again;
      if (looked_again && !nodes_.look_again(this)) [[unlikely]]
        break;
      if (!records_unchanged(write_set_locked)) return false;
      // Kept over the rounds: no node version changes when a record that was passed over commits.
      if (!watched_unchanged()) [[unlikely]]
        break;
      if (!looked_again || nodes_.current()) [[likely]]
        return true;
    }
    conflict(AbortReason::node_validation, kNoState);
    return false;
  }

  /// Reads a changed record again. If the columns that the transaction was given are unchanged, it
  /// becomes a reader of the new version: it would do the same again, because procedures are
  /// deterministic in their input and the columns they read.
  [[nodiscard]] bool reads_the_same(Access<M>& access) {
    if (tid::absent(access.seen) || access.read == nullptr) return false;
    std::byte* copy = set_.allocate(access.read_bytes);
    const std::uint64_t word = read_stable(*access.record, copy, access.read_bytes);
    if (seeded<M>(SeededFault::same_without_looking) && !tid::absent(word)) {
      access.seen = word;
      return true;
    }
    if (tid::absent(word) || std::memcmp(copy, access.read, access.read_bytes) != 0) return false;
    access.seen = word;
    return true;
  }

  bool records_unchanged(bool write_set_locked) {
    highest_seen_ = 0;
    for (const Access<M>& access : set_) {
      // seq_cst: ordered after this transaction's locks, see lock_record().
      std::uint64_t word = access.record->word.load(std::memory_order_seq_cst);
      if (write_set_locked && access.written()) word &= ~tid::kLock;  // by this transaction
      if (seeded<M>(SeededFault::skip_read_validation)) word = access.seen;
      if (word != access.seen) [[unlikely]] {
        conflict(access.dirty ? AbortReason::dirty_source : AbortReason::read_validation,
                 access.state);
        return false;
      }
      highest_seen_ = std::max(highest_seen_, word);
    }
    return true;
  }

  /// Whether the records passed over as uncommitted still are.
  [[nodiscard]] bool watched_unchanged() const {
    if (seeded<M>(SeededFault::pass_over_for_good)) return true;
    for (const Watched& watched : watched_) {
      // seq_cst: as in records_unchanged().
      if (watched.record->word.load(std::memory_order_seq_cst) != watched.word) return false;
    }
    return true;
  }

  void lock_write_set() {
    for (std::uint32_t entry = 0; entry < set_.size(); ++entry) {
      Record<M>* record = set_[entry].record;
      if (set_[entry].written()) locked_.push_back({record, M::order_of(record), entry});
    }
    // One global order, by address, so that committing transactions cannot deadlock.
    std::sort(locked_.begin(), locked_.end(),
              [](const Locked& a, const Locked& b) { return a.order < b.order; });
    if (seeded<M>(SeededFault::wrong_lock_order) && worker_ % 2 != 0) {
      std::reverse(locked_.begin(), locked_.end());
    }
    for (const Locked& locked : locked_) {
      if (!seeded<M>(SeededFault::skip_write_locks)) lock_record(*locked.record);
    }
  }

  /// A version greater than every version that the transaction saw and its worker committed, in
  /// this epoch; in a later one if this epoch has none left.
  [[nodiscard]] std::uint64_t next_version(std::uint64_t epoch, std::uint64_t highest_seen) const {
    if (seeded<M>(SeededFault::reuse_version_ids) && tid::epoch(last_version_) == epoch) {
      return last_version_;
    }
    const std::uint64_t highest = std::max(last_version_, tid::version(highest_seen));
    return std::max(highest + tid::kStep, tid::first_of_epoch(epoch));
  }

  /// A row inserted and deleted again leaves a version too, absent like the one before it. Workers
  /// may commit under equal versions, so only the record's own version distinguishes them; without
  /// it, a dirty read of the insert would match the version that another worker then installs
  /// there.
  void install(std::uint64_t version) {
    bool removes = false;
    for (const Locked& locked : locked_) {
      const Access<M>& access = set_[locked.entry];
      if (seeded<M>(SeededFault::leave_no_version) && access.removed && tid::absent(access.seen)) {
        unlock_record(*access.record, access.seen);
        stray_placeholders_ = true;
        continue;
      }
      const std::uint64_t word = tid::committed(version, access.writes, access.removed);
      const bool has_past = storage_.keeps_snapshots() && access.table->in_snapshots();
      if (has_past) {
        keep_version(access, access.seen, version);
        if (access.removed) storage_.unlink_later(worker_, access.table, access.record, word);
      }
      if (seeded<M>(SeededFault::release_before_install)) unlock_record(*access.record, word);
      if (!access.removed) {
        copy_to_record<M>(access.record->payload(), access.write, access.write_bytes);
      }
      unlock_record(*access.record, word);
      removes = removes || (access.removed && !has_past);
    }
    // Unlinking locks a record again, out of order: only after all locks are released.
    if (removes) unlink_removed(version);
    locked_.clear();
    if (stray_placeholders_) [[unlikely]]
      drop_placeholders();
  }

  void drop_placeholders() {
    if (seeded<M>(SeededFault::leave_placeholders)) return;
    for (const Placeholder& placeholder : placeholders_) {
      storage_.unlink_if_still(worker_, placeholder.table, placeholder.record, tid::kPlaceholder);
    }
    placeholders_.clear();
  }

  /// Saves the version about to be overwritten if a snapshot may need it.
  /// @param word of that version
  void keep_version(const Access<M>& access, std::uint64_t word, std::uint64_t version) {
    if (seeded<M>(SeededFault::skip_old_versions)) return;
    if (tid::absent(word) && tid::version(word) == 0) return;
    if (Epochs<M>::same_snapshot(tid::epoch(word), tid::epoch(version))) return;
    const std::size_t bytes = sizeof(Version<M>) + access.table->row_bytes();
    auto* old =
        new (storage_.allocate(worker_, bytes)) Version<M>{word, access.record->past.newest()};
    std::memcpy(old->payload(), access.record->payload(), access.table->row_bytes());
    access.record->past.add(old);
    storage_.retire_version(worker_, old, bytes, tid::epoch(version));
  }

  struct Watched {
    const Record<M>* record;
    std::uint64_t word;
  };
  struct Locked {
    Record<M>* record;
    std::uintptr_t order;
    std::uint32_t entry;
  };
  struct Placeholder {
    TableBase<M>* table;
    Record<M>* record;
  };

  AccessSet<M> set_;
  NodeSet<M> nodes_;
  std::vector<Locked> locked_;
  std::vector<Watched> watched_;  ///< uncommitted inserts of others met in ranges scanned again
  std::vector<Placeholder> placeholders_;
  bool doomed_ = false;
  /// Whether validate() has scanned a range again. It remembers what it passed over there only
  /// until it returns, so an attempt that it refused cannot be validated a second time.
  bool looked_again_ = false;
  bool stray_placeholders_ = false;  ///< a placeholder was not made a row by the commit

 private:
  /// Reads more columns of a record than the first access did; both must be of one version.
  bool widen(Access<M>& access, std::uint32_t bytes) {
    std::byte* copy = set_.allocate(bytes);
    const std::uint64_t word = read_stable(*access.record, copy, bytes);
    if (access.dirty || word != access.seen) {
      conflict(AbortReason::read_validation, access.state);
      return false;
    }
    access.read = access.write == nullptr ? copy : nullptr;
    access.read_bytes = bytes;
    if (access.write != nullptr) std::memcpy(copy, access.write, access.write_bytes);
    access.value = copy;
    access.bytes = bytes;
    return true;
  }

  void unlink_removed(std::uint64_t version) {
    for (const Locked& locked : locked_) {
      const Access<M>& access = set_[locked.entry];
      const bool has_past = storage_.keeps_snapshots() && access.table->in_snapshots();
      if (!access.removed || has_past) continue;
      const std::uint64_t word = tid::committed(version, access.writes, true);
      storage_.unlink_if_still(worker_, access.table, access.record, word);
    }
  }

  Storage<M>& storage_;
  int worker_;
  std::uint64_t last_version_ = 0;
  std::uint64_t highest_seen_ = 0;
  AbortReason reason_ = AbortReason::none;
  AccessId reason_state_ = kNoState;
};

}  // namespace heddle
