#pragma once

#include <cstddef>

#include "protocol/any_transaction.h"
#include "protocol/outcome.h"
#include "protocol/protocol.h"
#include "protocol/typed_access.h"

namespace heddle {

/// Watches one worker's transactions, of any workload and protocol: a run has at most one a worker,
/// and one that has none pays nothing for it.
template <class M>
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  /// An attempt begins.
  /// @param of_the_past it reads a snapshot
  virtual void begin(int type, bool of_the_past) = 0;

  /// The procedure begins, perhaps not for the first time in the attempt: it makes every access
  /// again.
  /// @param input of the transaction
  /// @return what the procedure is run on: `txn`, or what passes everything on to it
  virtual TransactionOperations<M>& watch(AnyTransaction<M>& txn, const std::byte* input) = 0;

  /// The attempt is over, and `txn` still holds what it did.
  virtual void ended(const AnyTransaction<M>& txn, const Attempt<M>& attempt) = 0;
};

/// A transaction as a procedure sees it whose accesses somebody may watch.
template <class M>
class ObservedTransaction : public TypedAccess<ObservedTransaction<M>> {
 public:
  explicit ObservedTransaction(TransactionOperations<M>& operations) : operations_(operations) {}

  /// What the accesses go to.
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
