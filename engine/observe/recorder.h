#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "observe/digest.h"
#include "observe/history.h"
#include "observe/notes.h"
#include "observe/own_writes.h"
#include "protocol/access_set.h"
#include "protocol/any_transaction.h"
#include "protocol/observer.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/table.h"
#include "storage/tid.h"

namespace heddle::check {

/// Records one worker's history, as an observer of its transactions (protocol/observer.h).
///
/// What a procedure is given is noted at that point, independent of the sets of the protocol: the
/// history still has what validation has lost. Only the identities of the versions are taken from
/// the protocol, when the attempt has ended.
template <class M>
class Recorder : public Observer<M>, private TransactionOperations<M> {
 public:
  /// @param order counts events, on a machine of one thread: their order is then exact
  Recorder(WorkerLog& log, std::uint64_t& order) : log_(log), order_(order) {}

  void begin(int type, bool on_snapshot) override {
    attempt_ = {.began = group_ ? group_->began : moment(kBefore),
                .first = log_.operations.size(),
                .type = static_cast<std::uint16_t>(type),
                .on_snapshot = on_snapshot};
    started_ = false;
    forget_notes();
  }

  TransactionOperations<M>& watch(AnyTransaction<M>& txn, const std::byte* /*input*/) override {
    log_.operations.truncate(attempt_.first);
    forget_notes();
    ++pass_;
    if (!started_) incarnation_ = txn.incarnation();
    started_ = true;
    txn_ = &txn;
    return *this;
  }

  void ended(const AnyTransaction<M>& txn, const heddle::Attempt<M>& attempt) override {
    attempt_.ended = moment(kAfter);
    attempt_.reason = static_cast<std::uint8_t>(attempt.reason);
    attempt_.end = attempt.outcome == Outcome::commit     ? End::committed
                   : attempt.outcome == Outcome::rollback ? End::rolled_back
                                                          : End::aborted;
    if (attempt_.on_snapshot) {
      attempt_.operations = noted();
    } else {
      if (txn.incarnation() != incarnation_) attempt_.incarnation = incarnation_;
      attempt_.operations = attempt_.end == End::aborted ? 0 : settle_operations(txn);
      log_.operations.truncate(attempt_.first + attempt_.operations);
    }
    log_.attempts.push_back(attempt_);
  }

  /// All attempts of a group have the time of the group: what one reads as of its begin was there
  /// when the first one began, and its writes are visible when the last one has ended.
  void begin_group() override {
    group_ = Group{.began = moment(kBefore), .first = log_.attempts.size()};
  }
  void end_group(bool committed) override {
    const std::uint64_t ended = moment(kAfter);
    for (std::size_t at = group_->first; at < log_.attempts.size(); ++at) {
      Attempt& attempt = log_.attempts[at];
      attempt.ended = ended;
      if (committed) continue;
      attempt.end = End::aborted;
      attempt.operations = 0;
    }
    if (!committed && group_->first < log_.attempts.size()) {
      log_.operations.truncate(log_.attempts[group_->first].first);
    }
    group_.reset();
  }

 private:
  struct Group {
    std::uint64_t began;
    std::size_t first;  ///< of its attempts in the log
  };

  using Txn = AnyTransaction<M>;
  using Modify = typename TransactionOperations<M>::Modify;
  using Visit = typename TransactionOperations<M>::Visit;

  static constexpr std::uint32_t kNoEntry = OwnWrites::kNoEntry;

  /// An operation on an entry of the access set, which is read once more when the attempt has
  /// ended.
  struct Note {
    Operation* operation;
    std::uint32_t entry;
  };
  /// The one operation for all writes and deletes of an entry by the procedure. Its digest is of
  /// the last write; it has no byte count, which is not known.
  struct Own {
    Operation* operation = nullptr;
    std::uint64_t pass = 0;  ///< the run of the procedure that it belongs to
    bool deleted = false;    ///< the last of them was a delete
  };
  /// An operation that the checker is not to see, until the log is compacted.
  static constexpr auto kDropped = static_cast<Kind>(15);

  // ---- the clock -------------------------------------------------------------------------------

  enum Side : std::uint8_t { kBefore, kAt, kAfter };

  /// A processor may read its clock some hundred cycles early or late, and the clocks of cores
  /// differ a little: the recorded duration of a transaction is extended by that.
  std::uint64_t moment(Side side) {
    if constexpr (M::kSingleThreaded) {
      return ++order_;
    } else {
      const auto now = static_cast<std::uint64_t>(M::now());
      return side == kAfter ? now + margin_ : now - margin_;
    }
  }

