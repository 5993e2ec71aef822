#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>
#include <string>
#include <vector>

#include "model/access_id.h"
#include "model/function_ref.h"
#include "protocol/access_set.h"
#include "protocol/entry_lookup.h"
#include "protocol/external_entrance.h"
#include "protocol/external_row.h"
#include "protocol/external_runtime.h"
#include "protocol/key_locks.h"
#include "protocol/optimistic.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "protocol/stored_rows.h"
#include "protocol/typed_access.h"
#include "storage/key.h"
#include "storage/record.h"
#include "storage/storage.h"
#include "storage/tid.h"
#include "store/connection.h"

namespace heddle {

/// A transaction that an external store isolates.
///
/// Rows are private copies. Reads go to the store once for each row, or for each row of a group;
/// writes change the copy, and all of them are sent at commit, so a scan merges the transaction's
/// own. Each copy is laid out as a record of the engine, so that observers find in the access set
/// what they find under other protocols.
template <class M>
class ExternalTransaction : public TypedAccess<ExternalTransaction<M>> {
 public:
  static constexpr bool kReplays = false;
  /// The store decides of which moment since the begin its reads are.
  static constexpr bool kReadsAsOfBegin = true;

  explicit ExternalTransaction(ExternalRuntime<M>& runtime)
      : runtime_(runtime), connection_(runtime.connect()) {}

  /// Makes it end the run if it accesses a row whose lock is not among these. The store's isolation
  /// is weaker than serializable then, and only locks on all rows make up for it.
  /// @param locked nullptr: it may access every row
  void restrict_to(const KeyRequests* locked) { locked_ = locked; }

  // ---- an attempt, for attempt_to_commit() -----------------------------------------------------

  /// @param may_run false: the run ended before it could begin, and it aborts
  void begin(store::Access access, bool may_run = true) {
    reset();
    known_.clear();
    if (may_run) {
      start(access);
    } else {
      conflict(AbortReason::stopped, kNoState);
    }
  }

  /// Whether prefetch() takes less time than the reads that it saves.
  [[nodiscard]] bool reads_faster_together() const {
    return connection_ != nullptr && connection_->reads_faster_together();
  }
  /// Reads rows that the transaction, or the members of its group, are expected to access. It comes
  /// after the begin, so that they are of the same moment as any other read.
  /// @param rows ordered, each once
  void prefetch(std::span<const HintedRow> rows) {
    if (doomed_ || rows.empty()) return;
    // The rows refer to their keys, so that these come first.
    std::vector<external::KeyBytes> keys;
    for (const HintedRow& row : rows) keys.emplace_back(std::span(&row.key, 1));
    std::vector<StoredRow<M>*> known;
    std::vector<store::RowToRead> wanted;
    for (const HintedRow& row : rows) {
      TableBase<M>& table = runtime_.table(row.table);
      const std::size_t bytes = external::value_bytes(table);
      known.push_back(&known_.add(table, std::span(&row.key, 1), bytes, false));
      wanted.push_back({.table = row.table,
                        .key = keys[wanted.size()].bytes(),
                        .lock = row.shared ? store::RowLock::shared : store::RowLock::exclusive,
                        .out = {known.back()->value, bytes}});
    }
    if (!accept(connection_->get_all(wanted), kNoState)) return;
    for (std::size_t at = 0; at < wanted.size(); ++at) {
      known[at]->exists = known[at]->exists_in_store = wanted[at].found;
    }
  }

  /// On false, abort() must follow.
  bool commit() {
    if (doomed_ || !send_writes()) return false;
    return grouped_ || accept(connection_->commit(), kNoState);
  }
  /// A store may find at the commit only that what a transaction has read is of no serial order.
  /// Nothing has been sent, so that the commit has no effect. A group is validated when it commits.
  [[nodiscard]] bool validate_rollback() {
    return !doomed_ && (grouped_ || accept(connection_->commit(), kNoState));
  }
  /// What a member of a group has sent is undone with the group. One that rolls back by itself has
  /// sent nothing.
  void abort() {
    if (connection_ != nullptr && !grouped_) connection_->rollback();
  }

  // ---- a group: several transactions that are one of the store's -------------------------------

