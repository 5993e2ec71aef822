#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "protocol/row.h"
#include "storage/key.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"

namespace heddle::tpce {

struct KeyRange {
  Key1 first;
  Key1 last;
};

/// Visits the rows of a range, at most `most`, until `visit(key, row)` returns false: then the
/// result is false, as it is if a scan has to stop. It visits between scans, so that `visit` may
/// access other tables.
template <class Prefix, class Txn, class T, class F>
bool for_rows_in(Txn& txn, T& table, KeyRange range, Order order, F visit,
                 std::uint32_t most = std::numeric_limits<std::uint32_t>::max()) {
  constexpr std::uint32_t kBatch = 64;
  std::array<Key1, kBatch> keys;
  std::array<Row<Prefix>, kBatch> rows;
  for (;;) {
    const std::uint32_t wanted = std::min(most, kBatch);
    std::size_t count = 0;
    if (!txn.template scan<Prefix>(kNoState, table, range.first, range.last, order, wanted,
                                   [&](const Key1& key, const auto& row) {
                                     keys[count] = key;
                                     rows[count++] = row;
                                     return true;
                                   })) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      if (!visit(keys[i], rows[i])) return false;
    }
    most -= static_cast<std::uint32_t>(count);
    const bool ascending = order == Order::ascending;
    if (count < wanted || most == 0) return true;
    const Key1& reached = keys[count - 1];
    if (reached == (ascending ? range.last : range.first)) return true;
    if (ascending) {
      range.first = {{reached.words[0] + 1}};
    } else {
      range.last = {{reached.words[0] - 1}};
    }
  }
}

/// The pairs with this first number.
constexpr KeyRange pairs_of(std::uint64_t first) { return {pair_key(first, 0), last_pair(first)}; }

}  // namespace heddle::tpce
