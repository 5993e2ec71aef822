#pragma once

#include <cstddef>
#include <cstdint>

#include "model/access_id.h"
#include "model/function_ref.h"
#include "protocol/access_set.h"
#include "protocol/optimistic.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "storage/table_kinds.h"

namespace heddle {

/// The operations of a transaction without its types: a row is its bytes, a key its words.
///
/// Observed runs use these, so that an observer is compiled once per machine, for every workload
/// and protocol. TypedAccess documents the arguments.
template <class M>
class TransactionOperations {
 public:
  using Modify = FunctionRef<void(std::byte*)>;
  using Visit = FunctionRef<bool(const std::uint64_t*, const Row<std::byte>&)>;

  TransactionOperations() = default;
  TransactionOperations(const TransactionOperations&) = delete;
  TransactionOperations& operator=(const TransactionOperations&) = delete;

  virtual Row<std::byte> read(AccessId state, TableBase<M>& table, const std::uint64_t* key,
                              std::uint32_t bytes, Record<M>* found) = 0;
  virtual bool update(AccessId state, TableBase<M>& table, std::uint32_t entry, std::uint32_t bytes,
                      Modify modify) = 0;
  virtual bool insert(AccessId state, TableBase<M>& table, const std::uint64_t* key,
                      const std::byte* row, std::uint32_t bytes) = 0;
  virtual bool remove(AccessId state, TableBase<M>& table, std::uint32_t entry) = 0;
  virtual bool scan(AccessId state, TableBase<M>& table, const std::uint64_t* lo,
                    const std::uint64_t* hi, Order order, std::uint32_t limit, std::uint32_t bytes,
                    Visit visit) = 0;
  [[nodiscard]] virtual Outcome stop() const = 0;
  virtual void passed(AccessId state) = 0;

 protected:
  ~TransactionOperations() = default;
};

/// A transaction of any protocol, and what it has accessed so far.
template <class M>
class AnyTransaction : public TransactionOperations<M> {
 public:
  /// A version that a snapshot transaction has read.
  struct Seen {
    const Record<M>* record;
    std::uint64_t word;
  };
  using DirtySource = typename OptimisticCore<M>::DirtySource;

  /// The access set; nullptr: the transaction reads a snapshot, and `seen` has the version of each
  /// row.
  [[nodiscard]] virtual const AccessSet<M>* accesses() const = 0;
  [[nodiscard]] virtual Seen seen(std::uint32_t entry) const = 0;
  /// The record of an entry of the access set.
  [[nodiscard]] virtual const Record<M>* record_of(std::uint32_t entry) const = 0;

  /// The place of an entry's row: versions are only ordered within a place (observe/history.h).
  [[nodiscard]] virtual std::uint64_t place_of(std::uint32_t entry) const = 0;

  // See OptimisticCore.
  [[nodiscard]] virtual std::uint64_t last_version() const = 0;
  [[nodiscard]] virtual DirtySource dirty_source(std::uint32_t entry) const = 0;
  [[nodiscard]] virtual std::uint64_t incarnation() const = 0;
  /// Whether it has read a version that was uncommitted at the time, and has recorded that.
  [[nodiscard]] virtual bool reads_dirty() const = 0;
  /// Whether its procedure may be run again from a validated point.
  [[nodiscard]] virtual bool replays() const = 0;
  /// Whether its reads are as of its begin, not as of the time of each read.
  [[nodiscard]] virtual bool reads_as_of_begin() const = 0;

 protected:
  ~AnyTransaction() = default;
};

/// A protocol's transaction, or SnapshotTransaction, as AnyTransaction. Compiled once per protocol
/// and machine: for the kinds of tables (storage/table_kinds.h), not for each table.
template <class M, class Txn>
class ErasedTransaction final : public AnyTransaction<M> {
 public:
  explicit ErasedTransaction(Txn& txn) : txn_(txn) {}

  Row<std::byte> read(AccessId state, TableBase<M>& table, const std::uint64_t* key,
                      std::uint32_t bytes, Record<M>* found) override {
    Row<std::byte> row;
    TableKinds<M>::visit(table, [&]<class T>(T& keyed) {
      row = txn_.read_row(state, keyed, as_key<T>(key), bytes, found);
    });
    return row;
  }