  /// Begins the store's transaction. On false, abort_group() must follow.
  bool begin_group(store::Access access, bool may_run = true) {
    begin(access, may_run);
    grouped_ = true;
    return !doomed_;
  }
  /// Begins the next of them, which sees the writes of those before.
  void begin_member() { reset(); }
  /// Commits those that have committed. On false, abort_group() must follow.
  bool commit_group() {
    grouped_ = false;
    return flush() && accept(connection_->commit(), kNoState);
  }
  void abort_group() {
    grouped_ = false;
    abort();
  }

  /// The time that the begin took, where it waits for other writers.
  [[nodiscard]] typename M::Ticks waited() const { return waited_; }
  [[nodiscard]] AbortReason reason() const { return reason_; }
  [[nodiscard]] AccessId reason_state() const { return reason_state_; }
  void passed(AccessId) {}
  [[nodiscard]] Outcome stop() const { return doomed_ ? Outcome::abort : Outcome::rollback; }

  // The operations for TypedAccess (protocol/typed_access.h).

  template <class T>
  Row<std::byte> read_row(AccessId state, T& table, const typename T::KeyType& key,
                          std::uint32_t /*bytes*/, Record<M>* /*found*/ = nullptr) {
    const std::uint32_t entry = look_up(state, table, key.words, runtime_.lock_of(state));
    if (entry == kNone || !exists(set_[entry])) return {};
    return {set_[entry].value, entry};
  }

  template <class T, class F>
  bool update_row(AccessId /*state*/, T& table, std::uint32_t entry, std::uint32_t bytes,
                  F modify) {
    if (doomed_) return false;
    std::byte* copy = new_copy(table);
    std::memcpy(copy, set_[entry].value, table.row_bytes());
    modify(copy);
    write(entry, copy, bytes);
    return true;
  }

  template <class T>
  bool insert_row(AccessId state, T& table, const typename T::KeyType& key, const std::byte* row,
                  std::uint32_t bytes) {
    assert(bytes == table.row_bytes());
    std::uint32_t entry = look_up(state, table, key.words, store::RowLock::exclusive);
    if (doomed_ || (entry != kNone && exists(set_[entry]))) return false;
    if (entry == kNone) {
      entry = add(state, table, key.words, new_record(table), tid::kPlaceholder);
    }
    std::byte* copy = new_copy(table);
    std::memcpy(copy, row, bytes);
    write(entry, copy, bytes);
    set_[entry].absent = false;
    set_[entry].removed = false;
    return true;
  }

  template <class T>
  bool remove_row(AccessId /*state*/, T& /*table*/, std::uint32_t entry) {
    if (doomed_) return false;
    set_[entry].removed = true;
    count_write(set_[entry]);
    return true;
  }

  template <class T, class F>
  bool scan_rows(AccessId state, T& table, const typename T::KeyType& lo,
                 const typename T::KeyType& hi, Order order, std::uint32_t limit,
                 std::uint32_t /*bytes*/, F visit) {
    return scan_merged(state, table, lo.words, hi.words, order, limit,
                       [&visit](const std::uint64_t* words, const Row<std::byte>& row) {
                         return visit(*reinterpret_cast<const typename T::KeyType*>(words), row);
                       });
  }

  // ---- for observers ---------------------------------------------------------------------------

  [[nodiscard]] const AccessSet<M>& accesses() const { return set_; }
  [[nodiscard]] const Record<M>* record_of(std::uint32_t entry) const { return set_[entry].record; }
  /// Versions order the lives of a row as well, so that a row has one place.
  [[nodiscard]] static std::uint64_t place_of(std::uint32_t /*entry*/) { return 0; }
  [[nodiscard]] std::uint64_t last_version() const { return last_version_; }
  [[nodiscard]] static typename OptimisticCore<M>::DirtySource dirty_source(
      std::uint32_t /*entry*/) {
    return {-1, 0, 0};
  }
  [[nodiscard]] static std::uint64_t incarnation() { return 0; }

 private:
  using Words = std::span<const std::uint64_t>;
  using VisitRow = FunctionRef<bool(const std::uint64_t*, const Row<std::byte>&)>;

  static constexpr std::uint32_t kNone = EntryLookup::kNone;
  static constexpr double kLongestUs = 10'000;

  void reset() {
    set_.clear();
    lookup_.clear();
    doomed_ = false;
    reason_ = AbortReason::none;
    reason_state_ = kNoState;
    waited_ = 0;
  }

