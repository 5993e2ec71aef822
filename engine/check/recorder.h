#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "check/digest.h"
#include "check/history.h"
#include "check/notes.h"
#include "check/own_writes.h"
#include "protocol/access_set.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "protocol/snapshot.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/table.h"
#include "storage/tid.h"

namespace heddle::check {

template <class M, class Txn>
class RecordingTransaction;

/// Writes down one worker's history, as an observer of its transactions (protocol/observer.h).
///
/// What a procedure was given is noted where it is given it, whatever became of it in the sets of
/// the protocol: what validation has lost sight of, the history still tells. Only the names of the
/// versions are asked of the protocol, when the attempt is over.
template <class M>
class Recorder {
 public:
  static constexpr bool kRecords = true;

  /// @param order counts events, on a machine of one thread: their order is then exact
  Recorder(WorkerLog& log, std::uint64_t& order) : log_(log), order_(order) {}

  void begin(int type, bool of_the_past) {
    attempt_ = {.began = moment(kBefore),
                .first = log_.operations.size(),
                .type = static_cast<std::uint16_t>(type),
                .of_the_past = of_the_past};
    started_ = false;
    forget_notes();
  }

  template <class W, class Txn>
  Outcome execute(W& workload, Txn& txn, const typename W::Input& input) {
    start_over(txn);
    RecordingTransaction<M, Txn> recording(txn, *this);
    return workload.execute(recording, input);
  }

  template <class W, class Txn>
  Outcome query(W& workload, Txn& txn, const typename W::Input& input) {
    start_over(txn);
    RecordingTransaction<M, Txn> recording(txn, *this);
    const Outcome outcome = workload.query(recording, input);
    end_query(txn, outcome);
    return outcome;
  }

  /// The attempt is over; `txn` still holds what it did.
  template <class Txn, class A>
  void ended(const Txn& txn, const A& attempt) {
    attempt_.ended = moment(kAfter);
    attempt_.reason = static_cast<std::uint8_t>(attempt.reason);
    attempt_.end = attempt.outcome == Outcome::commit     ? End::committed
                   : attempt.outcome == Outcome::rollback ? End::rolled_back
                                                          : End::aborted;
    if (txn.incarnation() != incarnation_) attempt_.incarnation = incarnation_;
    attempt_.operations = attempt_.end == End::aborted ? 0 : settle_operations(txn);
    log_.operations.truncate(attempt_.first + attempt_.operations);
    log_.attempts.push_back(attempt_);
  }

 private:
  template <class, class>
  friend class RecordingTransaction;

  static constexpr std::uint32_t kNoEntry = OwnWrites::kNoEntry;

  /// An operation on an entry of the access set, which is asked once more when the attempt is over.
  struct Note {
    Operation* operation;
    std::uint32_t entry;
  };
  /// The one operation for all that the procedure does to an entry by writes and deletes. Its
  /// digest is of what was written last; no bytes: that is not known.
  struct Own {
    Operation* operation = nullptr;
    std::uint64_t pass = 0;  ///< the one that it belongs to
    bool deleted = false;    ///< the last of it was a delete
  };
  /// An operation that the checker is not to see, until they are moved together.
  static constexpr auto kDropped = static_cast<Kind>(15);

  // ---- the clock -------------------------------------------------------------------------------

  enum Side : std::uint8_t { kBefore, kAt, kAfter };

  /// A processor may read its clock some hundred cycles early or late, and clocks of cores differ a
  /// little: a transaction is said to take that much longer.
  std::uint64_t moment(Side side) {
    if constexpr (M::kSingleThreaded) {
      return ++order_;
    } else {
      const auto now = static_cast<std::uint64_t>(M::now());
      return side == kAfter ? now + margin_ : now - margin_;
    }
  }

  /// When a transaction saw that something is not there: now, or as far back as its protocol says
  /// what it gives it was so.
  template <class Txn>
  std::uint64_t moment_seen(const Txn& /*txn*/) {
    if constexpr (requires { requires Txn::kReadsAsOfBegin; }) {
      return attempt_.began;
    } else {
      return moment(kAt);
    }
  }

  // ---- while the procedure runs ----------------------------------------------------------------

  /// The procedure begins, perhaps not for the first time: it will be told everything again.
  template <class Txn>
  void start_over(const Txn& txn) {
    log_.operations.truncate(attempt_.first);
    forget_notes();
    ++pass_;
    if constexpr (requires { txn.incarnation(); }) {
      if (!started_) incarnation_ = txn.incarnation();
    }
    started_ = true;
  }

  void forget_notes() {
    reads_.clear();
    writes_.clear();
    refused_.clear();
    removes_ = misses_ = drops_ = false;
  }

  /// Writes an operation into the log, where it stays unless the attempt is aborted.
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

