// Not compiled into anything: each class here lacks one function of its concept, and
// names_what_is_missing.cmake checks that the compiler's message names that function.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "machine/threads.h"
#include "protocol/protocol.h"
#include "protocol/run.h"
#include "protocol/stored_procedure.h"
#include "storage/hash_index.h"
#include "storage/ordered_index.h"
#include "storage/table.h"

namespace heddle {

struct NoRows : ThreadsMachine {
  static void on_row() = delete;
};
using OnRow = decltype(sizeof(Storage<NoRows>));

using M = ThreadsMachine;

template <class Machine, class K>
struct NoFind : HashIndex<Machine, K> {
  Record<Machine>* find(const K& key, NodeVersion<Machine>& seen) const = delete;
};
using Find = decltype(sizeof(KeyedTable<M, Key1, NoFind>));

template <class Machine, class K>
struct NoScan : OrderedIndex<Machine, K> {
  using OrderedIndex<Machine, K>::OrderedIndex;
  template <class F>
  void scan(const K& lo, const K& hi, Order order, F on_leaf) const = delete;
};
void scan(Storage<M>& storage) { KeyedTable<M, Key1, NoScan>(storage, "table", 8, 1); }

/// A transaction of each kind, with every function that its concept names.
template <class Derived>
struct Complete : OptimisticCore<M>, StoredProcedureApi<M, Derived> {
  using OptimisticCore<M>::OptimisticCore;
  static constexpr bool kReplays = false;

  bool commit() { return true; }
  bool validate_rollback() { return true; }
  void abort() {}
  [[nodiscard]] M::Ticks waited() const { return 0; }
  void passed(AccessId state);

  Begin begin_access(AccessId state);
  Look look(AccessId state, TableBase<M>& table, Record<M>* record, std::uint32_t bytes,
            bool for_scan, std::uint32_t& entry);
  Look place(AccessId state, TableBase<M>& table, const InsertResult<M>& inserted,
             std::uint32_t& entry);
  std::uint32_t position();
  std::byte* write_buffer(std::uint32_t entry, std::uint32_t bytes);
  bool mark_removed(std::uint32_t entry);
};

template <class Derived>
struct CompleteReplaying : Complete<Derived> {
  using Complete<Derived>::Complete;
  static constexpr bool kReplays = true;

  bool end_read(AccessId state);
  bool end_write(AccessId state, std::uint32_t entry);
  void log_row(std::uint32_t entry, const void* value);
  void log_write(bool ok);
  void log_scan_begin();
  void log_scan_row(const void* key, std::size_t bytes, std::uint32_t entry, const void* value);
  void replay_row();
  bool replay_write();
  template <class F>
  void replay_scan(F visit);
  Retry retry_from_point();
};

template <class Derived>
struct CompleteTimestamp : Complete<Derived> {
  using Complete<Derived>::Complete;
  static constexpr bool kLeavesTimestamps = true;

  std::uint64_t name_of(const TableBase<M>& table, const Key1& key);
  Look look(AccessId state, TableBase<M>& table, std::uint64_t name, Record<M>* record,
            std::uint32_t bytes, std::uint32_t& entry);
  Look place(AccessId state, TableBase<M>& table, std::uint64_t name,
             const InsertResult<M>& inserted, std::uint32_t& entry);
  bool note_miss(TableBase<M>& table, std::uint64_t name, const NodeVersion<M>& seen);
  bool note_scan(TableBase<M>& table, const NodeVersion<M>& seen);
  void (*follow_split())(const Shared<M, std::uint64_t>*, const Shared<M, std::uint64_t>*);
  bool end_write(AccessId state, std::uint32_t entry);
};

struct Plain : Complete<Plain> {};
struct Replaying : CompleteReplaying<Replaying> {};
struct Timestamp : CompleteTimestamp<Timestamp> {};
static_assert(NodeSetTransaction<Plain, M> && ReplayingTransaction<Replaying, M> &&
              TimestampTransaction<Timestamp, M>);

struct NoRemoval : Complete<NoRemoval> {
  using Complete::Complete;
  bool mark_removed(std::uint32_t entry) = delete;
};
struct NoEndRead : CompleteReplaying<NoEndRead> {
  using CompleteReplaying::CompleteReplaying;
  bool end_read(AccessId state) = delete;
};
struct NoNoteMiss : CompleteTimestamp<NoNoteMiss> {
  using CompleteTimestamp::CompleteTimestamp;
  bool note_miss(TableBase<M>& table, std::uint64_t name, const NodeVersion<M>& seen) = delete;
};
void make(Storage<M>& storage) {
  NoRemoval(storage, 0);
  NoEndRead(storage, 0);
  NoNoteMiss(storage, 0);
}
struct NoCommit : Complete<NoCommit> {
  bool commit() = delete;
};
void attempt(NoCommit& txn) { (void)attempt_by<M>(txn, SomeProcedure{}); }

struct NoWaitsFor {
  static constexpr std::string_view kName = "no_waits_for";
  template <class Machine>
  struct Runtime {
    explicit Runtime(const RunSetup<Machine>& setup);
  };
  template <class Machine>
  struct Executor {
    Executor(Runtime<Machine>& runtime, Storage<Machine>& storage, int worker);
    template <class P>
    Attempt<Machine> attempt(const P& procedure, int type, std::uint32_t prior_aborts);
    const CompiledPolicy* policy();
  };
};
using WaitsFor = decltype(sizeof(RunningProtocol<M, NoWaitsFor>));

}  // namespace heddle
