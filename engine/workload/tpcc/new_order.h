#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/look_ahead.h"
#include "workload/tpcc/inputs.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/states.h"
#include "workload/tpcc/tables.h"

namespace heddle::tpcc {

/// The output of NewOrder for its terminal (clause 2.4.3.3), as far as it is computed.
struct NewOrderOutput {
  std::uint32_t order = 0;
  std::uint32_t original_lines = 0;  // "brand-generic" is B on these, G on the others
  std::int64_t total_cents = 0;
};

/// The NewOrder transaction (clause 2.4.2).
template <class Txn, class M>
class NewOrderTransaction {
 public:
  NewOrderTransaction(Txn& txn, Tables<M>& tables, const NewOrderInput& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run(NewOrderOutput& output) {
    // Before the district is read, which other transactions change often.
    ahead_.fetch([this](auto ahead) { rows(ahead); });
    const auto warehouse = txn_.template read<WarehouseHead>(
        kNewOrderReadWarehouse, tables_.warehouse, warehouse_key(in_.warehouse));
    if (!warehouse) return txn_.stop();
    const auto district = txn_.template read<DistrictHead>(
        kNewOrderReadDistrict, tables_.district, district_key(in_.warehouse, in_.district));
    if (!district) return txn_.stop();
    output.order = district->next_order;
    if (!txn_.update(kNewOrderUpdateDistrict, tables_.district, district,
                     [](DistrictHead& head) { ++head.next_order; })) {
      return txn_.stop();
    }
    if (!take_from_stock(output)) return txn_.stop();
    if (!insert_order(output.order)) return txn_.stop();
    const auto customer = txn_.template read<CustomerHead>(
        kNewOrderReadCustomer, tables_.customer,
        customer_key(in_.warehouse, in_.district, in_.customer), ahead_[3 * in_.line_count]);
    if (!customer) return txn_.stop();
    output.total_cents = total_cents(*warehouse, district->tax_bp, customer->discount_bp);
    return Outcome::commit;
  }

 private:
  /// The rows that are probably not in a cache: first three per line.
  template <class Ahead>
  void rows(const Ahead& ahead) const {
    const std::size_t info =
        offsetof(StockText, district_info) + (in_.district - 1U) * sizeof(Text<24>);
    for (std::size_t i = 0; i < in_.line_count; ++i) {
      const NewOrderInput::Line& line = in_.lines[i];
      const Key1 stock = stock_key(line.supply_warehouse, line.item);
      ahead(tables_.item, item_key(line.item), sizeof(ItemHead));
      ahead(tables_.stock, stock, sizeof(Stock));
      ahead(tables_.stock_text, stock, sizeof(Text<24>), info);
    }
    ahead(tables_.customer, customer_key(in_.warehouse, in_.district, in_.customer),
          sizeof(CustomerHead));
    // The position of the new row; the other orders are the last ones of their districts.
    ahead(tables_.customer_order,
          customer_order_key(in_.warehouse, in_.district, in_.customer, kLastOrder), 0);
  }

  /// Processes the items of the order one after the other. An item that does not exist ends the
  /// transaction after all the work before it (2.4.2.3).
  bool take_from_stock(NewOrderOutput& output) {
    for (std::size_t i = 0; i < in_.line_count; ++i) {
      const NewOrderInput::Line& line = in_.lines[i];
      const auto item = txn_.template read<ItemHead>(kNewOrderReadItem, tables_.item,
                                                     item_key(line.item), ahead_[3 * i]);
      if (!item) return false;
      const Key1 key = stock_key(line.supply_warehouse, line.item);
      const auto stock = txn_.read(kNewOrderReadStock, tables_.stock, key, ahead_[3 * i + 1]);
      if (!stock) return false;
      const bool remote = line.supply_warehouse != in_.warehouse;
      if (!txn_.update(kNewOrderUpdateStock, tables_.stock, stock,
                       [&](Stock& row) { take(row, line.quantity, remote); })) {
        return false;
      }
      // Never written after the population, so it needs no concurrency control.
      texts_[i] = tables_.stock_text.find_quiescent(key, ahead_[3 * i + 2]);
      amounts_cents_[i] = line.quantity * item->price_cents;
      output.original_lines += item->original && texts_[i]->original;
    }
    txn_.passed(kNewOrderUpdateStock);
    return true;
  }

  static void take(Stock& stock, std::uint32_t quantity, bool remote) {
    const bool enough = stock.quantity >= quantity + 10;
    stock.quantity += enough ? 0 : 91;
    stock.quantity -= quantity;
    stock.ytd += quantity;
    stock.orders += 1;
    stock.remote_orders += remote;
  }

  bool insert_order(std::uint32_t order) {
    const Key1 key = order_key(in_.warehouse, in_.district, order);
    if (!txn_.insert(kNewOrderInsertNewOrder, tables_.new_order, key, NewOrder{order})) {
      return false;
    }
    const OOrder row{.entry_us = in_.entry_us,
                     .customer = in_.customer,
                     .carrier = kNoCarrier,
                     .lines = in_.line_count,
                     .all_local = in_.all_local};
    if (!txn_.insert(kNewOrderInsertOrder, tables_.order, key, row)) return false;
    if (!txn_.insert(kNewOrderInsertCustomerOrder, tables_.customer_order,
                     customer_order_key(in_.warehouse, in_.district, in_.customer, order),
                     CustomerOrder{order})) {
      return false;
    }
    for (std::size_t i = 0; i < in_.line_count; ++i) {
      const NewOrderInput::Line& line = in_.lines[i];
      const OrderLine row_of_line{
          .head = {.delivery_us = kNoTime, .amount_cents = amounts_cents_[i], .item = line.item},
          .supply_warehouse = line.supply_warehouse,
          .quantity = line.quantity,
          .district_info = texts_[i]->district_info[in_.district - 1U]};
      if (!txn_.insert(kNewOrderInsertOrderLine, tables_.order_line,
                       order_line_key(in_.warehouse, in_.district, order, i + 1), row_of_line)) {
        return false;
      }
    }
    txn_.passed(kNewOrderInsertOrderLine);
    return true;
  }

  [[nodiscard]] std::int64_t total_cents(const WarehouseHead& warehouse,
                                         std::int64_t district_tax_bp,
                                         std::int64_t discount_bp) const {
    constexpr std::int64_t kWhole = 10'000;  // basis points
    std::int64_t sum_cents = 0;
    for (std::size_t i = 0; i < in_.line_count; ++i) sum_cents += amounts_cents_[i];
    const std::int64_t scaled =
        sum_cents * (kWhole - discount_bp) * (kWhole + warehouse.tax_bp + district_tax_bp);
    return (scaled + kWhole * kWhole / 2) / (kWhole * kWhole);
  }

  Txn& txn_;
  Tables<M>& tables_;
  const NewOrderInput& in_;
  RowsAhead<M> ahead_;
  // Set only for the lines of the order.
  std::array<const StockText*, kMostOrderLines> texts_;
  std::array<std::uint32_t, kMostOrderLines> amounts_cents_;
};

}  // namespace heddle::tpcc
