#pragma once

// A small database, and transactions on it that a test drives access by access, several at a time
// in one thread.

#include <array>
#include <chrono>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "machine/threads.h"
#include "protocol/compiled_policy.h"
#include "protocol/outcome.h"
#include "protocol/policy.h"
#include "protocol/policy_table.h"
#include "storage/hash_index.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"

namespace heddle::test {

using M = ThreadsMachine;

/// Whether `condition()` becomes true in other threads; gives up after some seconds.
template <class F>
bool eventually(F condition) {
  constexpr std::chrono::seconds kPatience{5};
  const auto start = std::chrono::steady_clock::now();
  while (!condition()) {
    if (std::chrono::steady_clock::now() - start > kPatience) return false;
    std::this_thread::yield();
  }
  return true;
}

struct Columns {
  std::int64_t first;
  std::int64_t second;
  std::int64_t third;
  bool operator==(const Columns&) const = default;
};
/// Prefixes of a row.
struct OneColumn {
  std::int64_t first;
};
struct TwoColumns {
  std::int64_t first;
  std::int64_t second;
};

using OrderedTable = Table<M, Key1, Columns, OrderedIndex>;
using HashedTable = Table<M, Key1, Columns, HashIndex>;

/// One table of each kind of index, both with the same rows: key k holds {k * 100, k, k}.
class Database {
 public:
  static constexpr int kWorkers = 4;
  static constexpr std::array<std::uint64_t, 6> kLoaded{10, 20, 30, 40, 50, 60};

  Database() {
    for (const std::uint64_t key : kLoaded) {
      rows.load(make_key(key), loaded(key));
      points.load(make_key(key), loaded(key));
    }
  }

  static Columns loaded(std::uint64_t key) {
    const auto number = static_cast<std::int64_t>(key);
    return {number * 100, number, number};
  }

  /// A record as the index has it, committed or not; nullptr if there is none.
  template <class T>
  static Record<M>* record(T& table, std::uint64_t key) {
    NodeVersion<M> seen;
    return table.index().find(make_key(key), seen);
  }

  /// The first column as committed.
  template <class T>
  static std::optional<std::int64_t> committed(const T& table, std::uint64_t key) {
    const Columns* row = table.find_quiescent(make_key(key));
    return row == nullptr ? std::nullopt : std::optional(row->first);
  }

  /// A clock that stands still: epochs advance only when a test advances them.
  static constexpr M::Ticks kStill = 0;

  /// Advances the epoch by `count` and leaves every worker outside.
  void pass_epochs(std::uint64_t count) {
    for (int worker = 0; worker < kWorkers; ++worker) storage.leave(worker);
    for (std::uint64_t i = 0; i < count; ++i) storage.epochs().advance(kStill);
  }

  /// Frees everything that is no longer in use. Every worker leaves.
  void drain() {
    for (int worker = 0; worker < kWorkers; ++worker) storage.leave(worker);
    storage.drain();
  }

  /// A boundary of every worker, none of which runs a transaction: reclaims what is due.
  void pass_boundaries() {
    for (int worker = 0; worker < kWorkers; ++worker) storage.boundary(worker, kStill);
    for (int worker = 0; worker < kWorkers; ++worker) storage.leave(worker);
  }

  Storage<M> storage{kWorkers};
  OrderedTable rows{storage, "ROWS", 64};
  HashedTable points{storage, "POINTS", 64};
};

/// The states of a transaction driven by hand, by default.
struct HandStates {
  AccessId read = kNoState;
  AccessId update = kNoState;
  AccessId insert = kNoState;
  AccessId remove = kNoState;
  AccessId scan = kNoState;
};

/// A transaction driven by hand: one access per call, on one table.
template <class Txn, class T>
class Hand {
 public:
  Hand(Txn& txn, T& table, const HandStates& states = {})
      : txn_(&txn), table_(&table), states_(states) {}

  Txn& txn() const { return *txn_; }
  [[nodiscard]] AbortReason reason() const { return txn_->reason(); }
  /// The outcome of a procedure after an access that returned nothing.
  [[nodiscard]] Outcome stop() const { return txn_->stop(); }

  /// The same transaction at other states.
  [[nodiscard]] Hand at(const HandStates& states) const { return {*txn_, *table_, states}; }
  /// The same transaction on another table.
  template <class Other>
  [[nodiscard]] Hand<Txn, Other> on(Other& table) const {
    return {*txn_, table, states_};
  }

