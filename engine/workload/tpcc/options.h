#pragma once

#include "model/options.h"
#include "workload/tpcc/keys.h"

namespace heddle {

/// The options of TPC-C.
struct TpccOptions {
  /// The transactions that run, and their shares.
  enum class Mix {
    read_write,         ///< NewOrder 45 : Payment 43 : Delivery 4, as in Polyjuice
    full,               ///< with OrderStatus 4 and StockLevel 4 on snapshots: all of TPC-C
    new_order_payment,  ///< NewOrder 45 : Payment 43, the mix often used in measurements
  };

  int warehouses = 1;
  Mix mix = Mix::read_write;

  void read(OptionReader& reader) {
    reader.integer("warehouses", warehouses, 1, tpcc::kMostWarehouses,
                   "warehouses of the database; few of them cause contention");
    reader.choice("mix", mix,
                  {{"read_write", Mix::read_write},
                   {"full", Mix::full},
                   {"new_order_payment", Mix::new_order_payment}},
                  "read_write: NewOrder 45, Payment 43, Delivery 4; full adds OrderStatus 4 and "
                  "StockLevel 4; new_order_payment leaves out Delivery");
  }

  static TpccOptions parse(const OptionMap& map) {
    OptionReader reader("tpcc", map);
    return read_options<TpccOptions>(reader);
  }
};

}  // namespace heddle
