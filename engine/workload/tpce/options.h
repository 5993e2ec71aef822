#pragma once

#include <cstdint>
#include <string>

#include "model/options.h"
#include "workload/tpce/scale.h"

namespace heddle {

/// The options of TPC-E. The defaults are those of Polyjuice (OSDI 2021, §7.4, figure 8b).
struct TpceOptions {
  /// The transactions that run, and their shares.
  enum class Mix {
    polyjuice,  ///< Trade-Order, Trade-Update and Market-Feed
    full,       ///< all that the specification measures, in its shares
  };

  std::uint32_t customers = 5000;
  std::uint32_t trade_days = 3;
  Mix mix = Mix::polyjuice;
  double theta = 3;
  int trade_update = kTradeUpdate;
  int market_orders = 0;
  std::uint32_t feed_entries = tpce::kMostEntriesPerFeed;

  void read(OptionReader& reader) {
    reader.integer("customers", customers, tpce::kCustomerStep, tpce::kMostCustomers,
                   "customers, in hundreds; there are 0.685 securities for each");
    reader.integer("trade_days", trade_days, 1, tpce::kMostTradeDays,
                   "days of trading before the run, 57.6 trades for each customer and day");
    reader.choice(
        "mix", mix, {{"polyjuice", Mix::polyjuice}, {"full", Mix::full}},
        "polyjuice: Trade-Order, Trade-Update and Market-Feed; full adds Trade-Result and the six "
        "types that only read, on snapshots, with the shares of the specification");
    reader.real("theta", theta, 0, 4,
                "exponent of the Zipf distribution of the securities ordered; 0 is uniform");
    reader.integer(
        "trade_update", trade_update, 0, 100,
        "Trade-Updates, percent of them and the Trade-Orders together; not with mix=full");
    reader.integer("market_orders", market_orders, 0, 100,
                   "Trade-Orders at the market price, percent; the others have a limit");
    reader.integer("feed_entries", feed_entries, 1, tpce::kMostEntriesPerFeed,
                   "ticker entries of one Market-Feed; the specification has 1");
  }

  static TpceOptions parse(const OptionMap& map) {
    OptionReader reader("tpce", map);
    const auto options = read_options<TpceOptions>(reader);
    if (options.customers % tpce::kCustomerStep != 0) {
      reader.reject("customers", std::to_string(options.customers),
                    "multiples of " + std::to_string(tpce::kCustomerStep));
    }
    if (options.is_full() && options.trade_update != kTradeUpdate) {
      reader.reject("trade_update", std::to_string(options.trade_update),
                    "any with mix=polyjuice; with mix=full they are 2 % of the transactions");
    }
    return options;
  }

  [[nodiscard]] bool is_full() const { return mix == Mix::full; }

  [[nodiscard]] tpce::Scale scale() const { return {customers, trade_days}; }

 private:
  static constexpr int kTradeUpdate = 50;
};

}  // namespace heddle
