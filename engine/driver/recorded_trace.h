#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "check/chunked.h"
#include "driver/log_sizes.h"
#include "driver/tracing_transaction.h"
#include "model/hints.h"
#include "protocol/access_list.h"
#include "protocol/outcome.h"

namespace heddle {

/// One transaction that ended by its own wish.
struct TracedTransaction {
  std::uint64_t began_us = 0;  ///< its first attempt, since the trace began
  std::uint32_t accesses = 0;  ///< how many of its worker's accesses are its own: the next so many
  std::uint16_t type = 0;
  std::uint16_t hints = 0;  ///< likewise, of its worker's hints
  bool rolled_back = false;
  bool of_the_past = false;  ///< it read a snapshot: nobody knows what
};

/// One access of a transaction, as its procedure asked for it.
struct TracedAccess {
  std::uint64_t key = 0;  ///< in one word (see word_of()); of a scan the first of its range
  AccessId state = 0;
};

/// One worker's transactions, and what they passed before they began, in the order in which it made
/// them.
struct TraceLog {
  check::Chunked<TracedTransaction> transactions;
  check::Chunked<TracedAccess> accesses;
  check::Chunked<Hint> hints;

  [[nodiscard]] std::size_t bytes() const {
    return transactions.size() * sizeof(TracedTransaction) +
           accesses.size() * sizeof(TracedAccess) + hints.size() * sizeof(Hint);
  }
};

/// What a run's transactions asked for, while it is made: the trace that a policy can be trained on
/// (DESIGN §8). Of a transaction that was tried more than once it has the last attempt's accesses.
class RecordedTrace {
 public:
  /// @param most bytes in memory; what comes near it ends the run
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

  /// Watches one worker's transactions (protocol/observer.h).
  template <class M>
  class Observer {
   public:
    static constexpr bool kRecords = false;

    Observer(RecordedTrace& trace, int worker)
        : log_(trace.logs_[static_cast<std::size_t>(worker)]),
          sizes_(trace.sizes_),
          worker_(worker),
          trace_began_(trace.began_) {}

    void begin(int type, bool of_the_past) {
      if (again_) return;
      sizes_.tell(worker_, log_.bytes());
      first_ = log_.accesses.size();
      first_hint_ = log_.hints.size();
      one_ = {.began_us = static_cast<std::uint64_t>(M::microseconds(M::now() - trace_began_)),
              .type = static_cast<std::uint16_t>(type),
              .of_the_past = of_the_past};
    }

    template <class W, class Txn>
    Outcome execute(W& workload, Txn& txn, const typename W::Input& input) {
      // Perhaps not for the first time: it will ask for everything again.
      log_.accesses.truncate(first_);
      if constexpr (HasHints<W>) {
        if (one_.hints == 0) add_hints(workload, input);
      }
      TracingTransaction<Observer, Txn> tracing(txn, *this);
      return workload.execute(tracing, input);
    }

    template <class W, class Txn>
    Outcome query(W& workload, Txn& txn, const typename W::Input& input) {
      const Outcome outcome = workload.query(txn, input);
      end(outcome);
      return outcome;
    }

    template <class Txn, class A>
    void ended(const Txn& /*txn*/, const A& attempt) {
      end(attempt.outcome);
    }

    [[gnu::always_inline]] void add(AccessId state, std::uint64_t key) {
      if (state == kNoState) return;  // nothing is decided there: such rows are not written
      TracedAccess& access = log_.accesses.extend();
      access.key = key;
      access.state = state;
    }

   private:
    /// What it passes before it begins, which is the same however often it is tried.
    template <class W>
    void add_hints(const W& workload, const typename W::Input& input) {
      Hints hints;
      workload.hints(input, hints);
      for (const Hint& hint : hints) log_.hints.push_back(hint);
      one_.hints = static_cast<std::uint16_t>(hints.size());
    }

    void end(Outcome outcome) {
      again_ = outcome == Outcome::abort;
      if (again_) {
        log_.accesses.truncate(first_);
        log_.hints.truncate(first_hint_);
        one_.hints = 0;
        return;
      }
      one_.accesses = static_cast<std::uint32_t>(log_.accesses.size() - first_);
      one_.rolled_back = outcome == Outcome::rollback;
      log_.transactions.push_back(one_);
    }

    TraceLog& log_;
    LogSizes& sizes_;
    int worker_;
    std::uint64_t trace_began_;
    std::size_t first_ = 0;       ///< of its accesses
    std::size_t first_hint_ = 0;  ///< likewise
    bool again_ = false;          ///< the transaction was aborted, and will be tried once more
    TracedTransaction one_;
  };

  [[nodiscard]] bool full() const { return sizes_.full(); }

  // Once the workers have ended:

  /// One a worker.
  [[nodiscard]] const std::vector<TraceLog>& logs() const { return logs_; }
  /// When the trace began, microseconds since 1970 (UTC).
  [[nodiscard]] std::int64_t began_us() const { return began_us_; }

 private:
  std::vector<TraceLog> logs_;
  LogSizes sizes_;
  std::uint64_t began_;
  std::int64_t began_us_;
};

}  // namespace heddle