  /// The time at which the transaction saw that something does not exist: now, or its begin if its
  /// protocol reads as of then.
  std::uint64_t moment_seen() { return txn_->reads_as_of_begin() ? attempt_.began : moment(kAt); }

  // ---- the operations, with every access recorded -----------------------------------------------

  Row<std::byte> read(AccessId state, TableBase<M>& table, const std::uint64_t* key,
                      std::uint32_t bytes, Record<M>* found) override {
    const Row<std::byte> row = txn_->read(state, table, key, bytes, found);
    if (row) {
      note_row(table, key, row, bytes, false);
    } else if (alive()) {
      note_miss(table.number(), word_of(table, key));
    }
    return row;
  }

  bool update(AccessId state, TableBase<M>& table, std::uint32_t entry, std::uint32_t bytes,
              Modify modify) override {
    std::uint32_t digest = 0;
    std::uint16_t written = 0;  // in a replay the number of its writes is not known
    const bool done = txn_->update(state, table, entry, bytes, [&](std::byte* copy) {
      modify(copy);
      written = told(bytes);
      digest = digest_of(copy, written);
    });
    if (!done) return false;
    Operation& write = own_write_of(table, entry);
    write.bytes = written;
    write.digest = digest;
    return true;
  }

  bool insert(AccessId state, TableBase<M>& table, const std::uint64_t* key, const std::byte* row,
              std::uint32_t bytes) override {
    if (txn_->insert(state, table, key, row, bytes)) {
      note_insert(table, key, row, bytes);
      return true;
    }
    if (alive()) refused_.add(&add(Kind::read, table.number(), word_of(table, key)));
    return false;
  }

  bool remove(AccessId state, TableBase<M>& table, std::uint32_t entry) override {
    if (!txn_->remove(state, table, entry)) return false;
    note_remove(entry, own_write_of(table, entry));
    return true;
  }

  bool scan(AccessId state, TableBase<M>& table, const std::uint64_t* lo, const std::uint64_t* hi,
            Order order, std::uint32_t limit, std::uint32_t bytes, Visit visit) override {
    assert(table.kind().key_words == 1 && "the order of longer keys is not recorded");
    const std::size_t at = log_.operations.size();
    Operation& range = add(Kind::range, table.number(), *lo);
    range.version = moment_seen();
    std::uint64_t first = *lo;
    std::uint64_t last = *hi;
    std::uint32_t rows = 0;
    const auto note_and_visit = [&](const std::uint64_t* key, const Row<std::byte>& row) {
      check_place(table, *key, *lo, *hi, order, rows == 0 ? nullptr : &last_key_);
      last_key_ = *key;
      note_row(table, key, row, bytes, true);
      ++rows;
      const bool more = visit(key, row);
      if (!more || rows == limit) (order == Order::ascending ? last : first) = *key;
      return more;
    };
    const bool done = txn_->scan(state, table, lo, hi, order, limit, bytes, note_and_visit);
    range.key = first;
    range.place = last;
    range.digest = rows;
    if (done) check_own_rows(at, first, last);
    return done;
  }

  [[nodiscard]] Outcome stop() const override { return txn_->stop(); }
  void passed(AccessId state) override { txn_->passed(state); }

  /// After an access that returned nothing: whether the row does not exist, and there was no
  /// conflict.
  [[nodiscard]] bool alive() const { return txn_->stop() != Outcome::abort; }

  Operation& own_write_of(const TableBase<M>& table, std::uint32_t entry) {
    return own_write(entry, table.number(), table.key_word(txn_->record_of(entry)));
  }

  void check_place(const TableBase<M>& table, std::uint64_t key, std::uint64_t lo, std::uint64_t hi,
                   Order order, const std::uint64_t* before) {
    if (key < lo || key > hi) note_broken(Fault::out_of_range, table.number(), key);
    if (before == nullptr) return;
    if (order == Order::ascending ? *before < key : *before > key) return;
    note_broken(Fault::out_of_order, table.number(), key);
  }

  static std::uint64_t word_of(const TableBase<M>& table, const std::uint64_t* key) {
    return heddle::word_of(std::span(key, static_cast<std::size_t>(table.kind().key_words)));
  }
  static bool same_key(const TableBase<M>& table, const std::uint64_t* one,
                       const std::uint64_t* other) {
    return std::equal(one, one + table.kind().key_words, other);
  }

  // ---- notes while the procedure runs -----------------------------------------------------------

  void forget_notes() {
    reads_.clear();
    writes_.clear();
    refused_.clear();
    removes_ = misses_ = drops_ = false;
  }

