#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// The output of StockLevel for its terminal (clause 2.8.3.3).
struct StockLevelOutput {
  std::uint32_t low_stock = 0;
};

/// A set of item numbers, for the items of a few orders.
class ItemSet {
 public:
  /// Adds `item`; whether it was not in the set yet. Precondition: the set is not full.
  bool add(std::uint32_t item) {
    std::size_t at = (item * kSpread) >> (32 - kSlotBits);
    while (slots_[at] != 0) {
      if (slots_[at] == item) return false;
      at = (at + 1) % slots_.size();
    }
    slots_[at] = item;
    return true;
  }

 private:
  static constexpr int kSlotBits = 9;
  static constexpr std::uint32_t kSpread = 0x9e3779b9;  // 2^32 / golden ratio
  std::array<std::uint32_t, 1U << kSlotBits> slots_{};  // 0: empty; items start at 1
};

/// The StockLevel query (clause 2.8.2): the number of different items of the district's last 20
/// orders whose stock is low. It reads one snapshot, a stronger guarantee than the specification
/// requires.
template <class Txn, class M>
Outcome stock_level(Txn& txn, Tables<M>& tables, const StockLevelInput& input,
                    StockLevelOutput& output) {
  constexpr std::uint32_t kOrders = 20;
  constexpr std::size_t kMostItems = kOrders * kMostOrderLines;
  const auto district = txn.template read<DistrictHead>(
      kNoState, tables.district, district_key(input.warehouse, input.district));
  if (!district) return txn.stop();

  ItemSet seen;
  std::array<std::uint32_t, kMostItems> items;
  std::size_t item_count = 0;
  const auto collect = [&](const Key1&, const auto& line) {
    if (seen.add(line->item)) items[item_count++] = line->item;
    assert(item_count <= kMostItems);  // the bounds admit no more keys
    return true;
  };
  // The population creates 3000 orders, so there are always 20.
  const std::uint32_t next = district->next_order;
  if (!txn.template scan<OrderLineHead>(
          kNoState, tables.order_line,
          order_line_key(input.warehouse, input.district, next - kOrders, 1),
          order_line_key(input.warehouse, input.district, next - 1, kMostOrderLines),
          Order::ascending, 0, collect)) {
    return txn.stop();
  }
  RowsAheadInLoop<M> rows;
  for (std::size_t i = 0; i < item_count; ++i) {
    auto* const found = rows.turn(i, item_count, [&](std::size_t at, auto ahead) {
      ahead(tables.stock, stock_key(input.warehouse, items[at]), sizeof(Stock));
    });
    const auto stock =
        txn.read(kNoState, tables.stock, stock_key(input.warehouse, items[i]), found);
    if (!stock) return txn.stop();
    output.low_stock += stock->quantity < input.threshold;
  }
  return Outcome::commit;
}

}  // namespace heddle::tpcc
