#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "protocol/outcome.h"
#include "storage/key.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "storage/record.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/ycsb/inputs.h"
#include "workload/ycsb/states.h"

namespace heddle::ycsb {

/// The table with one kind of index, and the procedure that uses it. A record's first and its last
/// word hold the same number, initially 0, so that a torn read or write is detected; the words
/// between are padding.
template <class M, template <class, class> class Index>
class Database {
 public:
  static constexpr bool kScans = requires(const Index<M, Key1>& index, Key1 key) {
    index.scan(key, key, Order::ascending, [](auto, auto) { return true; });
  };

  /// @param record_bytes rounded up to whole words
  Database(Storage<M>& storage, std::uint64_t records, std::size_t record_bytes)
      : records_(records),
        table_(storage, "USERTABLE",
               (record_bytes + sizeof(Word) - 1) / sizeof(Word) * sizeof(Word), records),
        empty_(table_.row_bytes() / sizeof(Word)) {
    table_.skip_snapshots();  // no read-only type
  }

  void load() {
    for (std::uint64_t slot = 0; slot < records_; ++slot) {
      table_.load(populated_key(slot), empty_record());
    }
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    RowsAhead<M> rows;
    rows.fetch([&](auto ahead) {
      for (std::uint32_t i = 0; i < input.count; ++i) {
        ahead(table_, input.operations[i].key, bytes());
      }
    });
    for (std::uint32_t i = 0; i < input.count; ++i) {
      const Operation& operation = input.operations[i];
      bool done = false;
      switch (operation.kind) {
        case Kind::read:
          done = static_cast<bool>(txn.read_row(kRead, table_, operation.key, bytes(), rows[i]));
          break;
        case Kind::rmw: done = read_modify_write(txn, operation, rows[i]); break;
        case Kind::scan: done = scan(txn, operation); break;
        case Kind::insert:
          done = txn.insert_row(kInsert, table_, operation.key, empty_record(), bytes());
          break;
        case Kind::remove: done = remove(txn, operation.key, rows[i]); break;
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
    table_.for_each_row([&](const Key1& key, const std::byte* record) {
      const Word number = word_of_record(record, 0);
      torn += number != word_of_record(record, empty_.size() - 1);
      if (!is_populated(key)) return;
      ++populated;
      sum += number;
    });
    if (torn != 0) violations.push_back("USERTABLE: " + std::to_string(torn) + " torn records");
    if (populated != records_) {
      violations.push_back("USERTABLE: " + std::to_string(populated) + " of the " +
                           std::to_string(records_) + " populated records exist");
    }
    if (sum != 0) {
      violations.push_back("USERTABLE: the records add up to " + std::to_string(sum) +
                           ", not to 0: updates were lost or doubled");
    }
    return violations;
  }

 private:
  using Word = std::int64_t;

  [[nodiscard]] std::uint32_t bytes() const {
    return static_cast<std::uint32_t>(table_.row_bytes());
  }
  [[nodiscard]] const std::byte* empty_record() const {
    return reinterpret_cast<const std::byte*>(empty_.data());
  }
  static Word word_of_record(const std::byte* record, std::size_t at) {
    Word word = 0;
    std::memcpy(&word, record + at * sizeof(Word), sizeof(Word));
    return word;
  }

  template <class Txn>
  bool read_modify_write(Txn& txn, const Operation& operation, Record<M>* found) {
    const auto row = txn.read_row(kRmwRead, table_, operation.key, bytes(), found);
    return row && txn.update_row(kRmwUpdate, table_, row.entry(), bytes(), [&](std::byte* record) {
      const Word number = word_of_record(record, 0) + operation.change;
      std::memcpy(record, &number, sizeof(Word));
      std::memcpy(record + bytes() - sizeof(Word), &number, sizeof(Word));
    });
  }

  template <class Txn>
  bool scan(Txn& txn, const Operation& operation) {
    if constexpr (kScans) {
      return txn.scan_rows(kScan, table_, operation.key, Key1::max(), Order::ascending,
                           operation.scan_length, bytes(),
                           [](const Key1&, const auto&) { return true; });
    } else {
      return false;  // the options admit no scans here
    }
  }

  template <class Txn>
  bool remove(Txn& txn, const Key1& key, Record<M>* found) {
    const auto row = txn.read_row(kRemoveRead, table_, key, bytes(), found);
    // A run that ended before the insert committed leaves nothing to delete.
    if (!row) return txn.stop() == Outcome::rollback;
    return txn.remove_row(kRemove, table_, row.entry());
  }

  std::uint64_t records_;
  KeyedTable<M, Key1, Index> table_;
  std::vector<Word> empty_;  ///< the initial content of a record
};

}  // namespace heddle::ycsb
