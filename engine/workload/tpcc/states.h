#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "model/signature.h"
#include "protocol/outcome.h"

/// The 26 states of TPC-C's read-write transactions, numbered as in Polyjuice (OSDI 2021), so that
/// its published policies can be imported. The look-up of a customer by last name has no state.
namespace heddle::tpcc {

enum State : AccessId {
  kNewOrderReadWarehouse,
  kNewOrderReadDistrict,
  kNewOrderUpdateDistrict,
  kNewOrderReadItem,
  kNewOrderReadStock,
  kNewOrderUpdateStock,
  kNewOrderInsertNewOrder,
  kNewOrderInsertOrder,
  kNewOrderInsertCustomerOrder,
  kNewOrderInsertOrderLine,
  kNewOrderReadCustomer,

  kPaymentReadWarehouse,
  kPaymentUpdateWarehouse,
  kPaymentReadDistrict,
  kPaymentUpdateDistrict,
  kPaymentReadCustomer,
  kPaymentUpdateCustomer,
  kPaymentInsertHistory,

  kDeliveryScanNewOrder,
  kDeliveryRemoveNewOrder,
  kDeliveryReadOrder,
  kDeliveryUpdateOrder,
  kDeliveryScanOrderLine,
  kDeliveryUpdateOrderLine,
  kDeliveryReadCustomer,
  kDeliveryUpdateCustomer,

  kStateCount
};
static_assert(kStateCount == 26 && kPaymentReadWarehouse == 11 && kDeliveryScanNewOrder == 18);

/// Transaction types, in the order of their states; the read-only ones follow.
enum class Type : std::uint8_t { new_order, payment, delivery, order_status, stock_level };
inline constexpr std::size_t kPolicyTypes = 3;
inline constexpr std::array<std::string_view, 5> kTypeNames{"new_order", "payment", "delivery",
                                                            "order_status", "stock_level"};

struct StateSpec {
  State state;
  Type type;
  std::string_view name;
  std::string_view table;
  AccessKind kind;
  bool loop;
};

inline constexpr std::array<StateSpec, kStateCount> kStates = [] {
  using enum AccessKind;
  constexpr Type n = Type::new_order;
  constexpr Type p = Type::payment;
  constexpr Type d = Type::delivery;
  return std::array<StateSpec, kStateCount>{{
      {kNewOrderReadWarehouse, n, "read_warehouse", "WAREHOUSE", read, false},
      {kNewOrderReadDistrict, n, "read_district", "DISTRICT", read, false},
      {kNewOrderUpdateDistrict, n, "update_district", "DISTRICT", update, false},
      {kNewOrderReadItem, n, "read_item", "ITEM", read, true},
      {kNewOrderReadStock, n, "read_stock", "STOCK", read, true},
      {kNewOrderUpdateStock, n, "update_stock", "STOCK", update, true},
      {kNewOrderInsertNewOrder, n, "insert_new_order", "NEW_ORDER", insert, false},
      {kNewOrderInsertOrder, n, "insert_oorder", "OORDER", insert, false},
      {kNewOrderInsertCustomerOrder, n, "insert_oorder_c_id_idx", "OORDER_C_ID_IDX", insert, false},
      {kNewOrderInsertOrderLine, n, "insert_order_line", "ORDER_LINE", insert, true},
      {kNewOrderReadCustomer, n, "read_customer", "CUSTOMER", read, false},
      {kPaymentReadWarehouse, p, "read_warehouse", "WAREHOUSE", read, false},
      {kPaymentUpdateWarehouse, p, "update_warehouse", "WAREHOUSE", update, false},
      {kPaymentReadDistrict, p, "read_district", "DISTRICT", read, false},
      {kPaymentUpdateDistrict, p, "update_district", "DISTRICT", update, false},
      {kPaymentReadCustomer, p, "read_customer", "CUSTOMER", read, false},
      {kPaymentUpdateCustomer, p, "update_customer", "CUSTOMER", update, false},
      {kPaymentInsertHistory, p, "insert_history", "HISTORY", insert, false},
      {kDeliveryScanNewOrder, d, "scan_new_order", "NEW_ORDER", scan, true},
      {kDeliveryRemoveNewOrder, d, "remove_new_order", "NEW_ORDER", remove, true},
      {kDeliveryReadOrder, d, "read_oorder", "OORDER", read, true},
      {kDeliveryUpdateOrder, d, "update_oorder", "OORDER", update, true},
      {kDeliveryScanOrderLine, d, "scan_order_line", "ORDER_LINE", scan, true},
      {kDeliveryUpdateOrderLine, d, "update_order_line", "ORDER_LINE", update, true},
      {kDeliveryReadCustomer, d, "read_customer", "CUSTOMER", read, true},
      {kDeliveryUpdateCustomer, d, "update_customer", "CUSTOMER", update, true},
  }};
}();

static_assert(
    [] {
      for (std::size_t i = 0; i < kStates.size(); ++i) {
        if (kStates[i].state != i) return false;
      }
      return true;
    }(),
    "the table above is in the order of the states");

/// The signature for policies for TPC-C. It does not depend on the mix.
inline Signature signature() {
  Signature result{.workload = "tpcc", .types = {}};
  for (std::size_t type = 0; type < kPolicyTypes; ++type) {
    result.types.push_back({.name = std::string(kTypeNames[type]), .accesses = {}});
  }
  for (const StateSpec& spec : kStates) {
    result.types[static_cast<std::size_t>(spec.type)].accesses.push_back(
        {std::string(spec.name), std::string(spec.table), spec.kind, spec.loop});
  }
  return result;
}

}  // namespace heddle::tpcc
