#pragma once

#include "model/hints.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/states.h"

namespace heddle::tpcc {

/// Warehouse and district, as in the SMF paper (§4.1.1). Delivery, which accesses neither row,
/// names its warehouse by the start of its first scan, and the analytical query its warehouses.
inline void add_hints(const Input& input, Hints& hints) {
  switch (input.type) {
    case Type::new_order:
      hints.add(kNewOrderReadWarehouse, warehouse_key(input.new_order.warehouse).words[0]);
      hints.add(kNewOrderUpdateDistrict,
                district_key(input.new_order.warehouse, input.new_order.district).words[0]);
      return;
    case Type::payment:
      hints.add(kPaymentUpdateWarehouse, warehouse_key(input.payment.warehouse).words[0]);
      hints.add(kPaymentUpdateDistrict,
                district_key(input.payment.warehouse, input.payment.district).words[0]);
      return;
    case Type::delivery:
      hints.add(kDeliveryScanNewOrder, order_key(input.delivery.warehouse, 1, 0).words[0]);
      return;
    case Type::analytical:
      for (std::uint32_t i = 0; i < input.analytical.warehouses; ++i) {
        hints.add(kAnalyticalReadWarehouse,
                  warehouse_key(input.analytical.first_warehouse + i).words[0]);
      }
      return;
    case Type::order_status:
    case Type::stock_level: return;
  }
}

}  // namespace heddle::tpcc
