#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "protocol/external_row.h"
#include "storage/node_version.h"
#include "storage/record.h"
#include "storage/storage.h"
#include "storage/table_kinds.h"
#include "storage/tid.h"
#include "store/connection.h"
#include "store/filler.h"
#include "store/store.h"

/// Copies the rows of a database between its tables in memory, where they are loaded and checked,
/// and an external store, where the transactions run.
namespace heddle::external {

/// The tables of a database as a store declares them.
template <class M>
[[nodiscard]] std::vector<store::TableSpec> tables_of(const Storage<M>& storage) {
  std::vector<store::TableSpec> specs;
  for (const TableBase<M>* table : storage.tables()) {
    specs.push_back(
        {table->name(), table->kind().key_words * sizeof(std::uint64_t), value_bytes(*table)});
  }
  return specs;
}

/// Copies all rows to an empty store. Quiescent only.
/// @param interrupted asked now and then; empty: it is not
/// @throws std::runtime_error naming what is wrong with the store, or that it was interrupted
template <class M>
void fill_store(Storage<M>& storage, store::Store& store,
                const std::function<bool()>& interrupted) {
  constexpr std::uint64_t kRowsBetweenQuestions = 1000;
  std::uint64_t rows_copied = 0;
  storage.drain();  // leaves one version of each row, and no row that was deleted
  const auto filler = store.fill();
  std::vector<std::byte> value;
  for (TableBase<M>* table : storage.tables()) {
    value.resize(value_bytes(*table));
    const auto copy = [&](std::span<const std::uint64_t> key, const std::byte* row) {
      if (++rows_copied % kRowsBetweenQuestions == 0 && interrupted && interrupted()) {
        throw std::runtime_error("store: interrupted while the rows were copied there");
      }
      std::copy_n(row, table->row_bytes(), value.begin());
      set_version_behind(value.data(), table->row_bytes(), tid::kLoaded);
      filler->put(table->number(), KeyBytes(key).bytes(), value);
    };
    TableKinds<M>::visit(*table, [&]<class T>(T& keyed) {
      if constexpr (T::IndexType::kKind == IndexKind::ordered) {
        keyed.for_each_row([&](const auto& key, const std::byte* row) { copy(key.words, row); });
      } else {
        // A store keeps its rows in order, and is filled fastest in order.
        std::vector<std::pair<typename T::KeyType, const std::byte*>> rows;
        keyed.for_each_row(
            [&rows](const auto& key, const std::byte* row) { rows.emplace_back(key, row); });
        std::sort(rows.begin(), rows.end(),
                  [](const auto& one, const auto& other) { return one.first < other.first; });
        for (const auto& [key, row] : rows) copy(key.words, row);
      }
    });
  }
  filler->commit();
}

/// Makes a table in memory have the rows that a store has.
/// @param word the TID word of every row from here on
template <class M, class T>
void take_rows(Storage<M>& storage, T& table, store::Connection& connection, std::uint64_t word) {
  constexpr int kLoader = 0;
  constexpr std::size_t kWords = T::KeyType::kWords;
  const auto take = [&](store::Bytes key_bytes, store::Bytes value) {
    typename T::KeyType key;
    read_key(key_bytes, key.words.data());
    NodeVersion<M> node;
    Record<M>* record = table.index().find(key, node);
    const bool known = record != nullptr;
    if (!known) record = table.make_record(kLoader, key, word);
    copy_to_record<M>(record->payload(), value.data(), table.row_bytes());
    // relaxed: no transaction is running.
    record->word.store(word, std::memory_order_relaxed);
    if (!known) (void)table.index().insert(kLoader, key, record);
    return true;
  };
  constexpr std::size_t kRowsAtOnce = 1000;
  store::require(connection,
                 connection.scan(table.number(), KeyBytes(kWords, false).bytes(),
                                 KeyBytes(kWords, true).bytes(), store::Direction::ascending,
                                 kRowsAtOnce, store::RowLock::shared, take));
  std::vector<Record<M>*> deleted;
  table.index().for_each([&](const auto&, Record<M>* record) {
    if (record->word.peek() != word) deleted.push_back(record);
  });
  for (Record<M>* record : deleted) {
    storage.unlink_if_still(kLoader, &table, record, record->word.peek());
  }
}

/// Makes the tables in memory have the rows that a store has. Quiescent only.
/// @throws std::runtime_error naming what is wrong with the store
template <class M>
void take_from_store(Storage<M>& storage, store::Store& store) {
  const auto connection = store.connect();
  store::require(*connection, connection->begin(store::Access::read_only));
  // A version of a new epoch is greater than any that the tables hold.
  (void)storage.epochs().advance(M::now());
  const std::uint64_t version = tid::first_of_epoch(storage.epochs().current());
  for (TableBase<M>* table : storage.tables()) {
    TableKinds<M>::visit(*table, [&](auto& keyed) {
      take_rows(storage, keyed, *connection, tid::committed(version, 1, false));
    });
  }
  store::require(*connection, connection->commit());
  storage.drain();  // snapshots taken from here on include these versions
}

}  // namespace heddle::external
