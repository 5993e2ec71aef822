#pragma once

#include <cstdint>

#include "model/options.h"

namespace heddle {

/// The options of the micro-benchmark.
struct MicroOptions {
  double theta = 0.8;  ///< Polyjuice, Fig. 9: 0.2 to 1.0
  std::uint64_t hot_records = 4096;
  std::uint64_t records = 10'000'000;
  std::uint64_t own_records = 100'000;

  void read(OptionReader& reader) {
    constexpr std::int64_t kMostRecords = 1'000'000'000;
    reader.real("theta", theta, 0, 4,
                "exponent of the Zipf distribution of the first access; 0 is uniform");
    reader.integer("hot_records", hot_records, 1, kMostRecords,
                   "rows that the first access draws from");
    reader.integer("records", records, 1, kMostRecords,
                   "rows that the next six accesses draw from");
    reader.integer("own_records", own_records, 1, kMostRecords,
                   "rows of each type's own table, which the last access draws from");
  }

  static MicroOptions parse(const OptionMap& map) {
    OptionReader reader("micro", map);
    return read_options<MicroOptions>(reader);
  }
};

}  // namespace heddle
