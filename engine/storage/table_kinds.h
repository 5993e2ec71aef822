#pragma once

#include <cassert>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/table.h"

namespace heddle {

template <class M, class... Tables>
struct TableKindList {
  /// Calls f(table) with the table's actual type, one of `Tables`; its kind must be among them.
  template <class F>
  static void visit(TableBase<M>& table, F f) {
    const bool known = ((is<Tables>(table) && (f(static_cast<Tables&>(table)), true)) || ...);
    assert(known && "a workload uses a kind of table that is missing in TableKinds");
    (void)known;
  }

 private:
  template <class T>
  static bool is(const TableBase<M>& table) {
    return table.kind() == TableKind{T::IndexType::kKind, T::KeyType::kWords};
  }
};

/// The kinds of tables that workloads use: a new kind is one line here. Code compiled once per
/// kind, not once per table, is instantiated for these (protocol/any_transaction.h).
template <class M>
using TableKinds = TableKindList<M, KeyedTable<M, Key1, HashIndex>, KeyedTable<M, Key3, HashIndex>,
                                 KeyedTable<M, Key1, OrderedIndex>>;

}  // namespace heddle
