#pragma once

#include <cassert>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "storage/concepts.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle {

/// The words of a record's key, which is stored after its row.
template <class M>
[[nodiscard]] const std::uint64_t* key_words_of(const TableBase<M>& table,
                                                const Record<M>* record) {
  return reinterpret_cast<const std::uint64_t*>(record->payload() + table.row_bytes());
}

/// A table without the types of its rows' columns: records of one size behind one index.
///
/// @tparam K     Key<N>, compared word by word
/// @tparam IndexOf HashIndex (points) or OrderedIndex (points and scans)
template <class M, class K, template <class, class> class IndexOf>
  requires Index<IndexOf<M, K>, M, K>
class KeyedTable : public TableBase<M> {
 public:
  using KeyType = K;
  using RecordType = Record<M>;
  using IndexType = IndexOf<M, K>;
  using Keyed = KeyedTable;

  /// @param row_bytes of each row; a multiple of 8
  KeyedTable(Storage<M>& storage, std::string name, std::size_t row_bytes,
             std::size_t expected_rows)
      : TableBase<M>({IndexType::kKind, K::kWords}, row_bytes),
        storage_(storage),
        index_(storage, expected_rows),
        name_(std::move(name)) {
    if constexpr (IndexType::kKind == IndexKind::ordered) {
      static_assert(ScannableIndex<IndexType, M, K>);
    }
    assert(row_bytes % 8 == 0);
    storage.add_table(this);
  }

  [[nodiscard]] IndexType& index() { return index_; }
  [[nodiscard]] const IndexType& index() const { return index_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::size_t record_bytes() const { return record_bytes_of(this->row_bytes()); }

  /// Declares that no snapshot transaction reads this table: overwritten versions are not kept and
  /// deleted records leave the index at once.
  void skip_snapshots() { this->in_snapshots_ = false; }

  [[nodiscard]] const K& key_of(const Record<M>* record) const {
    return key_behind(record, this->row_bytes());
  }
  [[nodiscard]] std::uint64_t order_of(const Record<M>* record) const override {
    return key_of(record).words[0];
  }
  [[nodiscard]] std::uint64_t key_word(const Record<M>* record) const override {
    return word_of(key_of(record));
  }

  /// A record that no other worker can see yet, its payload unset.
  [[nodiscard]] Record<M>* make_record(int worker, const K& key, std::uint64_t word) {
    return make_record(worker, key, word, this->row_bytes());
  }

  void unlink(int worker, Record<M>* record) override {
    const bool removed = index_.remove(worker, key_of(record), record);
    assert(removed && "a dead record is unlinked once, by the worker that marked it");
    (void)removed;
    storage_.retire(worker, record, record_bytes());
  }

  /// Population, before any transaction: adds a committed row. Precondition: the key is new.
  void load(const K& key, const std::byte* row) {
    constexpr int kLoader = 0;
    Record<M>* record = make_record(kLoader, key, tid::kLoaded);
    copy_to_record<M>(record->payload(), row, this->row_bytes());
    const auto result = index_.insert(kLoader, key, record);
    assert(result.inserted && "population adds each key once");
    (void)result;
  }

  /// Quiescent: f(key, row) for every committed row; in key order where the index is ordered.
  template <class F>
  void for_each_row(F f) const {
    index_.for_each([&f](const K& key, const Record<M>* record) {
      if (!tid::absent(record->word.peek())) f(key, record->payload());
    });
  }

  [[nodiscard]] std::size_t count_quiescent() const {
    std::size_t rows = 0;
    for_each_row([&rows](const K&, const std::byte*) { ++rows; });
    return rows;
  }

 protected:
  /// The key is behind the row, whose size a caller may know at compile time.
  [[nodiscard]] static const K& key_behind(const Record<M>* record, std::size_t row_bytes) {
    return *reinterpret_cast<const K*>(record->payload() + row_bytes);
  }
  [[nodiscard]] static constexpr std::size_t record_bytes_of(std::size_t row_bytes) {
    return sizeof(Record<M>) + row_bytes + sizeof(K);
  }
  [[nodiscard]] Record<M>* make_record(int worker, const K& key, std::uint64_t word,
                                       std::size_t row_bytes) {
    auto* record = new (storage_.allocate(worker, record_bytes_of(row_bytes))) Record<M>{};
    // relaxed: the index's insertion publishes the record.
    record->word.store(word, std::memory_order_relaxed);
    new (record->payload() + row_bytes) K(key);
    return record;
  }

 private:
  Storage<M>& storage_;
  IndexType index_;
  std::string name_;
};

/// A table whose rows are all of one plain struct.
///
/// @tparam V its size is a multiple of 8 bytes
template <class M, class K, class V, template <class, class> class IndexOf>
class Table final : public KeyedTable<M, K, IndexOf> {
  static_assert(std::is_trivially_copyable_v<V> && sizeof(V) % 8 == 0 && alignof(V) <= 16);
  using Base = KeyedTable<M, K, IndexOf>;

 public:
  using ValueType = V;

  Table(Storage<M>& storage, std::string name, std::size_t expected_rows)
      : Base(storage, std::move(name), sizeof(V), expected_rows) {}

  // As in the base class, for a size known at compile time.
  [[nodiscard]] static constexpr std::size_t record_bytes() {
    return Base::record_bytes_of(sizeof(V));
  }
  [[nodiscard]] static const K& key_of(const Record<M>* record) {
    return Base::key_behind(record, sizeof(V));
  }
  [[nodiscard]] Record<M>* make_record(int worker, const K& key, std::uint64_t word) {
    return Base::make_record(worker, key, word, sizeof(V));
  }

  void load(const K& key, const V& value) {
    Base::load(key, reinterpret_cast<const std::byte*>(&value));
  }

  /// Quiescent: f(key, value) for every committed row; in key order where the index is ordered.
  template <class F>
  void for_each(F f) const {
    Base::for_each_row(
        [&f](const K& key, const std::byte* row) { f(key, *reinterpret_cast<const V*>(row)); });
  }

  /// Quiescent: the committed row under `key`, or nullptr.
  /// @param found the key's record, if it is known
  [[nodiscard]] const V* find_quiescent(const K& key, const Record<M>* found = nullptr) const {
    NodeVersion<M> seen;
    const Record<M>* record = found != nullptr ? found : this->index().find(key, seen);
    if (record == nullptr || tid::absent(record->word.peek())) return nullptr;
    return reinterpret_cast<const V*>(record->payload());
  }
};

}  // namespace heddle
