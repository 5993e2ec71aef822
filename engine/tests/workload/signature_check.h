#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/hints.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/key.h"
#include "storage/node_version.h"

namespace heddle::test {

/// A transaction as its procedure sees it, which remembers every access and expects it to be what
/// the signature says of its state: of this type, on this table, of this kind.
template <class Txn>
class SignatureCheck {
 public:
  SignatureCheck(Txn& txn, const Signature& signature, std::size_t type)
      : txn_(txn), signature_(signature), type_(type) {}

  [[nodiscard]] const std::vector<Hint>& accesses() const { return accesses_; }

  template <class Prefix, class T>
  Row<Prefix> read(AccessId state, T& table, const typename T::KeyType& key) {
    look(state, AccessKind::read, table.name(), word_of(key));
    return txn_.template read<Prefix>(state, table, key);
  }
  template <class T>
  auto read(AccessId state, T& table, const typename T::KeyType& key) {
    return read<typename T::ValueType>(state, table, key);
  }
  template <class T, class Prefix, class F>
  bool update(AccessId state, T& table, const Row<Prefix>& row, F modify) {
    look(state, AccessKind::update, table.name(), key_of<T>(row));
    return txn_.update(state, table, row, modify);
  }
  template <class T>
  bool insert(AccessId state, T& table, const typename T::KeyType& key,
              const typename T::ValueType& value) {
    look(state, AccessKind::insert, table.name(), word_of(key));
    return txn_.insert(state, table, key, value);
  }
  template <class T, class Prefix>
  bool remove(AccessId state, T& table, const Row<Prefix>& row) {
    look(state, AccessKind::remove, table.name(), key_of<T>(row));
    return txn_.remove(state, table, row);
  }
  template <class Prefix, class T, class F>
  bool scan(AccessId state, T& table, const typename T::KeyType& lo, const typename T::KeyType& hi,
            Order order, std::uint32_t limit, F visit) {
    look(state, AccessKind::scan, table.name(), word_of(lo));
    return txn_.template scan<Prefix>(state, table, lo, hi, order, limit, visit);
  }
  template <class T, class F>
  bool scan(AccessId state, T& table, const typename T::KeyType& lo, const typename T::KeyType& hi,
            Order order, std::uint32_t limit, F visit) {
    return scan<typename T::ValueType>(state, table, lo, hi, order, limit, visit);
  }
  [[nodiscard]] Outcome stop() const { return txn_.stop(); }
  void passed(AccessId state) {
    EXPECT_EQ(signature_.type_of(state), type_);
    txn_.passed(state);
  }

 private:
  void look(AccessId state, AccessKind kind, const std::string& table, std::uint64_t key) {
    if (state == kNoState) return;
    accesses_.push_back({key, state});
    ASSERT_LT(state, signature_.state_count());
    EXPECT_EQ(signature_.type_of(state), type_) << table;
    const AccessSpec& spec = signature_.access(state);
    EXPECT_EQ(spec.table, table) << spec.name;
    const bool both = spec.kind == AccessKind::read_modify_write;
    EXPECT_EQ(spec.kind, both && kind != AccessKind::insert ? spec.kind : kind) << spec.name;
  }

  template <class T, class Prefix>
  [[nodiscard]] std::uint64_t key_of(const Row<Prefix>& row) const {
    return word_of(T::key_of(txn_.record_of(row.entry())));
  }

  Txn& txn_;
  const Signature& signature_;
  std::size_t type_;
  std::vector<Hint> accesses_;
};

}  // namespace heddle::test