  void start(store::Access access) {
    if (connection_ == nullptr || runtime_.failed()) {
      conflict(AbortReason::stopped, kNoState);
      // The run ends when its monitor polls; attempts until then would count as aborts.
      M::idle(M::ticks(kLongestUs), runtime_.stop().raw());
      return;
    }
    const auto before = M::now();
    (void)accept(connection_->begin(access), kNoState);
    if (access == store::Access::read_write) waited_ = M::now() - before;
  }

  static bool exists(const Access<M>& access) { return !access.absent && !access.removed; }

  void conflict(AbortReason reason, AccessId state) {
    doomed_ = true;
    reason_ = reason;
    reason_state_ = state;
  }

  /// Whether an operation succeeded; if not, the transaction has to abort.
  bool accept(store::Status status, AccessId state) {
    switch (status) {
      case store::Status::ok: return true;
      // What the transaction has read as present is absent, or the other way round.
      case store::Status::absent:
      case store::Status::exists:
      case store::Status::conflict: conflict(AbortReason::read_validation, state); break;
      case store::Status::deadlock: conflict(AbortReason::deadlock, state); break;
      case store::Status::busy: conflict(AbortReason::lock_conflict, state); break;
      case store::Status::lost: runtime_.fail(connection_->error()); [[fallthrough]];
      case store::Status::stopped: conflict(AbortReason::stopped, state); break;
    }
    return false;
  }

  bool may_access(AccessId state, const TableBase<M>& table, Words key, bool writes) {
    if (locked_ == nullptr || locked_->covers({table.number(), word_of(key)}, writes)) return true;
    return refuse(state, "a row of " + std::string(table.name()) + (writes ? " to write" : ""));
  }
  /// A range is in no lock.
  bool may_scan(AccessId state, const TableBase<M>& table) {
    return locked_ == nullptr || refuse(state, "a range of " + std::string(table.name()));
  }
  bool refuse(AccessId state, const std::string& what) {
    runtime_.fail(
        "protocol external: below isolation=serializable, locks=hints needs hints of all rows, and "
        "none names " +
        what + "; use isolation=serializable");
    conflict(AbortReason::stopped, state);
    return false;
  }

  // ---- copies of rows --------------------------------------------------------------------------

  /// A row and its version, uninitialised.
  std::byte* new_copy(const TableBase<M>& table) {
    return set_.allocate(external::value_bytes(table));
  }

  /// A record whose content and key are not set.
  Record<M>* new_record(const TableBase<M>& table) {
    const std::size_t behind = std::max<std::size_t>(
        external::kVersionBytes, table.kind().key_words * sizeof(std::uint64_t));
    return new (set_.allocate(sizeof(Record<M>) + table.row_bytes() + behind)) Record<M>{};
  }

  /// Adds a row to the access set. In its record the key takes the place of the version.
  std::uint32_t add(AccessId state, TableBase<M>& table, Words key, Record<M>* record,
                    std::uint64_t version) {
    // relaxed: no other thread sees the record.
    record->word.store(version, std::memory_order_relaxed);
    std::memcpy(record->payload() + table.row_bytes(), key.data(), key.size_bytes());
    const auto bytes = static_cast<std::uint32_t>(table.row_bytes());
    const std::uint32_t entry = set_.add({.record = record,
                                          .table = &table,
                                          .seen = version,
                                          .value = record->payload(),
                                          .write = nullptr,
                                          .read = nullptr,
                                          .bytes = bytes,
                                          .write_bytes = 0,
                                          .read_bytes = 0,
                                          .state = state,
                                          .writes = 0,
                                          .absent = tid::absent(version),
                                          .removed = false,
                                          .dirty = false,
                                          .pending = false});
    lookup_.add(hash(table, key), entry);
    return entry;
  }

  static std::uint64_t hash(const TableBase<M>& table, Words key) {
    constexpr std::uint64_t kSpread = 0x9e37'79b9'7f4a'7c15;
    return hash_of(key) ^ table.number() * kSpread;
  }

  /// The entry of a row that the transaction has accessed; kNone: it has not.
  [[nodiscard]] std::uint32_t find(const TableBase<M>& table, Words key) const {
    return lookup_.find(hash(table, key), [&](std::uint32_t entry) {
      return set_[entry].table == &table &&
             std::equal(key.begin(), key.end(), key_words_of(table, set_[entry].record));
    });
  }