  template <class Txn>
  void note_miss(const Txn& txn, std::uint8_t table, std::uint64_t key) {
    Operation& miss = add(Kind::miss, table, key);
    miss.version = moment_seen(txn);
    misses_ = true;
    if constexpr (requires { txn.reads_dirty(); }) {
      if (!txn.reads_dirty()) return;
      const std::uint32_t entry = find(txn, table, key);
      if (entry != kNoEntry && txn.accesses()[entry].dirty) name_dirty(txn, entry, miss);
    }
  }

  /// A row handed to the procedure: `kBytes` of it.
  /// @return where it was
  template <std::size_t kBytes, class Txn>
  const Record<M>* note_row(const Txn& txn, std::uint8_t table, std::uint64_t key,
                            std::uint32_t entry, const void* value, bool of_range) {
    Operation read;
    read.key = key;
    read.digest = digest_of_prefix<told<kBytes>()>(value);
    read.bytes = told<kBytes>();
    read.table = table;
    read.kind = Kind::read;
    read.flags = of_range ? flag::kOfRange : 0;
    if constexpr (requires { txn.accesses(); }) {
      const Access<M>& access = txn.accesses()[entry];
      const Record<M>* const record = access.record;
      read.version = access.seen & ~tid::kLock;
      read.place = place_of(record);
      Operation& added = add(read);
      if (access.dirty || access.written()) [[unlikely]] {
        note_uncommitted(txn, entry, added);
      } else if constexpr (requires { requires Txn::kReplays; }) {
        reads_.add({&added, entry});
      }
      return record;
    } else {
      const auto& seen = txn.seen(entry);
      read.version = seen.word & ~tid::kLock;
      read.place = place_of(seen.record);
      add(read);
      return seen.record;
    }
  }

  /// The row just noted is one that somebody has not committed yet, perhaps the reader itself.
  template <class Txn>
  [[gnu::noinline]] void note_uncommitted(const Txn& txn, std::uint32_t entry, Operation& read) {
    const bool named = txn.accesses()[entry].dirty && name_dirty(txn, entry, read);
    if (has_written(entry)) {
      read.flags |= flag::kOwn;
      check_own(read, entry);
    } else if (!named) {
      reads_.add({&read, entry});
    }
  }

  /// A version that has no number yet goes by its writer.
  template <class Txn>
  static bool name_dirty(const Txn& txn, std::uint32_t entry, Operation& operation) {
    const auto source = txn.dirty_source(entry);
    if (source.worker < 0) return false;
    operation.flags |= flag::kUncommitted;
    operation.place = place_of(txn.accesses()[entry].record);
    operation.version =
        Dirty{static_cast<std::uint32_t>(source.worker), source.incarnation, source.writes}
            .packed();
    return true;
  }

  /// Whether the procedure has written the row of an entry, since it began: the access set may know
  /// that it will, if the beginning is replayed.
  [[nodiscard]] bool has_written(std::uint32_t entry) const {
    return entry < owns_ && own_[entry].pass == pass_;
  }

  void check_own(const Operation& read, std::uint32_t entry) {
    const Operation& write = *own_[entry].operation;
    const bool same = write.bytes != read.bytes || write.digest == read.digest;
    if (own_[entry].deleted || !same) note_broken(Fault::own_write, read.table, read.key);
  }

  /// A scan from `first` to `last`, the operation number `range`, is over: were the rows among them
  /// that the transaction itself wrote?
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

  /// What has just been placed is the last entry, unless it was placed before.
  template <class Txn, class T>
  void note_insert(const Txn& txn, const T& table, const typename T::KeyType& key,
                   const typename T::ValueType& value) {
    std::uint32_t entry = txn.accesses().size() - 1;
    if (entry == kNoEntry || !is_row_of(txn.accesses()[entry], table, key)) [[unlikely]] {
      entry = find(txn, table.number(), word_of(key));
      if (entry == kNoEntry) {
        writes_.add(add(Kind::write, table.number(), word_of(key)), kNoEntry);
        return;
      }
    }
    Operation& write = own_write(entry, table.number(), word_of(key));
    own_[entry].deleted = false;
    write.bytes = told<sizeof(value)>();
    write.digest = digest_of_prefix<told<sizeof(value)>()>(&value);
  }

  template <class T>
  static bool is_row_of(const Access<M>& access, const T& table, const typename T::KeyType& key) {
    return access.table == &table && T::key_of(access.record) == key;
  }

  /// The operation for what is done to an entry.
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

  // ---- when the attempt is over ----------------------------------------------------------------

  template <class Txn>
  void end_query(const Txn& /*txn*/, Outcome outcome) {
    attempt_.ended = moment(kAfter);
    attempt_.end = outcome == Outcome::commit ? End::committed : End::rolled_back;
    attempt_.operations = noted();
    log_.attempts.push_back(attempt_);
  }

