#pragma once

#include <cstdint>
#include <string>

#include "model/options.h"
#include "workload/mix.h"
#include "workload/reads.h"
#include "workload/smallbank/states.h"

namespace heddle {

/// The options of SmallBank.
struct SmallBankOptions {
  /// The distribution of the customers.
  enum class Skew {
    hotspot,  ///< the first `hot_accounts` have `hot_share` of the transactions
    zipf,     ///< the n-th is drawn in proportion to 1 / n^theta
  };

  std::uint64_t accounts = 1'000'000;
  Skew skew = Skew::hotspot;
  std::uint64_t hot_accounts = 100;
  int hot_share = 90;
  double theta = 0.99;
  Mix<smallbank::kTypes> mix{{15, 15, 25, 15, 15, 15}};
  Reads reads;

  void read(OptionReader& reader) {
    constexpr std::int64_t kMostAccounts = 1'000'000'000;
    reader.integer("accounts", accounts, 2, kMostAccounts, "number of customers");
    reader.choice("skew", skew, {{"hotspot", Skew::hotspot}, {"zipf", Skew::zipf}},
                  "which customers are busy: a hot set, or customers drawn with exponent theta");
    reader.integer("hot_accounts", hot_accounts, 2, kMostAccounts,
                   "with skew=hotspot, the number of hot customers");
    reader.integer("hot_share", hot_share, 0, 100,
                   "with skew=hotspot, transactions of hot customers, percent");
    reader.real("theta", theta, 0, 4,
                "with skew=zipf, the exponent of the distribution; 0 is uniform");
    mix.read(reader, smallbank::kTypeNames);
    reads.read(reader);
  }

  static SmallBankOptions parse(const OptionMap& map) {
    OptionReader reader("smallbank", map);
    const auto options = read_options<SmallBankOptions>(reader);
    options.mix.validate(reader, smallbank::kTypeNames);
    if (options.skew == Skew::hotspot && options.hot_accounts > options.accounts) {
      reader.reject("hot_accounts", std::to_string(options.hot_accounts),
                    "2 to the number of accounts, " + std::to_string(options.accounts));
    }
    return options;
  }
};

}  // namespace heddle
