#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/shared.h"
#include "model/access_id.h"
#include "protocol/compiled_policy.h"
#include "protocol/optimistic.h"
#include "protocol/outcome.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"

namespace heddle {

template <class M>
struct Attempt;
template <class M>
struct RunSetup;

/// A transaction as an attempt ends it: what attempt_to_commit() requires.
template <class P, class M>
concept AttemptedTransaction = requires(P& txn, const P& constant, AccessId state) {
  { P::kReplays } -> std::convertible_to<bool>;
  { constant.stop() } -> std::same_as<Outcome>;
  txn.passed(state);
  /// False: abort() or retry_from_point() follows.
  { txn.commit() } -> std::same_as<bool>;
  /// The same for a transaction that is to roll back.
  { txn.validate_rollback() } -> std::same_as<bool>;
  txn.abort();
  { constant.waited() } -> std::same_as<typename M::Ticks>;
  { constant.reason() } -> std::same_as<AbortReason>;
  { constant.reason_state() } -> std::same_as<AccessId>;
};

/// A protocol's transaction: the interface that StoredProcedureApi requires of every protocol. Each
/// transaction also models one of the three concepts that follow this one.
template <class P, class M>
concept Transaction = AttemptedTransaction<P, M> &&
                      requires(P& txn, const P& constant, AccessId state, std::uint32_t entry,
                               std::uint32_t bytes, std::size_t size) {
                        // The steps of an access; `entry` is a row's number in the access set.

                        /// Begins an access: wait actions, replay.
                        { txn.begin_access(state) } -> std::same_as<Begin>;
                        /// A private copy of the row, to be modified; nullptr: stop.
                        { txn.write_buffer(entry, bytes) } -> std::same_as<std::byte*>;
                        /// The row placed by an insert exists from here on.
                        txn.revive(entry);
                        /// Deletes the row; false: stop.
                        { txn.mark_removed(entry) } -> std::same_as<bool>;
                        { constant.value_of(entry) } -> std::same_as<const std::byte*>;
                        { constant.record_of(entry) } -> std::same_as<const Record<M>*>;
                        { txn.allocate(size) } -> std::same_as<std::byte*>;
                        { constant.worker() } -> std::same_as<int>;
                        { txn.storage() } -> std::same_as<Storage<M>&>;
                      };

/// A transaction that detects phantoms with its node set.
template <class P, class M>
concept NodeSetTransaction =
    Transaction<P, M> && std::derived_from<P, OptimisticCore<M>> &&
    requires(P& txn, AccessId state, TableBase<M>& table, Record<M>* record, std::uint32_t bytes,
             bool for_scan, std::uint32_t& entry, const InsertResult<M>& inserted,
             AbortReason reason) {
      /// Adds a record found in the index to the access set.
      { txn.look(state, table, record, bytes, for_scan, entry) } -> std::same_as<Look>;
      /// Adds the record that the index holds after an insert to the access set.
      { txn.place(state, table, inserted, entry) } -> std::same_as<Look>;
      { txn.nodes() } -> std::same_as<NodeSet<M>&>;
      /// The number of accesses made, for the node set.
      { txn.position() } -> std::same_as<std::uint32_t>;
      /// The transaction has to run again.
      txn.conflict(reason, state);
    };

/// A transaction whose procedure is run again from a validated point (`kReplays`). It is notified
/// of the accesses for which begin_access() returns `proceed` and not `plain`.
template <class P, class M>
concept ReplayingTransaction =
    NodeSetTransaction<P, M> && P::kReplays &&
    requires(P& txn, AccessId state, std::uint32_t entry, const std::byte* value, const void* key,
             std::size_t key_bytes, bool ok,
             void (*visit)(const void* key, const void* value, std::uint32_t entry)) {
      /// Publication points and progress; false: stop.
      { txn.end_read(state) } -> std::same_as<bool>;
      { txn.end_write(state, entry) } -> std::same_as<bool>;

      // Logs what the procedure was given, so that a replay gives it the same again.
      txn.log_row(entry, value);
      txn.log_write(ok);
      txn.log_scan_begin();
      txn.log_scan_row(key, key_bytes, entry, value);
      txn.replay_row();
      { txn.replay_write() } -> std::same_as<bool>;
      txn.replay_scan(visit);

      /// What an attempt that has failed does next.
      { txn.retry_from_point() } -> std::same_as<Retry>;
    };

/// A transaction that leaves its timestamp with what it reads (`kLeavesTimestamps`) and needs no
/// node set. Rows have names, under which their readers are noted.
template <class P, class M>
concept TimestampTransaction =
    Transaction<P, M> && P::kLeavesTimestamps &&
    requires(P& txn, AccessId state, KeyedTable<M, Key1, OrderedIndex>& table, const Key1& key,
             std::uint64_t name, Record<M>* record, std::uint32_t bytes, std::uint32_t& entry,
             const InsertResult<M>& inserted, const NodeVersion<M>& seen,
             const Shared<M, std::uint64_t>* leaf) {
      { txn.name_of(table, key) } -> std::same_as<std::uint64_t>;
      /// As in NodeSetTransaction.
      { txn.look(state, table, name, record, bytes, entry) } -> std::same_as<Look>;
      { txn.place(state, table, name, inserted, entry) } -> std::same_as<Look>;
      /// Notes that no row has the name; false: search for the key again.
      { txn.note_miss(table, name, seen) } -> std::same_as<bool>;
      /// Notes that a scan has reached a leaf; false: read the leaf again.
      { txn.note_scan(table, seen) } -> std::same_as<bool>;
      /// For OrderedIndex::insert().
      txn.follow_split()(leaf, leaf);
      /// After every write; false: stop.
      { txn.end_write(state, entry) } -> std::same_as<bool>;
    };

/// The executors' unit of work: a stored procedure with its input.
template <class P, class M, class Txn>
concept Procedure = requires(const P& procedure, Txn& txn, const Attempt<M>& attempt) {
  /// The procedure, on a transaction of any class.
  { procedure.run(txn) } -> std::same_as<Outcome>;
  /// The attempt has ended, and `txn` still holds its accesses.
  procedure.ended(txn, attempt);
};

/// An archetype of Procedure for the concept Protocol; never run.
struct SomeProcedure {
  template <class Txn>
  Outcome run(Txn& txn) const;
  template <class Txn, class A>
  void ended(Txn& txn, const A& attempt) const;
};

template <class P, class M>
using RuntimeOf = typename P::template Runtime<M>;
template <class P, class M>
using ExecutorOf = typename P::template Executor<M>;

/// A protocol on a machine: a name, the state that the workers of a run share (Runtime), and one
/// worker's way of making attempts (Executor).
///
/// Further members are optional: ProtocolRun forwards switch_policy() and wait_times to the
/// runtime, Attempts forwards expect() to the executor.
template <class P, class M>
concept Protocol = requires(RuntimeOf<P, M>& runtime, ExecutorOf<P, M>& executor,
                            const RunSetup<M>& setup, Storage<M>& storage, int number,
                            std::uint32_t prior_aborts, const SomeProcedure& procedure) {
  { P::kName } -> std::convertible_to<std::string_view>;

  RuntimeOf<P, M>(setup);
  /// The worker that a worker waits for, or -1.
  { runtime.waits_for(number) } -> std::same_as<int>;

  ExecutorOf<P, M>(runtime, storage, number);
  /// Makes one attempt: attempt(procedure, type, prior_aborts).
  { executor.attempt(procedure, number, prior_aborts) } -> std::same_as<Attempt<M>>;
  /// The policy of the last attempt; nullptr where the protocol executes none.
  { executor.policy() } -> std::same_as<const CompiledPolicy*>;
};

}  // namespace heddle
