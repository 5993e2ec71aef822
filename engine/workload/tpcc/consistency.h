#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "workload/tpcc/keys.h"
#include "workload/tpcc/schema.h"
#include "workload/tpcc/tables.h"
#include "workload/violations.h"

namespace heddle::tpcc {

/// Checks the consistency conditions of clauses 3.3.2.1 to 3.3.2.12 for every warehouse, district,
/// order and customer, exactly. Further conditions cover what those leave unchecked: the stock, the
/// index of orders by customer, and the counts of payments. Quiescent only.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, std::uint32_t warehouses)
      : tables_(tables),
        warehouses_(warehouses),
        warehouse_sums_(warehouses),
        districts_(std::size_t{warehouses} * kDistrictsPerWarehouse),
        customers_(districts_.size() * kCustomersPerDistrict),
        stock_sums_(std::size_t{warehouses} * kItems) {}

  [[nodiscard]] std::vector<std::string> run() {
    collect_orders();
    collect_new_orders();
    collect_lines();
    collect_payments();
    check_money();
    check_order_numbers();
    check_orders();
    check_customers();
    check_customer_orders();
    check_stock();
    return violations_.take();
  }

 private:
  struct WarehouseSums {
    std::int64_t district_ytd_cents = 0;
    std::int64_t payments_cents = 0;
  };
  struct DistrictSums {
    std::uint64_t orders = 0;
    std::uint32_t last_order = 0;
    std::uint64_t new_orders = 0;
    std::uint32_t first_new_order = 0;
    std::uint32_t last_new_order = 0;
    std::uint64_t promised_lines = 0;  // by O_OL_CNT
    std::uint64_t lines = 0;
    std::uint64_t deliveries = 0;  // by C_DELIVERY_CNT
    std::int64_t payments_cents = 0;
  };
  struct CustomerSums {
    std::int64_t delivered_cents = 0;
    std::int64_t payments_cents = 0;
    std::uint32_t payments = 0;
    std::uint32_t orders = 0;  // less those found in the index
  };
  struct StockSums {
    std::uint32_t quantity = 0;
    std::uint32_t orders = 0;
    std::uint32_t remote_orders = 0;
  };
  struct OrderSums {
    std::uint64_t key;
    std::uint32_t customer;
    std::uint8_t carrier;
    std::uint8_t promised_lines;
    std::uint8_t lines = 0;
    std::uint8_t undelivered_lines = 0;
    bool is_new = false;
  };

  // Rows left by a broken run may contain any number, so every number is checked before use.
  template <class T>
  static T* at(std::vector<T>& sums, std::uint64_t index, bool valid) {
    return valid ? &sums[index] : nullptr;
  }
  [[nodiscard]] bool valid(std::uint64_t warehouse, std::uint64_t district) const {
    return warehouse - 1 < warehouses_ && district - 1 < kDistrictsPerWarehouse;
  }
  DistrictSums* district_sums(std::uint64_t warehouse, std::uint64_t district) {
    return at(districts_, (warehouse - 1) * kDistrictsPerWarehouse + district - 1,
              valid(warehouse, district));
  }
  CustomerSums* customer_sums(std::uint64_t warehouse, std::uint64_t district,
                              std::uint64_t customer) {
    const std::uint64_t of_district = (warehouse - 1) * kDistrictsPerWarehouse + district - 1;
    return at(customers_, of_district * kCustomersPerDistrict + customer - 1,
              valid(warehouse, district) && customer - 1 < kCustomersPerDistrict);
  }
  StockSums* stock_sums(std::uint64_t warehouse, std::uint64_t item) {
    return at(stock_sums_, (warehouse - 1) * kItems + item - 1,
              warehouse - 1 < warehouses_ && item - 1 < kItems);
  }
  OrderSums* find_order(std::uint64_t key) {
    const auto found = std::lower_bound(
        orders_.begin(), orders_.end(), key,
        [](const OrderSums& order, std::uint64_t wanted) { return order.key < wanted; });
    return found != orders_.end() && found->key == key ? &*found : nullptr;
  }

  static std::string name(std::uint64_t warehouse, std::uint64_t district) {
    return "warehouse " + std::to_string(warehouse) + ", district " + std::to_string(district);
  }
  static std::string name(const OrderId& id) {
    return name(id.district.warehouse, id.district.district) + ", order " +
           std::to_string(id.order);
  }