  /// The row's first column; nothing if the row does not exist or the transaction must stop.
  std::optional<std::int64_t> read(std::uint64_t key) const {
    const auto row = txn_->read(states_.read, *table_, make_key(key));
    return row ? std::optional(row->first) : std::nullopt;
  }

  /// As read(), for the first column only.
  std::optional<std::int64_t> read_narrow(std::uint64_t key) const {
    const auto row = txn_->template read<OneColumn>(states_.read, *table_, make_key(key));
    return row ? std::optional(row->first) : std::nullopt;
  }

  /// Reads the row and sets its first column.
  bool write(std::uint64_t key, std::int64_t value) const {
    const auto row = txn_->read(states_.read, *table_, make_key(key));
    return row && txn_->update(states_.update, *table_, row,
                               [value](Columns& columns) { columns.first = value; });
  }

  bool write_narrow(std::uint64_t key, std::int64_t value) const {
    const auto row = txn_->template read<OneColumn>(states_.read, *table_, make_key(key));
    return row && txn_->update(states_.update, *table_, row,
                               [value](OneColumn& columns) { columns.first = value; });
  }

  bool insert(std::uint64_t key, std::int64_t value) const {
    return txn_->insert(states_.insert, *table_, make_key(key), Columns{value, 0, 0});
  }

  /// Reads the row and deletes it.
  bool remove(std::uint64_t key) const {
    const auto row = txn_->read(states_.read, *table_, make_key(key));
    return row && txn_->remove(states_.remove, *table_, row);
  }

  /// The keys in [lo, hi], in the given order.
  std::vector<std::uint64_t> scan(std::uint64_t lo, std::uint64_t hi,
                                  Order order = Order::ascending, std::uint32_t limit = 0) const {
    std::vector<std::uint64_t> keys;
    (void)txn_->scan(states_.scan, *table_, make_key(lo), make_key(hi), order, limit,
                     [&keys](const Key1& key, const Row<Columns>&) {
                       keys.push_back(key.words[0]);
                       return true;
                     });
    return keys;
  }

  /// Commits, or else aborts.
  bool commit() const {
    if (txn_->commit()) return true;
    txn_->abort();
    return false;
  }
  void abort() const { txn_->abort(); }

 private:
  Txn* txn_;
  T* table_;
  HandStates states_;
};

/// The accesses of each transaction type in tests of policies, all of them on ROWS. The later ones
/// can be given other actions than the first, and can be waited for.
enum HandAccess : std::uint16_t {
  kRead,
  kUpdate,
  kInsert,
  kRemove,
  kScan,
  kReadLoop,
  kReadLater,
  kUpdateLater,
  kInsertLater,
  kRemoveLater,
  kModify,
  kAccessCount
};

/// Three types of the same accesses.
enum HandType : std::uint16_t { kWriter, kReader, kThird, kTypeCount };

inline Signature hand_signature() {
  using enum AccessKind;
  const std::vector<AccessSpec> accesses{{"read", "ROWS", read, false},
                                         {"update", "ROWS", update, false},
                                         {"insert", "ROWS", insert, false},
                                         {"remove", "ROWS", remove, false},
                                         {"scan", "ROWS", scan, false},
                                         {"read_loop", "ROWS", read, true},
                                         {"read_later", "ROWS", read, false},
                                         {"update_later", "ROWS", update, false},
                                         {"insert_later", "ROWS", insert, false},
                                         {"remove_later", "ROWS", remove, false},
                                         {"modify", "ROWS", read_modify_write, false}};
  return {.workload = "hand",
          .types = {{"writer", accesses}, {"reader", accesses}, {"third", accesses}}};
}

inline AccessId hand_state(HandType type, HandAccess access) {
  return static_cast<AccessId>(int{type} * int{kAccessCount} + int{access});
}
inline HandStates hand_states(HandType type) {
  return {.read = hand_state(type, kRead),
          .update = hand_state(type, kUpdate),
          .insert = hand_state(type, kInsert),
          .remove = hand_state(type, kRemove),
          .scan = hand_state(type, kScan)};
}
inline HandStates later_states(HandType type) {
  return {.read = hand_state(type, kReadLater),
          .update = hand_state(type, kUpdateLater),
          .insert = hand_state(type, kInsertLater),
          .remove = hand_state(type, kRemoveLater),
          .scan = hand_state(type, kScan)};
}

/// A policy for these types, set in terms of states. It starts as Silo's: clean, private, never
/// waiting.
class PolicyInWords {
 public:
  PolicyInWords() {
    policy_.name = "by hand";
    policy_.signature = hand_signature();
    const PolicyRow quiet{.wait = std::vector<std::uint16_t>(kTypeCount, 0)};
    policy_.rows.assign(policy_.signature.state_count(), quiet);
    policy_.backoff.resize(kTypeCount);
  }

