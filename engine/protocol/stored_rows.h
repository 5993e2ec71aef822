#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <span>
#include <vector>

#include "model/access_id.h"
#include "protocol/access_set.h"
#include "protocol/entry_lookup.h"
#include "storage/key.h"
#include "storage/storage.h"

namespace heddle {

/// A row as a transaction of an external store knows it.
template <class M>
struct StoredRow {
  TableBase<M>* table;
  std::span<const std::uint64_t> key;
  std::byte* value;  ///< with its version; nothing is known of it if the row does not exist
  AccessId writer;   ///< the last access that wrote it
  bool exists;
  bool exists_in_store;  ///< apart from writes that are not sent
  bool unsent;           ///< written since the last flush
};

/// The rows that a transaction of an external store knows: those it has read before the members of
/// its group began, and those that members have read or written. Members that follow read them
/// here, as the store would show them, and each row is sent once, however many members write it.
template <class M>
class StoredRows {
 public:
  using Words = std::span<const std::uint64_t>;

  void clear() {
    rows_.clear();
    lookup_.clear();
    values_.reset();
  }

  /// nullptr: nothing is known of the row.
  [[nodiscard]] StoredRow<M>* find(const TableBase<M>& table, Words key) {
    const std::uint32_t entry = lookup_.find(hash(table, key), [&](std::uint32_t at) {
      return rows_[at].table == &table &&
             std::equal(key.begin(), key.end(), rows_[at].key.begin(), rows_[at].key.end());
    });
    return entry == EntryLookup::kNone ? nullptr : &rows_[entry];
  }

  /// Adds a row that is not known, and memory for its value. It stays where it is until clear().
  /// @param value_bytes the size of the value
  StoredRow<M>& add(TableBase<M>& table, Words key, std::size_t value_bytes, bool exists) {
    auto* words = reinterpret_cast<std::uint64_t*>(values_.allocate(key.size_bytes()));
    std::copy(key.begin(), key.end(), words);
    rows_.push_back({.table = &table,
                     .key = {words, key.size()},
                     .value = values_.allocate(value_bytes),
                     .writer = kNoState,
                     .exists = exists,
                     .exists_in_store = exists,
                     .unsent = false});
    lookup_.add(hash(table, key), static_cast<std::uint32_t>(rows_.size() - 1));
    return rows_.back();
  }

  /// Hands out the rows that have been written since the last call, until send(row) is false. In
  /// the order of their keys, so that no two transactions of the store wait for each other's.
  template <class F>
  bool flush(F send) {
    std::vector<StoredRow<M>*> unsent;
    for (StoredRow<M>& row : rows_) {
      if (row.unsent) unsent.push_back(&row);
    }
    std::sort(unsent.begin(), unsent.end(), [](const auto* one, const auto* other) {
      if (one->table != other->table) return one->table->number() < other->table->number();
      return std::lexicographical_compare(one->key.begin(), one->key.end(), other->key.begin(),
                                          other->key.end());
    });
    return std::all_of(unsent.begin(), unsent.end(), [&](StoredRow<M>* row) {
      if (!send(*row)) return false;
      row->exists_in_store = row->exists;
      row->unsent = false;
      return true;
    });
  }

 private:
  static std::uint64_t hash(const TableBase<M>& table, Words key) {
    constexpr std::uint64_t kSpread = 0x9e37'79b9'7f4a'7c15;
    return hash_of(key) ^ table.number() * kSpread;
  }

  std::deque<StoredRow<M>> rows_;
  EntryLookup lookup_;
  ValueArena values_;
};

}  // namespace heddle
