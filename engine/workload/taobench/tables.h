#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/numbered_row.h"
#include "workload/pair_key.h"
#include "workload/taobench/graph.h"

namespace heddle::taobench {

/// TAOBench's values have 75 bytes in the experiments of the SMF paper.
using Value = NumberedRow<80>;

/// Objects, and the edges between them, grouped by object.
template <class M>
struct Tables {
  Tables(Storage<M>& storage, std::uint64_t size, bool snapshots)
      : objects(storage, "OBJECTS", static_cast<std::size_t>(size)),
        edges(storage, "EDGES", static_cast<std::size_t>(size * Graph::kDegree)) {
    if (snapshots) return;
    objects.skip_snapshots();
    edges.skip_snapshots();
  }

  void load(const Graph& graph) {
    for (std::uint64_t object = 0; object < graph.objects(); ++object) {
      objects.load(make_key(object), Value{});
      for (std::uint64_t edge = 0; edge < Graph::kDegree; ++edge) {
        edges.load(pair_key(object, graph.to(object, edge)), Value{});
      }
    }
  }

  Table<M, Key1, Value, HashIndex> objects;
  Table<M, Key1, Value, OrderedIndex> edges;
};

}  // namespace heddle::taobench