  [[nodiscard]] std::uint32_t noted() const {
    return static_cast<std::uint32_t>(log_.operations.size() - attempt_.first);
  }

  /// Tells the operations of an attempt what has become of them, and moves together those that are
  /// kept.
  /// @return how many are
  template <class Txn>
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

  /// What it missed because it had deleted it itself says nothing about others.
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

  /// The entry of a row, by its key alone: the last one, for a record that has left its index while
  /// it held no row may have an entry too.
  template <class Txn>
  static std::uint32_t find(const Txn& txn, std::uint8_t table, std::uint64_t key) {
    const auto& accesses = txn.accesses();
    for (std::uint32_t entry = accesses.size(); entry-- > 0;) {
      const Access<M>& access = accesses[entry];
      if (access.table->number() == table && access.table->key_word(access.record) == key) {
        return entry;
      }
    }
    return kNoEntry;
  }

  /// Validation may have found a later version that reads the same. But an entry that no longer is
  /// the row's has been lost, and what was seen then is what was read.
  template <class Txn>
  static void name_read(const Txn& txn, std::uint32_t entry, Operation& read) {
    const auto& accesses = txn.accesses();
    const bool kept = entry < accesses.size() && place_of(accesses[entry].record) == read.place;
    name_version(read, kept ? accesses[entry].seen : read.version);
  }

  template <class Txn>
  void name_existing(const Txn& txn, Operation& operation) {
    const std::uint32_t entry = find(txn, operation.table, operation.key);
    if (entry == kNoEntry || txn.accesses()[entry].written()) return drop(operation);
    operation.place = place_of(txn.accesses()[entry].record);
    name_version(operation, txn.accesses()[entry].seen);
    if (txn.accesses()[entry].dirty) (void)name_dirty(txn, entry, operation);
  }

  static void name_version(Operation& operation, std::uint64_t word) {
    operation.version = word & ~tid::kLock;
  }
  static std::uint64_t place_of(const void* record) {
    return reinterpret_cast<std::uintptr_t>(record);
  }

