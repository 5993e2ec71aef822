#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

#include "machine/shared.h"
#include "storage/node_version.h"
#include "storage/storage.h"

namespace heddle {

/// Maps the keys `K` of a table to its records. HashIndex documents each function.
template <class I, class M, class K>
concept Index =
    requires(I& index, const I& constant, Storage<M>& storage, std::size_t expected_rows,
             int worker, const K& key, Record<M>* record, const Record<M>* mapped,
             NodeVersion<M>& seen, void (*visit)(const K&, const Record<M>*)) {
      { I::kKind } -> std::convertible_to<IndexKind>;
      I(storage, expected_rows);
      { constant.find(key, seen) } -> std::same_as<Record<M>*>;
      { index.insert(worker, key, record) } -> std::same_as<InsertResult<M>>;
      { index.remove(worker, key, mapped) } -> std::same_as<bool>;
      constant.for_each(visit);
    };

/// An index in key order, which supports scans. OrderedIndex documents each function.
template <class I, class M, class K>
concept ScannableIndex =
    Index<I, M, K> &&
    requires(I& index, const I& constant, int worker, const K& key, Record<M>* record, Order order,
             bool (*on_leaf)(const NodeVersion<M>&, std::span<const typename I::Entry>),
             void (*on_split)(const Shared<M, std::uint64_t>*, const Shared<M, std::uint64_t>*)) {
      requires I::kKind == IndexKind::ordered;
      { index.insert(worker, key, record, on_split) } -> std::same_as<InsertResult<M>>;
      constant.scan(key, key, order, on_leaf);
      { constant.last_removal() } -> std::same_as<std::uint64_t>;
    };

}  // namespace heddle