  bool update(AccessId state, TableBase<M>& table, std::uint32_t entry, std::uint32_t bytes,
              typename AnyTransaction<M>::Modify modify) override {
    bool done = false;
    if constexpr (kWrites) {
      TableKinds<M>::visit(
          table, [&](auto& keyed) { done = txn_.update_row(state, keyed, entry, bytes, modify); });
    }
    return done;
  }

  bool insert(AccessId state, TableBase<M>& table, const std::uint64_t* key, const std::byte* row,
              std::uint32_t bytes) override {
    bool done = false;
    if constexpr (kWrites) {
      TableKinds<M>::visit(table, [&]<class T>(T& keyed) {
        done = txn_.insert_row(state, keyed, as_key<T>(key), row, bytes);
      });
    }
    return done;
  }

  bool remove(AccessId state, TableBase<M>& table, std::uint32_t entry) override {
    bool done = false;
    if constexpr (kWrites) {
      TableKinds<M>::visit(table,
                           [&](auto& keyed) { done = txn_.remove_row(state, keyed, entry); });
    }
    return done;
  }

  bool scan(AccessId state, TableBase<M>& table, const std::uint64_t* lo, const std::uint64_t* hi,
            Order order, std::uint32_t limit, std::uint32_t bytes,
            typename AnyTransaction<M>::Visit visit) override {
    bool done = false;
    TableKinds<M>::visit(table, [&]<class T>(T& keyed) {
      if constexpr (T::IndexType::kKind == IndexKind::ordered) {
        done = txn_.scan_rows(state, keyed, as_key<T>(lo), as_key<T>(hi), order, limit, bytes,
                              [&visit](const typename T::KeyType& key, const Row<std::byte>& row) {
                                return visit(key.words.data(), row);
                              });
      } else {
        assert(false && "a hash index is not scanned");
      }
    });
    return done;
  }

  [[nodiscard]] Outcome stop() const override { return txn_.stop(); }
  void passed([[maybe_unused]] AccessId state) override {
    if constexpr (kWrites) txn_.passed(state);
  }

  [[nodiscard]] const AccessSet<M>* accesses() const override {
    if constexpr (kWrites) return &txn_.accesses();
    return nullptr;
  }
  [[nodiscard]] typename AnyTransaction<M>::Seen seen(std::uint32_t entry) const override {
    if constexpr (!kWrites) return {txn_.seen(entry).record, txn_.seen(entry).word};
    return {};
  }
  [[nodiscard]] const Record<M>* record_of(std::uint32_t entry) const override {
    if constexpr (kWrites) {
      return txn_.record_of(entry);
    } else {
      return txn_.seen(entry).record;
    }
  }

  [[nodiscard]] std::uint64_t place_of(std::uint32_t entry) const override {
    if constexpr (requires { txn_.place_of(entry); }) {
      return txn_.place_of(entry);
    } else {
      return reinterpret_cast<std::uintptr_t>(ErasedTransaction::record_of(entry));
    }
  }

  [[nodiscard]] std::uint64_t last_version() const override {
    if constexpr (kWrites) return txn_.last_version();
    return 0;
  }
  [[nodiscard]] typename AnyTransaction<M>::DirtySource dirty_source(
      std::uint32_t entry) const override {
    if constexpr (kWrites) return txn_.dirty_source(entry);
    return {-1, 0, 0};
  }
  [[nodiscard]] std::uint64_t incarnation() const override {
    if constexpr (kWrites) return txn_.incarnation();
    return 0;
  }
  [[nodiscard]] bool reads_dirty() const override {
    if constexpr (requires { txn_.reads_dirty(); }) return txn_.reads_dirty();
    return false;
  }
  [[nodiscard]] bool replays() const override {
    if constexpr (requires { requires Txn::kReplays; }) return true;
    return false;
  }
  [[nodiscard]] bool reads_as_of_begin() const override {
    if constexpr (requires { requires Txn::kReadsAsOfBegin; }) return true;
    return false;
  }

 private:
  /// A snapshot is read-only.
  static constexpr bool kWrites = requires(Txn& txn) { txn.accesses(); };

  template <class T>
  static const typename T::KeyType& as_key(const std::uint64_t* words) {
    return *reinterpret_cast<const typename T::KeyType*>(words);
  }

  Txn& txn_;
};

}  // namespace heddle