  /// The entry of a row, which it reads unless it has it; kNone: the row does not exist, or the
  /// transaction has to stop.
  std::uint32_t look_up(AccessId state, TableBase<M>& table, Words key, store::RowLock lock) {
    if (doomed_ || !may_access(state, table, key, false)) return kNone;
    const std::uint32_t known = find(table, key);
    if (known != kNone) return known;
    const std::size_t bytes = external::value_bytes(table);
    if (const StoredRow<M>* row = known_.find(table, key); row != nullptr) {
      if (!row->exists) return kNone;
      Record<M>* record = new_record(table);
      std::memcpy(record->payload(), row->value, bytes);
      return add_read(state, table, key, record);
    }
    Record<M>* record = new_record(table);
    const store::Status status = connection_->get(table.number(), external::KeyBytes(key).bytes(),
                                                  lock, {record->payload(), bytes});
    if (status != store::Status::absent && !accept(status, state)) return kNone;
    const bool exists = status == store::Status::ok;
    // The members of its group that follow read it here.
    if (grouped_) {
      StoredRow<M>& row = known_.add(table, key, bytes, exists);
      if (exists) std::memcpy(row.value, record->payload(), bytes);
    }
    return exists ? add_read(state, table, key, record) : kNone;
  }

  std::uint32_t add_read(AccessId state, TableBase<M>& table, Words key, Record<M>* record) {
    return add(state, table, key, record,
               external::version_behind(record->payload(), table.row_bytes()));
  }

  // ---- writes ----------------------------------------------------------------------------------

  void write(std::uint32_t entry, std::byte* copy, std::uint32_t bytes) {
    Access<M>& access = set_[entry];
    access.write = copy;
    access.value = copy;
    access.write_bytes = std::max(bytes, access.write_bytes);
    count_write(access);
  }
  static void count_write(Access<M>& access) {
    if (access.writes < tid::kMaxWrites) ++access.writes;
  }

  bool send_writes() {
    const bool writes = std::any_of(set_.begin(), set_.end(),
                                    [](const Access<M>& access) { return access.written(); });
    if (!writes) return true;
    last_version_ = runtime_.next_version();
    return std::all_of(set_.begin(), set_.end(), [this](const Access<M>& access) {
      if (!access.written()) return true;
      const Words key{key_words_of(*access.table, access.record), access.table->kind().key_words};
      if (!may_access(access.state, *access.table, key, true)) return false;
      if (!access.removed) {
        external::set_version_behind(access.write, access.table->row_bytes(),
                                     tid::committed(last_version_, access.writes, false));
      }
      const bool was_there = !tid::absent(access.seen);
      if (grouped_) {
        leave(access, key, was_there);
        return true;
      }
      return accept(send(*access.table, key, access.removed ? nullptr : access.write, was_there),
                    access.state);
    });
  }

  /// Leaves a write of a member to the members that follow, and to flush().
  void leave(const Access<M>& access, Words key, bool was_there) {
    if (access.removed && !was_there) return;  // only this member has ever had the row
    TableBase<M>& table = *access.table;
    const std::size_t bytes = external::value_bytes(table);
    StoredRow<M>* row = known_.find(table, key);
    if (row == nullptr) row = &known_.add(table, key, bytes, was_there);  // it was scanned
    row->exists = !access.removed;
    row->unsent = true;
    row->writer = access.state;
    if (!access.removed) std::memcpy(row->value, access.write, bytes);
  }

  /// Sends what the members of a group have written. A row that one of them has inserted and a
  /// later one deleted is sent, too: only by a conflict in the store are the versions of one row in
  /// one order.
  bool flush() {
    return known_.flush([this](const StoredRow<M>& row) {
      const bool is_put = row.exists || !row.exists_in_store;
      if (is_put &&
          !accept(send(*row.table, row.key, row.value, row.exists_in_store), row.writer)) {
        return false;
      }
      return row.exists || accept(send(*row.table, row.key, nullptr, true), row.writer);
    });
  }

  /// @param value with its version; nullptr: the row does not exist
  /// @param was_there whether the store has the row
  store::Status send(const TableBase<M>& table, Words key, const std::byte* value, bool was_there) {
    const external::KeyBytes bytes(key);
    if (value != nullptr) {
      return connection_->put(table.number(), bytes.bytes(), {value, external::value_bytes(table)},
                              was_there ? store::Put::replace : store::Put::fresh);
    }
    return was_there ? connection_->erase(table.number(), bytes.bytes()) : store::Status::ok;
  }