  /// Appends an operation to the log, where it stays unless the attempt is aborted.
  [[gnu::always_inline]] Operation& add(const Operation& operation) {
    Operation& added = log_.operations.extend();
    added = operation;
    return added;
  }
  [[gnu::always_inline]] Operation& add(Kind kind, std::uint8_t table, std::uint64_t key) {
    Operation operation;
    operation.key = key;
    operation.table = table;
    operation.kind = kind;
    return add(operation);
  }

  void note_broken(Fault fault, std::uint8_t table, std::uint64_t key) {
    add(Kind::broken, table, key).version = static_cast<std::uint64_t>(fault);
  }

  void note_miss(std::uint8_t table, std::uint64_t key) {
    Operation& miss = add(Kind::miss, table, key);
    miss.version = moment_seen();
    misses_ = true;
    if (!txn_->reads_dirty()) return;
    const std::uint32_t entry = find(*txn_, table, key);
    if (entry != kNoEntry && (*txn_->accesses())[entry].dirty) name_dirty(*txn_, entry, miss);
  }

  /// Notes a row given to the procedure.
  void note_row(const TableBase<M>& table, const std::uint64_t* key, const Row<std::byte>& row,
                std::uint32_t bytes, bool of_range) {
    Operation read;
    read.key = word_of(table, key);
    read.bytes = told(bytes);
    read.digest = digest_of(row.get(), read.bytes);
    read.table = table.number();
    read.kind = Kind::read;
    read.flags = of_range ? flag::kOfRange : 0;
    const Record<M>* const record = txn_->record_of(row.entry());
    read.place = txn_->place_of(row.entry());
    if (const AccessSet<M>* const accesses = txn_->accesses(); accesses != nullptr) {
      const Access<M>& access = (*accesses)[row.entry()];
      read.version = access.seen & ~tid::kLock;
      Operation& added = add(read);
      if (access.dirty || access.written()) [[unlikely]] {
        note_uncommitted(*txn_, row.entry(), added);
      } else if (txn_->replays()) {
        reads_.add({&added, row.entry()});
      }
    } else {
      read.version = txn_->seen(row.entry()).word & ~tid::kLock;
      add(read);
    }
    if (!same_key(table, key_words_of(table, record), key)) [[unlikely]]
      note_broken(Fault::foreign_row, table.number(), read.key);
  }

  /// The row just noted is uncommitted, possibly the reader's own.
  [[gnu::noinline]] void note_uncommitted(const Txn& txn, std::uint32_t entry, Operation& read) {
    const bool named = (*txn.accesses())[entry].dirty && name_dirty(txn, entry, read);
    if (has_written(entry)) {
      read.flags |= flag::kOwn;
      check_own(read, entry);
    } else if (!named) {
      reads_.add({&read, entry});
    }
  }

  /// Identifies a version that has no number yet by its writer.
  static bool name_dirty(const Txn& txn, std::uint32_t entry, Operation& operation) {
    const auto source = txn.dirty_source(entry);
    if (source.worker < 0) return false;
    operation.flags |= flag::kUncommitted;
    operation.place = txn.place_of(entry);
    operation.version =
        Dirty{static_cast<std::uint32_t>(source.worker), source.incarnation, source.writes}
            .packed();
    return true;
  }

  /// Whether the procedure has written the row of an entry since its run began; in a replay the
  /// access set may already contain later writes.
  [[nodiscard]] bool has_written(std::uint32_t entry) const {
    return entry < owns_ && own_[entry].pass == pass_;
  }

  void check_own(const Operation& read, std::uint32_t entry) {
    const Operation& write = *own_[entry].operation;
    const bool same = write.bytes != read.bytes || write.digest == read.digest;
    if (own_[entry].deleted || !same) note_broken(Fault::own_write, read.table, read.key);
  }

  /// At the end of a scan from `first` to `last`, the operation number `range`: checks that it
  /// returned the transaction's own rows.
  void check_own_rows(std::size_t range, std::uint64_t first, std::uint64_t last) {
    const std::uint8_t table = log_.operations[range].table;
    if (!writes_.may_be_between(table, first, last)) return;
    writes_.look_through([&](const Operation& own, std::uint32_t entry) {
      if (own.table != table || own.key < first || own.key > last) return true;
      if (entry == kNoEntry || own_[entry].deleted || shows(range, own.key)) return true;
      note_broken(Fault::own_write, table, own.key);
      return true;
    });
  }