  void collect_orders() {
    tables_.order.for_each([&](const Key1& key, const OOrder& row) {
      const OrderId id = order_of(key.words[0]);
      CustomerSums* customer =
          customer_sums(id.district.warehouse, id.district.district, row.customer);
      if (customer == nullptr) {
        violations_.add("orders", name(id), " is of a customer that does not exist");
        return;
      }
      ++customer->orders;
      DistrictSums& district = *district_sums(id.district.warehouse, id.district.district);
      ++district.orders;
      district.last_order = std::max(district.last_order, id.order);
      district.promised_lines += row.lines;
      orders_.push_back({key.words[0], row.customer, row.carrier, row.lines});
    });
  }

  void collect_new_orders() {
    tables_.new_order.for_each([&](const Key1& key, const NewOrder& row) {
      const OrderId id = order_of(key.words[0]);
      OrderSums* order = find_order(key.words[0]);
      if (order == nullptr || row.order != id.order) {
        violations_.add("3.3.2.5", name(id), " is in NEW-ORDER but not in ORDER");
        return;
      }
      order->is_new = true;
      DistrictSums& district = *district_sums(id.district.warehouse, id.district.district);
      if (district.new_orders++ == 0) district.first_new_order = id.order;
      district.last_new_order = id.order;  // the table is visited in the order of its keys
    });
  }

  void collect_lines() {
    tables_.order_line.for_each([&](const Key1& key, const OrderLine& row) {
      const std::uint64_t order_word = key.words[0] >> kLineBits;
      const std::uint32_t number = key.words[0] & ((1U << kLineBits) - 1);
      const OrderId id = order_of(order_word);
      OrderSums* order = find_order(order_word);
      if (order == nullptr) {
        violations_.add("3.3.2.4", name(id), " has a line but is not in ORDER");
        return;
      }
      if (++order->lines != number) {
        violations_.add("order lines", name(id), ": line ", number, " is not next in number");
      }
      ++district_sums(id.district.warehouse, id.district.district)->lines;
      if (row.head.delivery_us == kNoTime) {
        ++order->undelivered_lines;
      } else {
        customer_sums(id.district.warehouse, id.district.district, order->customer)
            ->delivered_cents += row.head.amount_cents;
      }
      if (id.order > kLoadedOrders) collect_stock(id, row);
    });
  }

  void collect_stock(const OrderId& id, const OrderLine& row) {
    StockSums* stock = stock_sums(row.supply_warehouse, row.head.item);
    if (stock == nullptr) {
      violations_.add("order lines", name(id), " has a line for a stock that does not exist");
      return;
    }
    stock->quantity += row.quantity;
    ++stock->orders;
    stock->remote_orders += row.supply_warehouse != id.district.warehouse;
  }

  void collect_payments() {
    tables_.history.for_each([&](const Key1& key, const History& row) {
      CustomerSums* customer =
          customer_sums(row.customer_warehouse, row.customer_district, row.customer);
      DistrictSums* district = district_sums(row.warehouse, row.district);
      if (customer == nullptr || district == nullptr) {
        violations_.add("history", "row ", key.words[0], " names rows that do not exist");
        return;
      }
      customer->payments_cents += row.amount_cents;
      ++customer->payments;
      district->payments_cents += row.amount_cents;
      warehouse_sums_[row.warehouse - 1U].payments_cents += row.amount_cents;
    });
  }

  /// 3.3.2.1, 3.3.2.8, 3.3.2.9.
  void check_money() {
    for (std::uint32_t w = 1; w <= warehouses_; ++w) {
      for (std::uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
        const District* row = tables_.district.find_quiescent(district_key(w, d));
        if (row == nullptr) {
          violations_.add("districts", name(w, d), " is missing");
          continue;
        }
        warehouse_sums_[w - 1].district_ytd_cents += row->ytd_cents;
        const std::int64_t paid_cents = district_sums(w, d)->payments_cents;
        if (row->ytd_cents != paid_cents) {
          violations_.add("3.3.2.9", name(w, d), ": D_YTD is ", row->ytd_cents,
                          " cents, its HISTORY holds ", paid_cents);
        }
      }
    }
    for (std::uint32_t w = 1; w <= warehouses_; ++w) {
      const Warehouse* row = tables_.warehouse.find_quiescent(warehouse_key(w));
      if (row == nullptr) {
        violations_.add("warehouses", "warehouse ", w, " is missing");
        continue;
      }
      const WarehouseSums& sums = warehouse_sums_[w - 1];
      if (row->ytd_cents != sums.district_ytd_cents) {
        violations_.add("3.3.2.1", "warehouse ", w, ": W_YTD is ", row->ytd_cents,
                        " cents, its districts' D_YTD add up to ", sums.district_ytd_cents);
      }
      if (row->ytd_cents != sums.payments_cents) {
        violations_.add("3.3.2.8", "warehouse ", w, ": W_YTD is ", row->ytd_cents,
                        " cents, its HISTORY holds ", sums.payments_cents);
      }
    }
  }

