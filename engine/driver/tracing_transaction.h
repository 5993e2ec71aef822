#pragma once

#include <cstdint>

#include "protocol/access_list.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/key.h"
#include "storage/table.h"

namespace heddle {

/// A transaction as its procedure sees it, which tells `Log` every access before it is made: the
/// state, and the row's key; of a scan the first key of its range.
template <class Log, class Txn>
class TracingTransaction {
 public:
  TracingTransaction(Txn& txn, Log& log) : txn_(txn), log_(log) {}

  template <class Prefix, class T>
  Row<Prefix> read(AccessId state, T& table, const typename T::KeyType& key) {
    log_.add(state, word_of(key));
    return txn_.template read<Prefix>(state, table, key);
  }

  template <class T>
  auto read(AccessId state, T& table, const typename T::KeyType& key) {
    return read<typename T::ValueType>(state, table, key);
  }

  template <class T, class Prefix, class F>
  bool update(AccessId state, T& table, const Row<Prefix>& row, F modify) {
    log_.add(state, key_of<T>(row));
    return txn_.update(state, table, row, modify);
  }

  template <class T>
  bool insert(AccessId state, T& table, const typename T::KeyType& key,
              const typename T::ValueType& value) {
    log_.add(state, word_of(key));
    return txn_.insert(state, table, key, value);
  }

  template <class T, class Prefix>
  bool remove(AccessId state, T& table, const Row<Prefix>& row) {
    log_.add(state, key_of<T>(row));
    return txn_.remove(state, table, row);
  }

  template <class Prefix, class T, class F>
  bool scan(AccessId state, T& table, const typename T::KeyType& lo, const typename T::KeyType& hi,
            Order order, std::uint32_t limit, F visit) {
    log_.add(state, word_of(lo));
    return txn_.template scan<Prefix>(state, table, lo, hi, order, limit, visit);
  }

  template <class T, class F>
  bool scan(AccessId state, T& table, const typename T::KeyType& lo, const typename T::KeyType& hi,
            Order order, std::uint32_t limit, F visit) {
    return scan<typename T::ValueType>(state, table, lo, hi, order, limit, visit);
  }

  [[nodiscard]] Outcome stop() const { return txn_.stop(); }
  void passed(AccessId state) { txn_.passed(state); }

 private:
  template <class T, class Prefix>
  [[nodiscard]] std::uint64_t key_of(const Row<Prefix>& row) const {
    return word_of(T::key_of(txn_.record_of(row.entry())));
  }

  Txn& txn_;
  Log& log_;
};

}  // namespace heddle
