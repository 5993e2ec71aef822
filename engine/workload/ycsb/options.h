#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "model/options.h"

namespace heddle {

/// The options of YCSB. Shares are percent of a transaction's operations and add up to 100.
struct YcsbOptions {
  enum class Index { hash, ordered };

  static constexpr int kMostOperations = 64;

  int operations = 16;  ///< in a transaction
  int read_share = 50;
  int rmw_share = 50;  ///< read, modify, write
  int scan_share = 0;  ///< needs Index::ordered
  int insert_share = 0;
  int delete_share = 0;  ///< of rows the same worker inserted, oldest first
  double theta = 0.99;   ///< Zipf's exponent; 0 is uniform
  std::uint64_t records = 1'000'000;
  int record_bytes = 100;
  int scan_length = 10;  ///< a scan visits 1 to this many rows
  Index index = Index::hash;

  static YcsbOptions parse(const OptionMap& map) {
    OptionReader reader("ycsb", map);
    const auto integer = [&](const char* key, int fallback, int lo, int hi) {
      return static_cast<int>(reader.integer(key, fallback, lo, hi));
    };
    YcsbOptions options;
    options.operations = integer("operations", 16, 1, kMostOperations);
    options.read_share = integer("read", 50, 0, 100);
    options.rmw_share = integer("rmw", 50, 0, 100);
    options.scan_share = integer("scan", 0, 0, 100);
    options.insert_share = integer("insert", 0, 0, 100);
    options.delete_share = integer("delete", 0, 0, 100);
    options.theta = reader.real("theta", 0.99, 0, 4);
    options.records =
        static_cast<std::uint64_t>(reader.integer("records", 1'000'000, 1, 1'000'000'000));
    options.record_bytes =
        static_cast<int>(reader.integer_choice("record_bytes", 100, {8, 64, 100, 256, 1024}));
    options.scan_length = integer("scan_length", 10, 1, 1000);
    options.index = reader.choice("index", "hash", {"hash", "ordered"}) == "hash" ? Index::hash
                                                                                  : Index::ordered;
    reader.finish();
    options.validate(reader);
    return options;
  }

 private:
  void validate(const OptionReader& reader) const {
    const int sum = read_share + rmw_share + scan_share + insert_share + delete_share;
    if (sum != 100) {
      reader.reject("read + rmw + scan + insert + delete", std::to_string(sum),
                    "shares that add up to 100");
    }
    if (delete_share > insert_share) {
      reader.reject("delete", std::to_string(delete_share),
                    "0 to the share of insert, " + std::to_string(insert_share) +
                        ", as only inserted rows are deleted");
    }
    if (scan_share > 0 && index == Index::hash) {
      reader.reject("index", "hash", "ordered, where the share of scan is above 0");
    }
  }
};

}  // namespace heddle
