#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

#include "protocol/row.h"
#include "storage/key.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"

namespace heddle::tpce {

struct KeyRange {
  Key1 first;
  Key1 last;
};

inline constexpr std::uint32_t kAllRows = std::numeric_limits<std::uint32_t>::max();

/// Visits the rows of a range, at most `most`, a batch at a time until `visit(keys, rows)` returns
/// false: then the result is false, as it is if a scan has to stop. It visits between scans, so
/// that `visit` may access other tables.
template <class Prefix, class Txn, class T, class F>
bool for_batches_in(Txn& txn, T& table, KeyRange range, Order order, F visit, std::uint32_t most) {
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
    if (!visit(std::span(keys).first(count), std::span(rows).first(count))) return false;
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

/// Visits the rows of a range, at most `most`, until `visit(key, row)` returns false, as
/// for_batches_in() does.
template <class Prefix, class Txn, class T, class F>
bool for_rows_in(Txn& txn, T& table, KeyRange range, Order order, F visit,
                 std::uint32_t most = kAllRows) {
  return for_batches_in<Prefix>(
      txn, table, range, order,
      [&](auto keys, auto rows) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
          if (!visit(keys[i], rows[i])) return false;
        }
        return true;
      },
      most);
}

/// The same for a `visit(key, row)` that reads other rows: `name(key, row, fetch)` names kNamed of
/// them, which are fetched before it is the row's turn, and whose records `ahead` then has.
template <class Prefix, class Txn, class T, class M, std::size_t kNamed, class Name, class F>
bool for_rows_in(Txn& txn, T& table, KeyRange range, Order order, RowsAheadInLoop<M, kNamed>& ahead,
                 Name name, F visit, std::uint32_t most = kAllRows) {
  return for_batches_in<Prefix>(
      txn, table, range, order,
      [&](auto keys, auto rows) {
        for (std::size_t i = 0; i < keys.size(); ++i) {
          ahead.turn(i, keys.size(),
                     [&](std::size_t j, auto fetch) { name(keys[j], rows[j], fetch); });
          if (!visit(keys[i], rows[i])) return false;
        }
        return true;
      },
      most);
}

/// The pairs with this first number.
constexpr KeyRange pairs_of(std::uint64_t first) { return {pair_key(first, 0), last_pair(first)}; }

}  // namespace heddle::tpce
