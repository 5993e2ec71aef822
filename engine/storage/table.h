#pragma once

#include <cassert>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <utility>

#include "storage/key.h"
#include "storage/node_version.h"
#include "storage/record.h"
#include "storage/storage.h"

namespace heddle {

/// A table: records of one value type behind one index.
///
/// @tparam K     Key<N>, compared word by word
/// @tparam V     a plain struct; a multiple of 8 bytes
/// @tparam Index HashIndex (points) or OrderedIndex (points and scans)
template <class M, class K, class V, template <class, class> class Index>
class Table final : public TableBase<M> {
  static_assert(std::is_trivially_copyable_v<V> && sizeof(V) % 8 == 0 && alignof(V) <= 16);

 public:
  using KeyType = K;
  using ValueType = V;
  using IndexType = Index<M, K>;

  Table(Storage<M>& storage, std::string name, std::size_t expected_rows)
      : storage_(storage), index_(storage, expected_rows), name_(std::move(name)) {
    storage.add_table(this);
  }

  [[nodiscard]] IndexType& index() { return index_; }
  [[nodiscard]] const IndexType& index() const { return index_; }
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::size_t payload_bytes() const override { return sizeof(V); }
  [[nodiscard]] std::size_t record_bytes() const override { return kRecordBytes; }

  /// Declares that no snapshot transaction reads this table: overwritten versions are not kept and
  /// deleted records leave the index at once.
  void skip_snapshots() { this->in_snapshots_ = false; }

  [[nodiscard]] static const K& key_of(const Record<M>* record) {
    return *reinterpret_cast<const K*>(record->payload() + sizeof(V));
  }
  [[nodiscard]] std::uint64_t order_of(const Record<M>* record) const override {
    return key_of(record).words[0];
  }
  [[nodiscard]] std::uint64_t key_word(const Record<M>* record) const override {
    return word_of(key_of(record));
  }

  /// A record nobody sees yet, its payload unset.
  [[nodiscard]] Record<M>* make_record(int worker, const K& key, std::uint64_t word) {
    auto* record = new (storage_.allocate(worker, kRecordBytes)) Record<M>{};
    // relaxed: the index's insertion publishes the record.
    record->word.store(word, std::memory_order_relaxed);
    new (record->payload() + sizeof(V)) K(key);
    return record;
  }

  void unlink(int worker, Record<M>* record) override {
    const bool removed = index_.remove(worker, key_of(record), record);
    assert(removed && "a dead record is unlinked once, by whoever marked it");
    (void)removed;
    storage_.retire(worker, record, kRecordBytes);
  }

  /// Population, before any transaction: adds a committed row. Precondition: the key is new.
  void load(const K& key, const V& value) {
    constexpr int kLoader = 0;
    Record<M>* record = make_record(kLoader, key, tid::kLoaded);
    copy_to_record<M>(record->payload(), &value, sizeof(V));
    const auto result = index_.insert(kLoader, key, record);
    assert(result.inserted && "population adds each key once");
    (void)result;
  }

  /// Quiescent: f(key, value) for every committed row; in key order where the index has one.
  template <class F>
  void for_each(F f) const {
    index_.for_each([&f](const K& key, const Record<M>* record) {
      if (!tid::absent(record->word.peek())) f(key, value_of(record));
    });
  }

  /// Quiescent: the committed row under `key`, or nullptr.
  [[nodiscard]] const V* find_quiescent(const K& key) const {
    NodeVersion<M> seen;
    const Record<M>* record = index_.find(key, seen);
    if (record == nullptr || tid::absent(record->word.peek())) return nullptr;
    return &value_of(record);
  }

  [[nodiscard]] std::size_t count_quiescent() const {
    std::size_t rows = 0;
    for_each([&rows](const K&, const V&) { ++rows; });
    return rows;
  }

 private:
  static constexpr std::size_t kRecordBytes = sizeof(Record<M>) + sizeof(V) + sizeof(K);

  static const V& value_of(const Record<M>* record) {
    return *reinterpret_cast<const V*>(record->payload());
  }

  Storage<M>& storage_;
  IndexType index_;
  std::string name_;
};

}  // namespace heddle