  /// Whether a row is among those noted since a range was.
  [[nodiscard]] bool shows(std::size_t range, std::uint64_t key) const {
    for (std::size_t at = range + 1; at < log_.operations.size(); ++at) {
      const Operation& row = log_.operations[at];
      if (row.kind == Kind::read && row.is(flag::kOfRange) && row.key == key) return true;
    }
    return false;
  }

  /// A record just placed has the last entry, unless it was placed before.
  void note_insert(const TableBase<M>& table, const std::uint64_t* key, const std::byte* row,
                   std::uint32_t bytes) {
    const std::uint64_t word = word_of(table, key);
    std::uint32_t entry = txn_->accesses()->size() - 1;
    if (entry == kNoEntry || !is_row_of((*txn_->accesses())[entry], table, key)) [[unlikely]] {
      entry = find(*txn_, table.number(), word);
      if (entry == kNoEntry) {
        writes_.add(add(Kind::write, table.number(), word), kNoEntry);
        return;
      }
    }
    Operation& write = own_write(entry, table.number(), word);
    own_[entry].deleted = false;
    write.bytes = told(bytes);
    write.digest = digest_of(row, write.bytes);
  }

  static bool is_row_of(const Access<M>& access, const TableBase<M>& table,
                        const std::uint64_t* key) {
    return access.table == &table && same_key(table, key_words_of(table, access.record), key);
  }

  /// The operation for the writes to an entry.
  Operation& own_write(std::uint32_t entry, std::uint8_t table, std::uint64_t key) {
    if (entry >= owns_) [[unlikely]]
      make_room_for(entry);
    Own& own = own_[entry];
    if (own.pass == pass_) return *own.operation;
    Operation& write = add(Kind::write, table, key);
    own = {.operation = &write, .pass = pass_};
    writes_.add(write, entry);
    return write;
  }
  [[gnu::cold, gnu::noinline]] void make_room_for(std::uint32_t entry) {
    const std::uint32_t room = entry * 2 + 64;
    auto larger = std::make_unique<Own[]>(room);
    std::copy(own_.get(), own_.get() + owns_, larger.get());
    own_ = std::move(larger);
    owns_ = room;
  }

  void note_remove(std::uint32_t entry, Operation& write) {
    own_[entry].deleted = true;
    write.kind = Kind::remove;
    write.bytes = 0;
    removes_ = true;
  }

  // ---- after the end of the attempt ------------------------------------------------------------

  [[nodiscard]] std::uint32_t noted() const {
    return static_cast<std::uint32_t>(log_.operations.size() - attempt_.first);
  }

  /// Sets the versions of the operations of an attempt, and compacts those that are kept.
  /// @return their number
  std::uint32_t settle_operations(const Txn& txn) {
    for (const Note& note : reads_) name_read(txn, note.entry, *note.operation);
    for (Operation* operation : refused_) name_existing(txn, *operation);
    if (removes_ && misses_) [[unlikely]]
      forget_own_misses();
    if (attempt_.end == End::committed) {
      const std::uint64_t version = txn.last_version();
      writes_.settle(
          [&](Operation& write, std::uint32_t entry) { name_write(txn, entry, version, write); });
    } else {
      writes_.settle([&](Operation& write, std::uint32_t entry) { take_back(txn, entry, write); });
    }
    if (drops_) [[unlikely]]
      move_together();
    return noted();
  }

  void drop(Operation& operation) {
    operation.kind = kDropped;
    drops_ = true;
  }

  void move_together() {
    std::size_t kept = attempt_.first;
    for (std::size_t at = attempt_.first; at < log_.operations.size(); ++at) {
      if (log_.operations[at].kind == kDropped) continue;
      log_.operations[kept++] = log_.operations[at];
    }
    log_.operations.truncate(kept);
  }

  /// A miss of a row that it had deleted itself has no information about others.
  void forget_own_misses() {
    for (std::size_t at = attempt_.first; at < log_.operations.size(); ++at) {
      Operation& miss = log_.operations[at];
      if (miss.kind != Kind::miss) continue;
      writes_.look_through([&](const Operation& own, std::uint32_t /*entry*/) {
        const bool removes_it =
            own.kind == Kind::remove && own.table == miss.table && own.key == miss.key;
        if (removes_it) drop(miss);
        return !removes_it;
      });
    }
  }

  /// The entry of a row, by its key alone: the last one, because a record that left its index while
  /// it held no row may have an entry too.
  static std::uint32_t find(const Txn& txn, std::uint8_t table, std::uint64_t key) {
    const AccessSet<M>& accesses = *txn.accesses();
    for (std::uint32_t entry = accesses.size(); entry-- > 0;) {
      const Access<M>& access = accesses[entry];
      if (access.table->number() == table && access.table->key_word(access.record) == key) {
        return entry;
      }
    }
    return kNoEntry;
  }

