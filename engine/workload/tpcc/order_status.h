#pragma once

#include <cstdint>

#include "protocol/outcome.h"
#include "storage/node_version.h"
#include "workload/tpcc/customer_lookup.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// The output of OrderStatus for its terminal (clause 2.6.3.3), as far as it is computed.
struct OrderStatusOutput {
  std::uint32_t customer = 0;
  std::int64_t balance_cents = 0;
  std::uint32_t order = 0;
  std::uint8_t carrier = kNoCarrier;
  std::uint32_t lines = 0;
};

/// The OrderStatus query (clause 2.6.2): a customer's latest order and its lines.
template <class Txn, class M>
Outcome order_status(Txn& txn, Tables<M>& tables, const OrderStatusInput& input,
                     OrderStatusOutput& output) {
  const CustomerChoice& choice = input.customer;
  output.customer = look_up_customer(txn, tables, choice);
  if (output.customer == 0) return txn.stop();
  const auto customer = txn.template read<CustomerProfile>(
      kNoState, tables.customer, customer_key(choice.warehouse, choice.district, output.customer));
  if (!customer) return txn.stop();
  output.balance_cents = customer->head.balance_cents;

  const auto note_order = [&](const Key1&, const auto& row) {
    output.order = static_cast<std::uint32_t>(row->order);
    return true;
  };
  if (!txn.template scan<CustomerOrder>(
          kNoState, tables.customer_order,
          customer_order_key(choice.warehouse, choice.district, output.customer, 0),
          customer_order_key(choice.warehouse, choice.district, output.customer, kLastOrder),
          Order::descending, 1, note_order)) {
    return txn.stop();
  }
  const auto order =
      txn.read(kNoState, tables.order, order_key(choice.warehouse, choice.district, output.order));
  if (!order) return txn.stop();
  output.carrier = order->carrier;

  const auto count_line = [&](const Key1&, const auto&) {
    ++output.lines;
    return true;
  };
  if (!txn.template scan<OrderLine>(
          kNoState, tables.order_line,
          order_line_key(choice.warehouse, choice.district, output.order, 1),
          order_line_key(choice.warehouse, choice.district, output.order, kMostOrderLines),
          Order::ascending, 0, count_line)) {
    return txn.stop();
  }
  return Outcome::commit;
}

}  // namespace heddle::tpcc