  PolicyInWords& reads_dirty(HandType type, HandAccess access = kRead) {
    policy_.rows[hand_state(type, access)].dirty_read = true;
    return *this;
  }
  PolicyInWords& publishes(HandType type, HandAccess access = kUpdate) {
    policy_.rows[hand_state(type, access)].public_write = true;
    return *this;
  }
  PolicyInWords& validates(HandType type, HandAccess access) {
    policy_.rows[hand_state(type, access)].early_validation = true;
    return *this;
  }
  /// Before `access`, a dependency of type `other` must have finished its access `reached`.
  PolicyInWords& waits(HandType type, HandAccess access, HandType other, HandAccess reached) {
    policy_.rows[hand_state(type, access)].wait[other] = static_cast<std::uint16_t>(reached + 1);
    return *this;
  }
  PolicyInWords& waits_for_commit(HandType type, HandAccess access, HandType other) {
    policy_.rows[hand_state(type, access)].wait[other] = kAccessCount + 1;
    return *this;
  }

  [[nodiscard]] const Policy& policy() const { return policy_; }

 private:
  Policy policy_;
};

/// Workers that run transactions by one policy, each driven by hand.
class PolicyHands {
 public:
  using PolicyHand = Hand<PolicyTransaction<M>, OrderedTable>;

  explicit PolicyHands(const PolicyInWords& words)
      : policy(words.policy()), runtime(Database::kWorkers, policy.state_count(), stop) {
    for (int worker = 0; worker < Database::kWorkers; ++worker) {
      txns_.emplace_back(db.storage, worker, runtime);
    }
  }

  /// Starts a transaction on its worker; the worker's last one must have ended.
  PolicyHand begin(int worker, HandType type) {
    PolicyTransaction<M>& txn = txns_[static_cast<std::size_t>(worker)];
    db.storage.boundary(worker, M::now());
    txn.begin(type, policy);
    return {txn, db.rows, hand_states(type)};
  }

  /// A whole transaction that sets one row, on a worker of its own.
  bool overwrite(int worker, HandType type, std::uint64_t key, std::int64_t value) {
    const PolicyHand hand = begin(worker, type);
    return hand.write(key, value) && hand.commit();
  }

  /// Runs a procedure as the executor does: again from the last point as long as that may help.
  template <class F>
  static Outcome run(const PolicyHand& hand, F procedure) {
    Outcome outcome = procedure();
    while (outcome == Outcome::abort && hand.txn().retry_from_point() == Retry::run) {
      outcome = procedure();
    }
    return outcome;
  }

  [[nodiscard]] std::uint64_t waits_for(int worker) const {
    return runtime.contexts[worker].waits_for.load(std::memory_order_acquire);
  }
  /// Returns once the worker, in another thread, waits for a transaction.
  void await_waiting(int worker) const {
    EXPECT_TRUE(eventually([&] {
      const std::uint64_t reference = waits_for(worker);
      return reference != 0 &&
             runtime.contexts[TransactionContext<M>::worker_of(reference)].is(reference);
    })) << "worker "
        << worker;
  }

  /// No wait lasts from here on: a worker that would have to wait is stopped instead, so that one
  /// thread can observe the wait.
  void forbid_waiting() { stop.store(1, std::memory_order_relaxed); }

  /// Whether the access list for the record has an entry.
  [[nodiscard]] bool listed(std::uint64_t key) {
    return !runtime.lists.bucket(Database::record(db.rows, key)).empty();
  }
  /// Whether the record has a visible uncommitted write. No other thread may be running.
  [[nodiscard]] bool published(std::uint64_t key) {
    const Record<M>* record = Database::record(db.rows, key);
    return runtime.lists.bucket(record).last_write(record) != nullptr;
  }

  Database db;
  Shared<M, std::uint64_t> stop{0};
  CompiledPolicy policy;
  PolicyRuntime<M> runtime;

 private:
  std::deque<PolicyTransaction<M>> txns_;
};

}  // namespace heddle::test
