#pragma once

#include <cstdint>
#include <optional>
#include <sstream>
#include <string>

#include "model/options.h"
#include "workload/tpcc/keys.h"
#include "workload/tpcc/schema.h"
#include "workload/tpcc/states.h"

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
  // Without a default, so that they are no part of the options of a database without such queries.
  std::optional<double> analytical = {};
  std::optional<std::uint32_t> analytical_warehouses = {};
  std::optional<std::uint32_t> analytical_orders = {};

  static constexpr double kStockLevels = 4;  ///< StockLevel's share of the full mix, percent

  void read(OptionReader& reader) {
    reader.integer("warehouses", warehouses, 1, tpcc::kMostWarehouses,
                   "warehouses of the database; few of them cause contention");
    reader.choice("mix", mix,
                  {{"read_write", Mix::read_write},
                   {"full", Mix::full},
                   {"new_order_payment", Mix::new_order_payment}},
                  "read_write: NewOrder 45, Payment 43, Delivery 4; full adds OrderStatus 4 and "
                  "StockLevel 4; new_order_payment leaves out Delivery");
    reader.real("analytical", analytical, 0, kStockLevels,
                "analytical queries, percent of the transactions, instead of StockLevels; needs "
                "mix=full; without it there are none");
    reader.integer("analytical_warehouses", analytical_warehouses, 1,
                   tpcc::kMostAnalyticalWarehouses,
                   "warehouses that an analytical query reads; without it 1");
    reader.integer("analytical_orders", analytical_orders, 1, 1'000'000,
                   "latest orders of each district that an analytical query reads; without it 100");
  }

  static TpccOptions parse(const OptionMap& map) {
    OptionReader reader("tpcc", map);
    const auto options = read_options<TpccOptions>(reader);
    options.validate(reader);
    return options;
  }

  [[nodiscard]] bool has_analytical() const { return analytical.value_or(0) > 0; }
  /// The transaction types that run.
  [[nodiscard]] tpcc::TypeList types() const { return {mix == Mix::full, has_analytical()}; }

 private:
  void validate(const OptionReader& reader) const {
    if (has_analytical() && mix != Mix::full) {
      std::ostringstream share;
      share << *analytical;
      reader.reject("analytical", share.str(), "0, or mix=full, whose StockLevels they replace");
    }
    require_analytical(reader, "analytical_warehouses", analytical_warehouses);
    require_analytical(reader, "analytical_orders", analytical_orders);
    if (static_cast<int>(analytical_warehouses.value_or(1)) > warehouses) {
      reader.reject("analytical_warehouses", std::to_string(*analytical_warehouses),
                    "1 to the number of warehouses, " + std::to_string(warehouses));
    }
  }

  void require_analytical(const OptionReader& reader, const std::string& key,
                          const std::optional<std::uint32_t>& value) const {
    if (!value.has_value() || analytical.has_value()) return;
    reader.reject(key, std::to_string(*value), "none, or together with analytical");
  }
};

}  // namespace heddle