  template <class Txn>
  void name_write(const Txn& txn, std::uint32_t entry, std::uint64_t version,
                  Operation& operation) {
    const auto& accesses = txn.accesses();
    if (entry >= accesses.size() || !accesses[entry].written()) [[unlikely]]
      return lose(operation);
    const Access<M>& access = accesses[entry];
    operation.place = place_of(access.record);
    operation.version = tid::committed(version, access.writes, access.removed);
    // What the procedure wrote, if that is known: whoever reads something else is found out.
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

  /// The commit knew nothing of a write.
  static void lose(Operation& operation) {
    operation.kind = Kind::broken;
    operation.version = static_cast<std::uint64_t>(Fault::lost_write);
  }

  /// Nothing came of a write. But if the row was not there, it must not have been.
  template <class Txn>
  void take_back(const Txn& txn, std::uint32_t entry, Operation& operation) {
    const auto& accesses = txn.accesses();
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
  /// How much of so many bytes a digest covers.
  template <std::size_t kBytes>
  static constexpr std::uint16_t told() {
    return static_cast<std::uint16_t>(std::min(kBytes, kMostBytes));
  }

  WorkerLog& log_;
  std::uint64_t& order_;
  const std::uint64_t margin_ = static_cast<std::uint64_t>(M::ticks(1));
  Attempt attempt_;
  bool started_ = false;
  bool removes_ = false;  ///< the procedure has deleted something,
  bool misses_ = false;   ///< was told that a row is not there,
  bool drops_ = false;    ///< and operations of it are of no use
  std::uint64_t incarnation_ = 0;
  std::uint64_t pass_ = 0;  ///< counts the procedure's beginnings
  Notes<Note> reads_;
  OwnWrites writes_;
  Notes<Operation*> refused_;   ///< inserts: the row is there, in whatever version
  std::unique_ptr<Own[]> own_;  ///< by entry:
  std::uint32_t owns_ = 0;      ///< so many
};

/// A transaction as its procedure sees it, every access written down.
template <class M, class Txn>
class RecordingTransaction {
 public:
  RecordingTransaction(Txn& txn, Recorder<M>& recorder) : txn_(txn), recorder_(recorder) {}

  template <class Prefix, class T>
  Row<Prefix> read(AccessId state, T& table, const typename T::KeyType& key) {
    const Row<Prefix> row = txn_.template read<Prefix>(state, table, key);
    if (row) {
      note_row(table, key, row, false);
    } else if (alive()) {
      recorder_.note_miss(txn_, table.number(), word_of(key));
    }
    return row;
  }

  template <class T>
  auto read(AccessId state, T& table, const typename T::KeyType& key) {
    return read<typename T::ValueType>(state, table, key);
  }

  template <class T, class Prefix, class F>
  bool update(AccessId state, T& table, const Row<Prefix>& row, F modify) {
    const std::uint32_t entry = row.entry();
    std::uint32_t digest = 0;
    std::uint16_t bytes = 0;  // if it is replayed, what it wrote then is not known here
    const bool done = txn_.update(state, table, row, [&](Prefix& value) {
      modify(value);
      bytes = Recorder<M>::template told<sizeof(Prefix)>();
      digest = digest_of_prefix<Recorder<M>::template told<sizeof(Prefix)>()>(&value);
    });
    if (!done) return false;
    Operation& write = own_write(table, entry);
    write.bytes = bytes;
    write.digest = digest;
    return true;
  }

  template <class T>
  bool insert(AccessId state, T& table, const typename T::KeyType& key,
              const typename T::ValueType& value) {
    if (txn_.insert(state, table, key, value)) {
      recorder_.note_insert(txn_, table, key, value);
      return true;
    }
    if (alive()) {
      recorder_.refused_.add(&recorder_.add(Kind::read, table.number(), word_of(key)));
    }
    return false;
  }

  template <class T, class Prefix>
  bool remove(AccessId state, T& table, const Row<Prefix>& row) {
    if (!txn_.remove(state, table, row)) return false;
    recorder_.note_remove(row.entry(), own_write(table, row.entry()));
    return true;
  }

  template <class Prefix, class T, class F>
  bool scan(AccessId state, T& table, const typename T::KeyType& lo, const typename T::KeyType& hi,
            Order order, std::uint32_t limit, F visit) {
    static_assert(T::KeyType::kWords == 1, "the order of longer keys is not recorded");
    const std::size_t at = recorder_.log_.operations.size();
    Operation& range = recorder_.add(Kind::range, table.number(), lo.words[0]);
    range.version = recorder_.moment_seen(txn_);
    std::uint64_t first = lo.words[0];
    std::uint64_t last = hi.words[0];
    std::uint32_t rows = 0;
    const bool done =
        txn_.template scan<Prefix>(state, table, lo, hi, order, limit,
                                   [&](const typename T::KeyType& key, const Row<Prefix>& row) {
                                     const std::uint64_t word = key.words[0];
                                     check_place(table, word, lo.words[0], hi.words[0], order,
                                                 rows == 0 ? nullptr : &last_key_);
                                     last_key_ = word;
                                     note_row(table, key, row, true);
                                     ++rows;
                                     const bool more = visit(key, row);
                                     if (!more || rows == limit)
                                       (order == Order::ascending ? last : first) = word;
                                     return more;
                                   });
    range.key = first;
    range.place = last;
    range.digest = rows;
    if (done) recorder_.check_own_rows(at, first, last);
    return done;
  }

  template <class T, class F>
  bool scan(AccessId state, T& table, const typename T::KeyType& lo, const typename T::KeyType& hi,
            Order order, std::uint32_t limit, F visit) {
    return scan<typename T::ValueType>(state, table, lo, hi, order, limit, visit);
  }

  [[nodiscard]] Outcome stop() const { return txn_.stop(); }
  void passed(AccessId state) { txn_.passed(state); }

 private:
  /// After an access that gave nothing: was it the row that is not there?
  [[nodiscard]] bool alive() const { return txn_.stop() != Outcome::abort; }

  template <class T, class Prefix>
  void note_row(const T& table, const typename T::KeyType& key, const Row<Prefix>& row,
                bool of_range) {
    const Record<M>* record = recorder_.template note_row<sizeof(Prefix)>(
        txn_, table.number(), word_of(key), row.entry(), &*row, of_range);
    if (T::key_of(record) != key) [[unlikely]]
      recorder_.note_broken(Fault::foreign_row, table.number(), word_of(key));
  }

  template <class T>
  Operation& own_write(const T& table, std::uint32_t entry) {
    const Record<M>* const record = txn_.record_of(entry);
    return recorder_.own_write(entry, table.number(), word_of(T::key_of(record)));
  }

  template <class T>
  void check_place(const T& table, std::uint64_t key, std::uint64_t lo, std::uint64_t hi,
                   Order order, const std::uint64_t* before) {
    if (key < lo || key > hi) recorder_.note_broken(Fault::out_of_range, table.number(), key);
    if (before == nullptr) return;
    if (order == Order::ascending ? *before < key : *before > key) return;
    recorder_.note_broken(Fault::out_of_order, table.number(), key);
  }

  Txn& txn_;
  Recorder<M>& recorder_;
  std::uint64_t last_key_ = 0;
};

}  // namespace heddle::check
