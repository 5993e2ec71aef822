#pragma once

#include <string>

#include "model/options.h"
#include "workload/tpcc/keys.h"

namespace heddle {

/// The options of TPC-C.
struct TpccOptions {
  /// Which transactions run, and how often.
  enum class Mix {
    read_write,         ///< NewOrder 45 : Payment 43 : Delivery 4, the paper's
    full,               ///< with OrderStatus 4 and StockLevel 4 on snapshots: all of TPC-C
    new_order_payment,  ///< NewOrder 45 : Payment 43, as many engines are measured
  };

  int warehouses = 1;  ///< the scale factor; few make contention
  Mix mix = Mix::read_write;

  static TpccOptions parse(const OptionMap& map) {
    OptionReader reader("tpcc", map);
    TpccOptions options;
    options.warehouses =
        static_cast<int>(reader.integer("warehouses", 1, 1, tpcc::kMostWarehouses));
    const std::string mix =
        reader.choice("mix", "read_write", {"read_write", "full", "new_order_payment"});
    options.mix = mix == "full"                ? Mix::full
                  : mix == "new_order_payment" ? Mix::new_order_payment
                                               : Mix::read_write;
    reader.finish();
    return options;
  }
};

}  // namespace heddle
