#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "protocol/outcome.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/numbered_row.h"
#include "workload/ycsb/inputs.h"
#include "workload/ycsb/states.h"

namespace heddle::ycsb {

/// The table with records of one size behind one kind of index, and the procedure that uses it.
template <class M, std::size_t Bytes, template <class, class> class Index>
class Database {
 public:
  static constexpr bool kScans = requires(const Index<M, Key1>& index, Key1 key) {
    index.scan(key, key, Order::ascending, [](auto, auto) { return true; });
  };

  Database(Storage<M>& storage, std::uint64_t records)
      : records_(records), table_(storage, "USERTABLE", records) {
    table_.skip_snapshots();  // no read-only type
  }

  void load() {
    for (std::uint64_t slot = 0; slot < records_; ++slot) {
      table_.load(populated_key(slot), Value{});
    }
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    for (std::uint32_t i = 0; i < input.count; ++i) {
      const Operation& operation = input.operations[i];
      bool done = false;
      switch (operation.kind) {
        case Kind::read: done = static_cast<bool>(txn.read(kRead, table_, operation.key)); break;
        case Kind::rmw: done = read_modify_write(txn, operation); break;
        case Kind::scan: done = scan(txn, operation); break;
        case Kind::insert: done = txn.insert(kInsert, table_, operation.key, Value{}); break;
        case Kind::remove: done = remove(txn, operation.key); break;
      }
      if (!done) return txn.stop();
    }
    txn.passed(kRemove);
    return Outcome::commit;
  }

  [[nodiscard]] std::vector<std::string> check() const {
    std::vector<std::string> violations;
    std::uint64_t populated = 0;
    std::int64_t sum = 0;
    std::uint64_t torn = 0;
    table_.for_each([&](const Key1& key, const Value& value) {
      torn += value.torn();
      if (!is_populated(key)) return;
      ++populated;
      sum += value.number();
    });
    if (torn != 0) violations.push_back("USERTABLE: " + std::to_string(torn) + " torn records");
    if (populated != records_) {
      violations.push_back("USERTABLE: " + std::to_string(populated) + " of the " +
                           std::to_string(records_) + " populated records are there");
    }
    if (sum != 0) {
      violations.push_back("USERTABLE: the records add up to " + std::to_string(sum) +
                           ", not to 0: updates were lost or doubled");
    }
    return violations;
  }

 private:
  using Value = NumberedRow<Bytes>;

  template <class Txn>
  bool read_modify_write(Txn& txn, const Operation& operation) {
    const auto row = txn.read(kRmwRead, table_, operation.key);
    return row && txn.update(kRmwUpdate, table_, row,
                             [&operation](Value& value) { value.add(operation.change); });
  }

  template <class Txn>
  bool scan(Txn& txn, const Operation& operation) {
    if constexpr (kScans) {
      return txn.template scan<Value>(kScan, table_, operation.key, Key1::max(), Order::ascending,
                                      operation.scan_length,
                                      [](const Key1&, const auto&) { return true; });
    } else {
      return false;  // the options admit no scans here
    }
  }

  template <class Txn>
  bool remove(Txn& txn, const Key1& key) {
    const auto row = txn.read(kRemoveRead, table_, key);
    // A run that ended before the insert committed leaves nothing to delete.
    if (!row) return txn.stop() == Outcome::rollback;
    return txn.remove(kRemove, table_, row);
  }

  std::uint64_t records_;
  Table<M, Key1, Value, Index> table_;
};

}  // namespace heddle::ycsb
