#pragma once

#include <cstddef>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/schema.h"

namespace heddle::tpcc {

/// The nine tables of TPC-C, two secondary indexes, and STOCK's vertical partition.
///
/// Tables that never grow have a hash index; tables that grow, or are scanned, have an ordered one.
template <class M>
struct Tables {
  template <class V>
  using Hashed = Table<M, Key1, V, HashIndex>;
  template <class V>
  using Ordered = Table<M, Key1, V, OrderedIndex>;

  Tables(Storage<M>& storage, std::size_t warehouses)
      : warehouse(storage, "WAREHOUSE", warehouses),
        district(storage, "DISTRICT", warehouses * kDistrictsPerWarehouse),
        item(storage, "ITEM", kItems),
        stock(storage, "STOCK", warehouses * kItems),
        stock_text(storage, "STOCK_TEXT", warehouses * kItems),
        customer(storage, "CUSTOMER", customers(warehouses)),
        customer_name(storage, "CUSTOMER_NAME", warehouses * kDistrictsPerWarehouse * kLastNames),
        history(storage, "HISTORY", customers(warehouses)),
        order(storage, "OORDER", customers(warehouses)),
        customer_order(storage, "OORDER_C_ID_IDX", customers(warehouses)),
        order_line(storage, "ORDER_LINE", customers(warehouses) * 10),
        new_order(storage, "NEW_ORDER", customers(warehouses)) {
    // OrderStatus and StockLevel do not read these.
    warehouse.skip_snapshots();
    item.skip_snapshots();
    history.skip_snapshots();
    new_order.skip_snapshots();
    partition_by_warehouse();
  }

  Hashed<Warehouse> warehouse;
  Hashed<District> district;
  Hashed<Item> item;
  Hashed<Stock> stock;
  Hashed<StockText> stock_text;
  Hashed<Customer> customer;
  Table<M, NameKey, Namesakes, HashIndex> customer_name;
  Ordered<History> history;
  Ordered<OOrder> order;
  Ordered<CustomerOrder> customer_order;
  Ordered<OrderLine> order_line;
  Ordered<NewOrder> new_order;

 private:
  /// HISTORY has no warehouse in its key: its rows belong to the partition of their worker.
  void partition_by_warehouse() {
    district.set_partition_shift(kDistrictBits);
    stock.set_partition_shift(kItemBits);
    customer.set_partition_shift(kCustomerBits + kDistrictBits);
    history.set_partition_shift(kHistoryBits);
    order.set_partition_shift(kOrderBits + kDistrictBits);
    customer_order.set_partition_shift(kOrderBits + kCustomerBits + kDistrictBits);
    order_line.set_partition_shift(kLineBits + kOrderBits + kDistrictBits);
    new_order.set_partition_shift(kOrderBits + kDistrictBits);
  }

  static constexpr std::size_t customers(std::size_t warehouses) {
    return warehouses * kDistrictsPerWarehouse * kCustomersPerDistrict;
  }
};

}  // namespace heddle::tpcc
