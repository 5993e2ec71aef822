#pragma once

#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/states.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// The output of Delivery (clause 2.7.2.2): districts without a new order are skipped and counted.
struct DeliveryOutput {
  std::uint32_t delivered = 0;
  std::uint32_t skipped = 0;
};

/// The Delivery transaction (clause 2.7.4), not deferred: one transaction for the ten districts.
///
/// It goes table by table, each time over all districts, so that other transactions can follow it
/// from table to table.
template <class Txn, class M>
class DeliveryTransaction {
 public:
  DeliveryTransaction(Txn& txn, Tables<M>& tables, const DeliveryInput& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run(DeliveryOutput& output) {
    if (!take_new_orders() || !assign_carrier() || !deliver_lines() || !charge_customers()) {
      return txn_.stop();
    }
    output.delivered = static_cast<std::uint32_t>(count_);
    output.skipped = kDistrictsPerWarehouse - output.delivered;
    return Outcome::commit;
  }

 private:
  /// One order in delivery.
  struct Parcel {
    std::uint32_t district;
    std::uint32_t order;
    std::uint32_t customer;
    std::int64_t amount_cents;
  };

  /// The oldest new order of each district.
  bool take_new_orders() {
    RowsAhead<M> leaves;
    leaves.fetch([this](auto ahead) {
      for (std::uint32_t district = 1; district <= kDistrictsPerWarehouse; ++district) {
        ahead(tables_.new_order, order_key(in_.warehouse, district, 0), 0);
      }
    });
    for (std::uint32_t district = 1; district <= kDistrictsPerWarehouse; ++district) {
      Row<NewOrder> oldest;
      if (!txn_.template scan<NewOrder>(kDeliveryScanNewOrder, tables_.new_order,
                                        order_key(in_.warehouse, district, 0),
                                        order_key(in_.warehouse, district, kLastOrder),
                                        Order::ascending, 1, [&](const Key1&, const auto& row) {
                                          oldest = row;
                                          return true;
                                        })) {
        return false;
      }
      if (!oldest) continue;
      parcels_[count_++] = {district, static_cast<std::uint32_t>(oldest->order), 0, 0};
      if (!txn_.remove(kDeliveryRemoveNewOrder, tables_.new_order, oldest)) return false;
    }
    txn_.passed(kDeliveryRemoveNewOrder);
    return true;
  }

  bool assign_carrier() {
    RowsAhead<M> orders;
    orders.fetch([this](auto ahead) {
      for (std::size_t i = 0; i < count_; ++i) {
        const Parcel& parcel = parcels_[i];
        ahead(tables_.order, order_key(in_.warehouse, parcel.district, parcel.order),
              sizeof(OOrder));
      }
    });
    for (std::size_t i = 0; i < count_; ++i) {
      Parcel& parcel = parcels_[i];
      const auto order =
          txn_.read(kDeliveryReadOrder, tables_.order,
                    order_key(in_.warehouse, parcel.district, parcel.order), orders[i]);
      if (!order) return false;
      parcel.customer = order->customer;
      if (!txn_.update(kDeliveryUpdateOrder, tables_.order, order,
                       [&](OOrder& row) { row.carrier = in_.carrier; })) {
        return false;
      }
    }
    txn_.passed(kDeliveryUpdateOrder);
    return true;
  }

  bool deliver_lines() {
    lines_and_customers_.fetch([this](auto ahead) {
      for (std::size_t i = 0; i < count_; ++i) {
        const Parcel& parcel = parcels_[i];
        ahead(tables_.order_line, order_line_key(in_.warehouse, parcel.district, parcel.order, 1),
              sizeof(OrderLineHead));
        ahead(tables_.customer, customer_key(in_.warehouse, parcel.district, parcel.customer),
              sizeof(CustomerHead));
      }
    });
    for (std::size_t i = 0; i < count_; ++i) {
      Parcel& parcel = parcels_[i];
      std::array<Row<OrderLineHead>, kMostOrderLines> lines;
      std::size_t line_count = 0;
      if (!txn_.template scan<OrderLineHead>(
              kDeliveryScanOrderLine, tables_.order_line,
              order_line_key(in_.warehouse, parcel.district, parcel.order, 1),
              order_line_key(in_.warehouse, parcel.district, parcel.order, kMostOrderLines),
              Order::ascending, 0, [&](const Key1&, const auto& row) {
                assert(line_count < lines.size());  // the bounds admit no more keys
                lines[line_count++] = row;
                return true;
              })) {
        return false;
      }
      for (std::size_t line = 0; line < line_count; ++line) {
        parcel.amount_cents += lines[line]->amount_cents;
        if (!txn_.update(kDeliveryUpdateOrderLine, tables_.order_line, lines[line],
                         [&](OrderLineHead& row) { row.delivery_us = in_.delivery_us; })) {
          return false;
        }
      }
    }
    txn_.passed(kDeliveryUpdateOrderLine);
    return true;
  }

  bool charge_customers() {
    for (std::size_t i = 0; i < count_; ++i) {
      const Parcel& parcel = parcels_[i];
      const auto customer = txn_.template read<CustomerHead>(
          kDeliveryReadCustomer, tables_.customer,
          customer_key(in_.warehouse, parcel.district, parcel.customer),
          lines_and_customers_[2 * i + 1]);
      if (!customer) return false;
      if (!txn_.update(kDeliveryUpdateCustomer, tables_.customer, customer, [&](CustomerHead& row) {
            row.balance_cents += parcel.amount_cents;
            row.deliveries += 1;
          })) {
        return false;
      }
    }
    txn_.passed(kDeliveryUpdateCustomer);
    return true;
  }

  Txn& txn_;
  Tables<M>& tables_;
  const DeliveryInput& in_;
  std::array<Parcel, kDistrictsPerWarehouse> parcels_;  // the first `count_` are set
  std::size_t count_ = 0;
  RowsAhead<M> lines_and_customers_;  // two per order
};

}  // namespace heddle::tpcc
