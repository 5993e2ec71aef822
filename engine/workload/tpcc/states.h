#pragma once

#include <array>
#include <cstddef>
#include <string_view>

#include "model/signature.h"
#include "protocol/outcome.h"

/// The 26 states of TPC-C's read-write transactions, numbered as in Polyjuice (OSDI 2021), so that
/// its published policies can be imported. The look-up of a customer by last name has no state.
/// Those of the analytical query, which is optional, follow.
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

  kStateCount,

  kAnalyticalReadWarehouse = kStateCount,
  kAnalyticalReadDistrict,
  kAnalyticalScanOrderLine,

  kStateCountWithAnalytical
};
static_assert(kStateCount == 26 && kPaymentReadWarehouse == 11 && kDeliveryScanNewOrder == 18);

/// Transaction types, those of the specification first.
enum class Type : std::uint8_t {
  new_order,
  payment,
  delivery,
  order_status,
  stock_level,
  analytical
};
inline constexpr std::array<std::string_view, 6> kTypeNames{
    "new_order", "payment", "delivery", "order_status", "stock_level", "analytical"};

/// The types of a database in the order of their numbers: those with states, then those that read
/// snapshots.
class TypeList {
 public:
  constexpr TypeList(bool snapshots, bool analytical) {
    for (const Type type : {Type::new_order, Type::payment, Type::delivery}) add(type);
    if (analytical) add(Type::analytical);
    with_states_ = size_;
    if (!snapshots) return;
    for (const Type type : {Type::order_status, Type::stock_level}) add(type);
  }

  [[nodiscard]] constexpr std::size_t size() const { return size_; }
  [[nodiscard]] constexpr std::size_t with_states() const { return with_states_; }
  [[nodiscard]] constexpr const Type* begin() const { return types_.data(); }
  [[nodiscard]] constexpr const Type* end() const { return types_.data() + size_; }
  /// Of a type that is in the list.
  [[nodiscard]] constexpr std::uint8_t number(Type type) const {
    return numbers_[static_cast<std::size_t>(type)];
  }

 private:
  constexpr void add(Type type) {
    numbers_[static_cast<std::size_t>(type)] = static_cast<std::uint8_t>(size_);
    types_[size_++] = type;
  }

  std::array<Type, kTypeNames.size()> types_{};
  std::array<std::uint8_t, kTypeNames.size()> numbers_{};
  std::size_t size_ = 0;
  std::size_t with_states_ = 0;
};

struct StateSpec {
  State state;
  Type type;
  std::string_view name;
  std::string_view table;
  AccessKind kind;
  bool loop;
};

inline constexpr std::array<StateSpec, kStateCountWithAnalytical> kStates = [] {
  using enum AccessKind;
  constexpr Type n = Type::new_order;
  constexpr Type p = Type::payment;
  constexpr Type d = Type::delivery;
  constexpr Type a = Type::analytical;
  return std::array<StateSpec, kStateCountWithAnalytical>{{
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
      {kAnalyticalReadWarehouse, a, "read_warehouse", "WAREHOUSE", read, true},
      {kAnalyticalReadDistrict, a, "read_district", "DISTRICT", read, true},
      {kAnalyticalScanOrderLine, a, "scan_order_line", "ORDER_LINE", scan, true},
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

/// The signature for policies for TPC-C. It does not depend on the mix otherwise.
inline Signature signature(bool analytical = false) {
  const TypeList types(/*snapshots=*/false, analytical);
  Signature result{.workload = "tpcc", .types = {}};
  for (const Type type : types) {
    result.types.push_back(
        {.name = std::string(kTypeNames[static_cast<std::size_t>(type)]), .accesses = {}});
  }
  for (const StateSpec& spec : kStates) {
    if (spec.type == Type::analytical && !analytical) continue;
    result.types[types.number(spec.type)].accesses.push_back(
        {std::string(spec.name), std::string(spec.table), spec.kind, spec.loop});
  }
  return result;
}

}  // namespace heddle::tpcc
