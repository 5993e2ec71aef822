#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "model/hints.h"
#include "model/inputs.h"
#include "observe/chunked.h"
#include "observe/log_sizes.h"
#include "protocol/any_transaction.h"
#include "protocol/observer.h"
#include "protocol/outcome.h"
#include "storage/key.h"

namespace heddle {

/// One transaction that committed or rolled back.
struct TracedTransaction {
  std::uint64_t began_us = 0;  ///< its first attempt, since the trace began
  std::uint32_t accesses = 0;  ///< number of its worker's next accesses that are its own
  std::uint16_t type = 0;
  std::uint16_t hints = 0;  ///< number of its worker's next hints that are its own
  bool rolled_back = false;
  bool on_snapshot = false;  ///< it read a snapshot: its reads are not recorded
};

/// One access of a transaction, as its procedure requested it.
struct TracedAccess {
  std::uint64_t key = 0;  ///< in one word (see word_of()); of a scan the first of its range
  AccessId state = 0;
};

/// One worker's transactions with their hints, in the order in which it ran them.
struct TraceLog {
  check::Chunked<TracedTransaction> transactions;
  check::Chunked<TracedAccess> accesses;
  check::Chunked<Hint> hints;

  [[nodiscard]] std::size_t bytes() const {
    return transactions.size() * sizeof(TracedTransaction) +
           accesses.size() * sizeof(TracedAccess) + hints.size() * sizeof(Hint);
  }
};

/// The accesses of a run's transactions, recorded while it runs: the trace from which a policy can
/// be trained. For a transaction with several attempts it has the last attempt's accesses.
class RecordedTrace {
 public:
  /// @param most bytes in memory; a run that gets near the limit ends
  /// @param now the machine's clock
  RecordedTrace(int workers, std::size_t most, std::uint64_t now)
      : logs_(static_cast<std::size_t>(workers)),
        sizes_(workers, most),
        began_(now),
        began_us_(std::chrono::duration_cast<std::chrono::microseconds>(
                      std::chrono::system_clock::now().time_since_epoch())
                      .count()) {
    // The run would wait for memory. Most of it is for accesses.
    for (TraceLog& log : logs_) log.accesses.reserve(sizes_.reserved_each() / sizeof(TracedAccess));
  }

  /// An observer of one worker's transactions.
  /// @param inputs of the workload: it must live as long
  template <class M>
  [[nodiscard]] std::unique_ptr<Observer<M>> observer(int worker, const Inputs& inputs) {
    return std::make_unique<WorkerObserver<M>>(*this, worker, inputs);
  }

  [[nodiscard]] bool full() const { return sizes_.full(); }

  // After the workers have ended:

  /// One per worker.
  [[nodiscard]] const std::vector<TraceLog>& logs() const { return logs_; }
  /// The start of the trace, microseconds since 1970 (UTC).
  [[nodiscard]] std::int64_t began_us() const { return began_us_; }

 private:
  template <class M>
  class WorkerObserver;

  std::vector<TraceLog> logs_;
  LogSizes sizes_;
  std::uint64_t began_;
  std::int64_t began_us_;
};

/// Records each access before it is made.
template <class M>
class RecordedTrace::WorkerObserver final : public Observer<M>, private TransactionOperations<M> {
 public:
  WorkerObserver(RecordedTrace& trace, int worker, const Inputs& inputs)
      : log_(trace.logs_[static_cast<std::size_t>(worker)]),
        sizes_(trace.sizes_),
        inputs_(inputs),
        worker_(worker),
        trace_began_(trace.began_) {}

  void begin(int type, bool on_snapshot) override {
    if (again_) return;
    sizes_.tell(worker_, log_.bytes());
    first_ = log_.accesses.size();
    first_hint_ = log_.hints.size();
    transaction_ = {
        .began_us = static_cast<std::uint64_t>(M::microseconds(M::now() - trace_began_)),
        .type = static_cast<std::uint16_t>(type),
        .on_snapshot = on_snapshot};
  }

  TransactionOperations<M>& watch(AnyTransaction<M>& txn, const std::byte* input) override {
    if (transaction_.on_snapshot) return txn;  // its reads cause no conflicts
    // Possibly a repeated run: the procedure makes every access again.
    log_.accesses.truncate(first_);
    if (inputs_.has_hints() && transaction_.hints == 0) add_hints(input);
    txn_ = &txn;
    return *this;
  }

  void ended(const AnyTransaction<M>& /*txn*/, const Attempt<M>& attempt) override {
    again_ = attempt.outcome == Outcome::abort;
    if (again_) {
      log_.accesses.truncate(first_);
      log_.hints.truncate(first_hint_);
      transaction_.hints = 0;
      return;
    }
    transaction_.accesses = static_cast<std::uint32_t>(log_.accesses.size() - first_);
    transaction_.rolled_back = attempt.outcome == Outcome::rollback;
    log_.transactions.push_back(transaction_);
  }

 private:
  Row<std::byte> read(AccessId state, TableBase<M>& table, const std::uint64_t* key,
                      std::uint32_t bytes, Record<M>* found) override {
    note(state, table, key);
    return txn_->read(state, table, key, bytes, found);
  }
  bool update(AccessId state, TableBase<M>& table, std::uint32_t entry, std::uint32_t bytes,
              typename TransactionOperations<M>::Modify modify) override {
    note(state, table, entry);
    return txn_->update(state, table, entry, bytes, modify);
  }
  bool insert(AccessId state, TableBase<M>& table, const std::uint64_t* key, const std::byte* row,
              std::uint32_t bytes) override {
    note(state, table, key);
    return txn_->insert(state, table, key, row, bytes);
  }
  bool remove(AccessId state, TableBase<M>& table, std::uint32_t entry) override {
    note(state, table, entry);
    return txn_->remove(state, table, entry);
  }
  bool scan(AccessId state, TableBase<M>& table, const std::uint64_t* lo, const std::uint64_t* hi,
            Order order, std::uint32_t limit, std::uint32_t bytes,
            typename TransactionOperations<M>::Visit visit) override {
    note(state, table, lo);
    return txn_->scan(state, table, lo, hi, order, limit, bytes, visit);
  }
  [[nodiscard]] Outcome stop() const override { return txn_->stop(); }
  void passed(AccessId state) override { txn_->passed(state); }

  void note(AccessId state, const TableBase<M>& table, const std::uint64_t* key) {
    if (state == kNoState) return;  // no decision is made there: such accesses are not in a trace
    TracedAccess& access = log_.accesses.extend();
    access.key = word_of(std::span(key, static_cast<std::size_t>(table.kind().key_words)));
    access.state = state;
  }
  void note(AccessId state, const TableBase<M>& table, std::uint32_t entry) {
    note(state, table, key_words_of(table, txn_->record_of(entry)));
  }

  /// The hints that it passes before it begins, which are the same in every attempt.
  void add_hints(const std::byte* input) {
    Hints hints;
    inputs_.hints(input, hints);
    for (const Hint& hint : hints) log_.hints.push_back(hint);
    transaction_.hints = static_cast<std::uint16_t>(hints.size());
  }

  TraceLog& log_;
  LogSizes& sizes_;
  const Inputs& inputs_;
  int worker_;
  std::uint64_t trace_began_;
  AnyTransaction<M>* txn_ = nullptr;  ///< the attempt's
  std::size_t first_ = 0;             ///< of its accesses
  std::size_t first_hint_ = 0;        ///< of its hints
  bool again_ = false;                ///< the transaction was aborted and is retried
  TracedTransaction transaction_;
};

}  // namespace heddle