  /// Validation may have found a later version that reads the same. But if the entry is no longer
  /// the row's, it has been lost, and the version seen at that time is the one read.
  static void name_read(const Txn& txn, std::uint32_t entry, Operation& read) {
    const AccessSet<M>& accesses = *txn.accesses();
    const bool kept = entry < accesses.size() && txn.place_of(entry) == read.place;
    name_version(read, kept ? accesses[entry].seen : read.version);
  }

  void name_existing(const Txn& txn, Operation& operation) {
    const std::uint32_t entry = find(txn, operation.table, operation.key);
    if (entry == kNoEntry || (*txn.accesses())[entry].written()) return drop(operation);
    operation.place = txn.place_of(entry);
    name_version(operation, (*txn.accesses())[entry].seen);
    if ((*txn.accesses())[entry].dirty) (void)name_dirty(txn, entry, operation);
  }

  static void name_version(Operation& operation, std::uint64_t word) {
    operation.version = word & ~tid::kLock;
  }

  void name_write(const Txn& txn, std::uint32_t entry, std::uint64_t version,
                  Operation& operation) {
    const AccessSet<M>& accesses = *txn.accesses();
    if (entry >= accesses.size() || !accesses[entry].written()) [[unlikely]]
      return lose(operation);
    const Access<M>& access = accesses[entry];
    operation.place = txn.place_of(entry);
    operation.version = tid::committed(version, access.writes, access.removed);
    // The content that the procedure wrote, if known: a reader of anything else is detected.
    if (operation.bytes != access.write_bytes) [[unlikely]]
      ask_content(access, operation);
    if (tid::absent(access.seen)) {
      if (access.removed) [[unlikely]]
        return take_back(txn, entry, operation);
      operation.kind = Kind::write;
      operation.flags = flag::kInserted;
    } else if (access.removed || operation.kind != Kind::write) [[unlikely]] {
      operation.kind = access.removed ? Kind::remove : Kind::write;
    }
  }

  [[gnu::noinline]] static void ask_content(const Access<M>& access, Operation& operation) {
    const std::size_t bytes =
        access.removed ? 0 : std::min<std::size_t>(access.write_bytes, kMostBytes);
    if (operation.bytes == bytes) return;
    operation.bytes = static_cast<std::uint16_t>(bytes);
    operation.digest = bytes == 0 ? 0 : digest_of(access.write, bytes);
  }

  /// A write that is missing from the commit.
  static void lose(Operation& operation) {
    operation.kind = Kind::broken;
    operation.version = static_cast<std::uint64_t>(Fault::lost_write);
  }

  /// A write that was taken back. If the row did not exist for it, it is recorded as a miss, which
  /// the checker verifies.
  void take_back(const Txn& txn, std::uint32_t entry, Operation& operation) {
    const AccessSet<M>& accesses = *txn.accesses();
    if (entry >= accesses.size() || !accesses[entry].written()) return drop(operation);
    operation.bytes = 0;
    operation.digest = 0;
    if (tid::absent(accesses[entry].seen)) {
      operation.kind = Kind::miss;
      operation.version = attempt_.began;
    } else {
      operation.flags |= flag::kOwn;
    }
  }

  static constexpr std::size_t kMostBytes = 0xfff8;
  /// The number of bytes, of `bytes`, that a digest covers.
  static constexpr std::uint16_t told(std::size_t bytes) {
    return static_cast<std::uint16_t>(std::min(bytes, kMostBytes));
  }

  WorkerLog& log_;
  std::uint64_t& order_;
  Txn* txn_ = nullptr;  ///< the attempt's, since its procedure began
  const std::uint64_t margin_ = static_cast<std::uint64_t>(M::ticks(1));
  Attempt attempt_;
  std::optional<Group> group_;  ///< that the attempt is a part of
  bool started_ = false;
  bool removes_ = false;  ///< the procedure has deleted a row
  bool misses_ = false;   ///< found that a row does not exist
  bool drops_ = false;    ///< and has operations to be dropped
  std::uint64_t incarnation_ = 0;
  std::uint64_t pass_ = 0;      ///< counts the procedure's runs
  std::uint64_t last_key_ = 0;  ///< of the running scan
  Notes<Note> reads_;
  OwnWrites writes_;
  Notes<Operation*> refused_;   ///< inserts: the row exists, in some version
  std::unique_ptr<Own[]> own_;  ///< by entry
  std::uint32_t owns_ = 0;      ///< number of elements in use
};

}  // namespace heddle::check