  /// 3.3.2.2, 3.3.2.3, and that order numbers have no gaps.
  void check_order_numbers() {
    for (std::uint32_t w = 1; w <= warehouses_; ++w) {
      for (std::uint32_t d = 1; d <= kDistrictsPerWarehouse; ++d) {
        const District* row = tables_.district.find_quiescent(district_key(w, d));
        if (row == nullptr) continue;  // reported by check_money
        const DistrictSums& sums = *district_sums(w, d);
        const std::uint32_t last = row->head.next_order - 1;
        // If all orders are delivered, NEW-ORDER has no largest number to compare.
        if (sums.last_order != last || (sums.new_orders > 0 && sums.last_new_order != last)) {
          violations_.add("3.3.2.2", name(w, d), ": D_NEXT_O_ID - 1 is ", last,
                          ", the largest O_ID ", sums.last_order, ", the largest NO_O_ID ",
                          sums.last_new_order);
        }
        if (sums.orders != sums.last_order) {
          violations_.add("order numbers", name(w, d), ": ", sums.orders,
                          " orders, the largest number is ", sums.last_order);
        }
        const std::uint64_t span =
            sums.new_orders == 0 ? 0 : sums.last_new_order - sums.first_new_order + 1U;
        if (span != sums.new_orders) {
          violations_.add("3.3.2.3", name(w, d), ": NEW-ORDER has ", sums.new_orders,
                          " rows numbered ", sums.first_new_order, " to ", sums.last_new_order);
        }
      }
    }
  }

  /// 3.3.2.4 to 3.3.2.7.
  void check_orders() {
    for (std::size_t i = 0; i < districts_.size(); ++i) {
      const DistrictSums& sums = districts_[i];
      if (sums.promised_lines != sums.lines) {
        violations_.add(
            "3.3.2.4", name(i / kDistrictsPerWarehouse + 1, i % kDistrictsPerWarehouse + 1),
            ": O_OL_CNT add up to ", sums.promised_lines, ", ORDER-LINE has ", sums.lines, " rows");
      }
    }
    for (const OrderSums& order : orders_) {
      const bool carried = order.carrier != kNoCarrier;
      if (carried == order.is_new) {
        violations_.add("3.3.2.5", name(order_of(order.key)),
                        carried ? " has a carrier and is in NEW-ORDER"
                                : " has no carrier and is not in NEW-ORDER");
      }
      if (order.lines != order.promised_lines) {
        violations_.add("3.3.2.6", name(order_of(order.key)), ": O_OL_CNT is ",
                        int{order.promised_lines}, ", it has ", int{order.lines}, " lines");
      }
      if (order.undelivered_lines != (carried ? 0 : order.lines)) {
        violations_.add("3.3.2.7", name(order_of(order.key)), ": ", int{order.undelivered_lines},
                        " of ", int{order.lines}, " lines have no delivery date, the order has ",
                        carried ? "a" : "no", " carrier");
      }
    }
  }

  /// 3.3.2.10 to 3.3.2.12, and C_PAYMENT_CNT.
  void check_customers() {
    std::uint64_t rows = 0;
    tables_.customer.for_each([&](const Key1& key, const Customer& row) {
      const std::uint64_t number = key.words[0] & ((1U << kCustomerBits) - 1);
      const DistrictId id = district_of(key.words[0] >> kCustomerBits);
      const CustomerSums* sums = customer_sums(id.warehouse, id.district, number);
      if (sums == nullptr) {
        violations_.add("customers", name(id.warehouse, id.district), ", customer ", number,
                        " should not exist");
        return;
      }
      ++rows;
      check_customer(id, number, row.profile.head, *sums);
      district_sums(id.warehouse, id.district)->deliveries += row.profile.head.deliveries;
    });
    if (rows != customers_.size()) {
      violations_.add("customers", rows, " rows, not ", customers_.size());
    }
    check_deliveries();
  }