  // ---- scans -----------------------------------------------------------------------------------

  /// Visits the rows of the store and those that the transaction has inserted, in one order.
  bool scan_merged(AccessId state, TableBase<M>& table, Words lo, Words hi, Order order,
                   std::uint32_t limit, VisitRow visit) {
    if (doomed_ || !may_scan(state, table)) return false;
    if (grouped_ && !flush()) return false;  // the store has to find them
    const bool ascending = order == Order::ascending;
    const auto precedes = [ascending](Words one, Words other) {
      return ascending
                 ? std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end())
                 : std::lexicographical_compare(other.begin(), other.end(), one.begin(), one.end());
    };
    std::uint32_t visited = 0;
    bool more = true;
    const auto hand_out = [&](const std::uint64_t* key, std::uint32_t entry) {
      if (!exists(set_[entry])) return true;
      more = visit(key, Row<std::byte>(set_[entry].value, entry)) && ++visited != limit;
      return more && !doomed_;
    };
    // The rows that the store does not have yet.
    std::vector<std::uint32_t> own = own_inserts(table, lo, hi);
    std::sort(own.begin(), own.end(), [&](std::uint32_t one, std::uint32_t other) {
      return precedes(key_of(one), key_of(other));
    });
    auto next_own = own.begin();
    const auto hand_out_own = [&](const auto& is_due) {
      while (next_own != own.end() && is_due(key_of(*next_own))) {
        const std::uint32_t entry = *next_own++;
        if (!hand_out(key_of(entry).data(), entry)) return false;
      }
      return true;
    };
    const auto hand_out_stored = [&](store::Bytes key_bytes, store::Bytes value) {
      std::array<std::uint64_t, external::KeyBytes::kMostWords> words;
      external::read_key(key_bytes, words.data());
      const Words key = std::span(words).first(lo.size());
      if (!hand_out_own([&](Words inserted) { return precedes(inserted, key); })) return false;
      std::uint32_t entry = find(table, key);
      if (entry == kNone) {
        Record<M>* record = new_record(table);
        std::memcpy(record->payload(), value.data(), table.row_bytes());
        entry = add(state, table, key, record,
                    external::version_behind(value.data(), table.row_bytes()));
      }
      return hand_out(words.data(), entry);
    };
    const store::Status status = connection_->scan(
        table.number(), external::KeyBytes(lo).bytes(), external::KeyBytes(hi).bytes(),
        ascending ? store::Direction::ascending : store::Direction::descending, limit,
        runtime_.lock_of(state), hand_out_stored);
    if (!accept(status, state)) return false;
    if (more && !doomed_) (void)hand_out_own([](Words) { return true; });
    return !doomed_;
  }

  [[nodiscard]] Words key_of(std::uint32_t entry) const {
    const Access<M>& access = set_[entry];
    return {key_words_of(*access.table, access.record), access.table->kind().key_words};
  }

  [[nodiscard]] std::vector<std::uint32_t> own_inserts(const TableBase<M>& table, Words lo,
                                                       Words hi) const {
    std::vector<std::uint32_t> own;
    const auto below = [](Words one, Words other) {
      return std::lexicographical_compare(one.begin(), one.end(), other.begin(), other.end());
    };
    for (std::uint32_t entry = 0; entry < set_.size(); ++entry) {
      const Access<M>& access = set_[entry];
      if (access.table != &table || !access.written() || !tid::absent(access.seen)) continue;
      if (!below(key_of(entry), lo) && !below(hi, key_of(entry))) own.push_back(entry);
    }
    return own;
  }

  ExternalRuntime<M>& runtime_;
  store::Connection* connection_;  ///< nullptr: the store refused it, and the run ends
  AccessSet<M> set_;
  EntryLookup lookup_;
  StoredRows<M> known_;
  const KeyRequests* locked_ = nullptr;  ///< the rows it may access; nullptr: all
  bool doomed_ = false;
  bool grouped_ = false;  ///< the store's transaction is that of the group
  AbortReason reason_ = AbortReason::none;
  AccessId reason_state_ = kNoState;
  typename M::Ticks waited_ = 0;
  std::uint64_t last_version_ = 0;
};

}  // namespace heddle
