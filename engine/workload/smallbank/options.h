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
  /// Which customers are busy.
  enum class Skew {
    hotspot,  ///< the first `hot_accounts` have `hot_share` of the transactions
    zipf,     ///< the n-th is drawn in proportion to 1 / n^theta
  };

  std::uint64_t accounts = 1'000'000;
  Skew skew = Skew::hotspot;
  std::uint64_t hot_accounts = 100;
  int hot_share = 90;   ///< percent of the transactions
  double theta = 0.99;  ///< Zipf's exponent
  Mix<smallbank::kTypes> mix{{15, 15, 25, 15, 15, 15}};
  Reads reads;

  static SmallBankOptions parse(const OptionMap& map) {
    constexpr std::int64_t kMostAccounts = 1'000'000'000;
    OptionReader reader("smallbank", map);
    SmallBankOptions options;
    const auto count = [&](const char* key, std::uint64_t fallback) {
      return static_cast<std::uint64_t>(
          reader.integer(key, static_cast<std::int64_t>(fallback), 2, kMostAccounts));
    };
    options.accounts = count("accounts", options.accounts);
    options.skew = reader.choice("skew", "hotspot", {"hotspot", "zipf"}) == "zipf" ? Skew::zipf
                                                                                   : Skew::hotspot;
    options.hot_accounts = count("hot_accounts", options.hot_accounts);
    options.hot_share = static_cast<int>(reader.integer("hot_share", options.hot_share, 0, 100));
    options.theta = reader.real("theta", options.theta, 0, 4);
    options.mix = options.mix.read(reader, smallbank::kTypeNames, options.mix);
    options.reads = Reads::read(reader);
    reader.finish();
    options.mix.validate(reader, smallbank::kTypeNames);
    if (options.skew == Skew::hotspot && options.hot_accounts > options.accounts) {
      reader.reject("hot_accounts", std::to_string(options.hot_accounts),
                    "2 to the number of accounts, " + std::to_string(options.accounts));
    }
    return options;
  }
};

}  // namespace heddle
