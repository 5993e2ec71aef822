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

  int operations = 16;
  int read_share = 50;
  int rmw_share = 50;
  int scan_share = 0;
  int insert_share = 0;
  int delete_share = 0;  ///< oldest rows first
  double theta = 0.99;
  std::uint64_t records = 1'000'000;
  int record_bytes = 100;
  int scan_length = 10;
  Index index = Index::hash;
  int drawn = 0;

  void read(OptionReader& reader) {
    reader.integer("operations", operations, 1, kMostOperations, "operations of a transaction");
    reader.integer("read", read_share, 0, 100, "operations that read a row, percent");
    reader.integer("rmw", rmw_share, 0, 100,
                   "operations that read, modify and write a row, percent");
    reader.integer("scan", scan_share, 0, 100,
                   "operations that scan rows, percent; they need index=ordered");
    reader.integer("insert", insert_share, 0, 100, "operations that insert a row, percent");
    reader.integer("delete", delete_share, 0, 100,
                   "operations that delete a row the same worker inserted, percent; at most the "
                   "share of insert");
    reader.real("theta", theta, 0, 4, "exponent of the Zipf distribution of keys; 0 is uniform");
    reader.integer("records", records, 1, 1'000'000'000, "rows that the table begins with");
    reader.integer("record_bytes", record_bytes, 8, 4096,
                   "bytes of a row; rounded up to whole words of 8");
    reader.integer("scan_length", scan_length, 1, 1000,
                   "most rows that a scan visits; it visits 1 to this number");
    reader.choice("index", index, {{"hash", Index::hash}, {"ordered", Index::ordered}},
                  "index of the table; scans need ordered");
    constexpr int kMostDrawn = 1'000'000;
    reader.integer("drawn", drawn, 0, kMostDrawn,
                   "inputs that each worker has drawn before a run and repeats; 0: each is drawn "
                   "when its transaction begins");
  }

  static YcsbOptions parse(const OptionMap& map) {
    OptionReader reader("ycsb", map);
    const auto options = read_options<YcsbOptions>(reader);
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
    if (drawn > 0 && insert_share > 0) {
      reader.reject("drawn", std::to_string(drawn),
                    "0 where the share of insert is above 0, as no row is inserted twice");
    }
    if (scan_share > 0 && index == Index::hash) {
      reader.reject("index", "hash", "ordered, where the share of scan is above 0");
    }
  }
};

}  // namespace heddle
