#pragma once

#include <cstddef>

#include "protocol/any_transaction.h"
#include "protocol/outcome.h"
#include "protocol/protocol.h"
#include "protocol/typed_access.h"

namespace heddle {

/// Observes one worker's transactions, of any workload and protocol. A run has at most one observer
/// per worker; a run without observers has no overhead.
template <class M>
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  /// Called when an attempt begins.
  /// @param on_snapshot it reads a snapshot
  virtual void begin(int type, bool on_snapshot) = 0;

  /// Called when the procedure begins, possibly not for the first time in the attempt: it makes
  /// every access again.
  /// @param input of the transaction
  /// @return the operations that the procedure runs on: `txn`, or a wrapper that forwards to it
  virtual TransactionOperations<M>& watch(AnyTransaction<M>& txn, const std::byte* input) = 0;

  /// Called when the attempt has ended; `txn` still holds its accesses.
  virtual void ended(const AnyTransaction<M>& txn, const Attempt<M>& attempt) = 0;

  /// Called before the attempts of a group begin, which take effect together.
  virtual void begin_group() {}
  /// Called when they have. If they have not committed, none of them has an effect, whatever
  /// ended() was told.
  virtual void end_group(bool /*committed*/) {}
};

/// A transaction as a procedure sees it whose accesses may be observed.
template <class M>
class ObservedTransaction : public TypedAccess<ObservedTransaction<M>> {
 public:
  explicit ObservedTransaction(TransactionOperations<M>& operations) : operations_(operations) {}

  /// The operations that the accesses are forwarded to.
  [[nodiscard]] TransactionOperations<M>& operations() { return operations_; }

  template <class T>
  Row<std::byte> read_row(AccessId state, T& table, const typename T::KeyType& key,
                          std::uint32_t bytes, Record<M>* found = nullptr) {
    return operations_.read(state, table, key.words.data(), bytes, found);
  }

  template <class T, class F>
  bool update_row(AccessId state, T& table, std::uint32_t entry, std::uint32_t bytes, F modify) {
    return operations_.update(state, table, entry, bytes, modify);
  }

  template <class T>
  bool insert_row(AccessId state, T& table, const typename T::KeyType& key, const std::byte* row,
                  std::uint32_t bytes) {
    return operations_.insert(state, table, key.words.data(), row, bytes);
  }

  template <class T>
  bool remove_row(AccessId state, T& table, std::uint32_t entry) {
    return operations_.remove(state, table, entry);
  }

  template <class T, class F>
  bool scan_rows(AccessId state, T& table, const typename T::KeyType& lo,
                 const typename T::KeyType& hi, Order order, std::uint32_t limit,
                 std::uint32_t bytes, F visit) {
    return operations_.scan(state, table, lo.words.data(), hi.words.data(), order, limit, bytes,
                            [&visit](const std::uint64_t* key, const Row<std::byte>& row) {
                              return visit(*reinterpret_cast<const typename T::KeyType*>(key), row);
                            });
  }

  [[nodiscard]] Outcome stop() const { return operations_.stop(); }
  void passed(AccessId state) { operations_.passed(state); }

 private:
  TransactionOperations<M>& operations_;
};

}  // namespace heddle
