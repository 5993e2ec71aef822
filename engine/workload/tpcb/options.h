#pragma once

#include <cstdint>

#include "model/options.h"

namespace heddle {

/// The options of TPC-B.
struct TpcbOptions {
  std::uint64_t branches = 1;
  std::uint64_t accounts = 100'000;
  int remote = 15;

  void read(OptionReader& reader) {
    constexpr std::int64_t kMost = 1'000'000;
    reader.integer("branches", branches, 1, kMost, "number of branches, each with ten tellers");
    reader.integer("accounts", accounts, 1, kMost, "number of accounts of a branch");
    reader.integer("remote", remote, 0, 100,
                   "transactions at a teller of another branch than the account's, percent");
  }

  static TpcbOptions parse(const OptionMap& map) {
    OptionReader reader("tpcb", map);
    return read_options<TpcbOptions>(reader);
  }
};

}  // namespace heddle
