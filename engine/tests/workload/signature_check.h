#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "model/hints.h"
#include "model/signature.h"
#include "protocol/any_transaction.h"
#include "protocol/observer.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/key.h"
#include "storage/node_version.h"

namespace heddle::test {

/// Records every access of a transaction, and expects it to match the signature of its state: its
/// type, table and kind.
template <class M>
class SignatureCheck final : public TransactionOperations<M> {
 public:
  SignatureCheck(ObservedTransaction<M>& txn, const Signature& signature, std::size_t type)
      : txn_(txn.operations()), signature_(signature), type_(type) {}

  [[nodiscard]] const std::vector<Hint>& accesses() const { return accesses_; }

  Row<std::byte> read(AccessId state, TableBase<M>& table, const std::uint64_t* key,
                      std::uint32_t bytes, Record<M>* found) override {
    expect(state, AccessKind::read, table, key);
    const Row<std::byte> row = txn_.read(state, table, key, bytes, found);
    if (row) keys_[row.entry()] = word_of(table, key);
    return row;
  }
  bool update(AccessId state, TableBase<M>& table, std::uint32_t entry, std::uint32_t bytes,
              typename TransactionOperations<M>::Modify modify) override {
    expect(state, AccessKind::update, table, keys_.at(entry));
    return txn_.update(state, table, entry, bytes, modify);
  }
  bool insert(AccessId state, TableBase<M>& table, const std::uint64_t* key, const std::byte* row,
              std::uint32_t bytes) override {
    expect(state, AccessKind::insert, table, key);
    return txn_.insert(state, table, key, row, bytes);
  }
  bool remove(AccessId state, TableBase<M>& table, std::uint32_t entry) override {
    expect(state, AccessKind::remove, table, keys_.at(entry));
    return txn_.remove(state, table, entry);
  }
  bool scan(AccessId state, TableBase<M>& table, const std::uint64_t* lo, const std::uint64_t* hi,
            Order order, std::uint32_t limit, std::uint32_t bytes,
            typename TransactionOperations<M>::Visit visit) override {
    expect(state, AccessKind::scan, table, lo);
    return txn_.scan(state, table, lo, hi, order, limit, bytes,
                     [&](const std::uint64_t* key, const Row<std::byte>& row) {
                       keys_[row.entry()] = word_of(table, key);
                       return visit(key, row);
                     });
  }
  [[nodiscard]] Outcome stop() const override { return txn_.stop(); }
  void passed(AccessId state) override {
    EXPECT_EQ(signature_.type_of(state), type_);
    txn_.passed(state);
  }

 private:
  static std::uint64_t word_of(const TableBase<M>& table, const std::uint64_t* key) {
    return heddle::word_of(std::span(key, table.kind().key_words));
  }
  void expect(AccessId state, AccessKind kind, const TableBase<M>& table,
              const std::uint64_t* key) {
    expect(state, kind, table, word_of(table, key));
  }
  void expect(AccessId state, AccessKind kind, const TableBase<M>& table, std::uint64_t key) {
    if (state == kNoState) return;
    accesses_.push_back({key, state});
    ASSERT_LT(state, signature_.state_count());
    EXPECT_EQ(signature_.type_of(state), type_) << table.name();
    const AccessSpec& spec = signature_.access(state);
    EXPECT_EQ(spec.table, table.name()) << spec.name;
    const bool both = spec.kind == AccessKind::read_modify_write;
    EXPECT_EQ(spec.kind, both && kind != AccessKind::insert ? spec.kind : kind) << spec.name;
  }

  TransactionOperations<M>& txn_;
  const Signature& signature_;
  std::size_t type_;
  std::map<std::uint32_t, std::uint64_t> keys_;  ///< by entry
  std::vector<Hint> accesses_;
};

}  // namespace heddle::test