  void check_customer(const DistrictId& id, std::uint64_t number, const CustomerHead& head,
                      const CustomerSums& sums) {
    if (head.balance_cents != sums.delivered_cents - sums.payments_cents) {
      violations_.add("3.3.2.10", name(id.warehouse, id.district), ", customer ", number,
                      ": C_BALANCE is ", head.balance_cents, " cents; delivered ",
                      sums.delivered_cents, ", HISTORY holds ", sums.payments_cents);
    }
    if (head.balance_cents + head.ytd_payment_cents != sums.delivered_cents) {
      violations_.add("3.3.2.12", name(id.warehouse, id.district), ", customer ", number,
                      ": C_BALANCE + C_YTD_PAYMENT is ",
                      head.balance_cents + head.ytd_payment_cents, " cents; delivered ",
                      sums.delivered_cents);
    }
    if (head.payments != sums.payments) {
      violations_.add("payments", name(id.warehouse, id.district), ", customer ", number,
                      ": C_PAYMENT_CNT is ", head.payments, ", HISTORY has ", sums.payments);
    }
  }

  /// 3.3.2.11 says that ORDER has 2100 rows more than NEW-ORDER, as after the population; each
  /// delivery since then has added one to the difference, and one to some C_DELIVERY_CNT.
  void check_deliveries() {
    for (std::size_t i = 0; i < districts_.size(); ++i) {
      const DistrictSums& sums = districts_[i];
      if (sums.orders - sums.new_orders != kLoadedDelivered + sums.deliveries) {
        violations_.add("3.3.2.11",
                        name(i / kDistrictsPerWarehouse + 1, i % kDistrictsPerWarehouse + 1), ": ",
                        sums.orders, " orders, ", sums.new_orders, " new ones, ", sums.deliveries,
                        " deliveries since the population delivered ", kLoadedDelivered);
      }
    }
  }

  /// OORDER_C_ID_IDX holds each order once, under its customer.
  void check_customer_orders() {
    tables_.customer_order.for_each([&](const Key1& key, const CustomerOrder& row) {
      const std::uint64_t customer_word = key.words[0] >> kOrderBits;
      const std::uint64_t customer = customer_word & ((1U << kCustomerBits) - 1);
      const DistrictId district = district_of(customer_word >> kCustomerBits);
      const OrderSums* order =
          find_order(order_key(district.warehouse, district.district, row.order).words[0]);
      if (order == nullptr || order->customer != customer ||
          row.order != static_cast<std::uint32_t>(key.words[0])) {
        violations_.add("orders by customer",
                        name({district, static_cast<std::uint32_t>(row.order)}),
                        " is indexed under customer ", customer, ", which has no such order");
        return;
      }
      --customer_sums(district.warehouse, district.district, customer)->orders;
    });
    for (const CustomerSums& sums : customers_) {
      if (sums.orders != 0) {
        violations_.add("orders by customer", sums.orders, " orders of a customer are not indexed");
      }
    }
  }

  /// The stock has given what the order lines took, and its quantity is within the bounds of clause
  /// 2.4.2.2.
  void check_stock() {
    tables_.stock.for_each([&](const Key1& key, const Stock& row) {
      const std::uint64_t warehouse = key.words[0] >> kItemBits;
      const std::uint64_t item = key.words[0] & ((1U << kItemBits) - 1);
      const StockSums* sums = stock_sums(warehouse, item);
      if (sums == nullptr) {
        violations_.add("stock", "warehouse ", warehouse, ", item ", item, " should not exist");
        return;
      }
      if (row.ytd != sums->quantity || row.orders != sums->orders ||
          row.remote_orders != sums->remote_orders) {
        violations_.add("stock", "warehouse ", warehouse, ", item ", item, ": S_YTD is ", row.ytd,
                        ", S_ORDER_CNT ", row.orders, ", S_REMOTE_CNT ", row.remote_orders,
                        "; the order lines say ", sums->quantity, ", ", sums->orders, ", ",
                        sums->remote_orders);
      }
      if (row.quantity < 10 || row.quantity > 100) {
        violations_.add("stock", "warehouse ", warehouse, ", item ", item, ": S_QUANTITY is ",
                        row.quantity, ", not within 10 to 100");
      }
    });
  }

  const Tables<M>& tables_;
  std::uint32_t warehouses_;
  std::vector<WarehouseSums> warehouse_sums_;
  std::vector<DistrictSums> districts_;
  std::vector<CustomerSums> customers_;
  std::vector<StockSums> stock_sums_;
  std::vector<OrderSums> orders_;  // in the order of their keys
  Violations violations_;
};

}  // namespace heddle::tpcc
