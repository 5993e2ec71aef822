#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/node_version.h"
#include "workload/text.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/states.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// The result of the analytical query, with one row for each state that its warehouses are in.
struct AnalyticalOutput {
  struct Group {
    Text<2> state;
    std::uint32_t orders;
    std::uint32_t lines;
  };
  std::array<Group, kMostAnalyticalWarehouses> groups;  // the first `count` are set
  std::size_t count = 0;
};

/// The analytical query of the predictability thesis (2019, §4.7.4): the number of orders that
/// ORDER_LINE has for the warehouses of a range, by W_STATE.
///
/// It runs as a read-write transaction does, not on a snapshot: locking protocols lock every row
/// that it reads. The rows of DISTRICT bound its scans. Their locks are also what MySQL's locks on
/// gaps are there: no order is added to a district that is being counted.
template <class Txn, class M>
class AnalyticalQuery {
 public:
  AnalyticalQuery(Txn& txn, Tables<M>& tables, const AnalyticalInput& input)
      : txn_(txn), tables_(tables), in_(input) {
    assert(in_.warehouses <= kMostAnalyticalWarehouses);
  }

  Outcome run(AnalyticalOutput& output) {
    if (!group_warehouses(output) || !bound_scans() || !count_orders(output)) return txn_.stop();
    return Outcome::commit;
  }

 private:
  bool group_warehouses(AnalyticalOutput& output) {
    for (std::size_t i = 0; i < in_.warehouses; ++i) {
      const auto warehouse =
          txn_.read(kAnalyticalReadWarehouse, tables_.warehouse, warehouse_key(number(i)));
      if (!warehouse) return false;
      const Text<2> state = warehouse->address.state;
      auto* const end = output.groups.begin() + output.count;
      auto* const group =
          std::find_if(output.groups.begin(), end,
                       [&](const AnalyticalOutput::Group& other) { return other.state == state; });
      if (group == end) output.groups[output.count++] = {state, 0, 0};
      group_of_[i] = static_cast<std::uint8_t>(group - output.groups.begin());
    }
    txn_.passed(kAnalyticalReadWarehouse);
    return true;
  }

  bool bound_scans() {
    for (std::size_t i = 0; i < in_.warehouses; ++i) {
      for (std::uint32_t district = 1; district <= kDistrictsPerWarehouse; ++district) {
        const auto head = txn_.template read<DistrictHead>(
            kAnalyticalReadDistrict, tables_.district, district_key(number(i), district));
        if (!head) return false;
        next_order_[i * kDistrictsPerWarehouse + district - 1] = head->next_order;
      }
    }
    txn_.passed(kAnalyticalReadDistrict);
    return true;
  }

  bool count_orders(AnalyticalOutput& output) {
    for (std::size_t i = 0; i < in_.warehouses; ++i) {
      AnalyticalOutput::Group& group = output.groups[group_of_[i]];
      for (std::uint32_t district = 1; district <= kDistrictsPerWarehouse; ++district) {
        const std::uint32_t next = next_order_[i * kDistrictsPerWarehouse + district - 1];
        const std::uint32_t first = next - std::min(in_.orders, next - 1);
        std::uint64_t last_order = 0;
        if (!txn_.template scan<OrderLineHead>(
                kAnalyticalScanOrderLine, tables_.order_line,
                order_line_key(number(i), district, first, 1),
                order_line_key(number(i), district, next - 1, kMostOrderLines), Order::ascending, 0,
                [&](const Key1& key, const auto&) {
                  // The lines of an order are next to each other.
                  const std::uint64_t order = key.words[0] >> kLineBits;
                  group.orders += order != last_order;
                  ++group.lines;
                  last_order = order;
                  return true;
                })) {
          return false;
        }
      }
    }
    txn_.passed(kAnalyticalScanOrderLine);
    return true;
  }

  [[nodiscard]] std::uint32_t number(std::size_t i) const {
    return in_.first_warehouse + static_cast<std::uint32_t>(i);
  }

  Txn& txn_;
  Tables<M>& tables_;
  const AnalyticalInput& in_;
  // By warehouse, and by district; the first ones are set.
  std::array<std::uint8_t, kMostAnalyticalWarehouses> group_of_;
  std::array<std::uint32_t, std::size_t{kMostAnalyticalWarehouses} * kDistrictsPerWarehouse>
      next_order_;
};

}  // namespace heddle::tpcc
