#pragma once

#include <cstdint>

#include "model/options.h"

namespace heddle {

/// The options of the micro-benchmark.
struct MicroOptions {
  double theta = 0.8;  ///< Zipf's exponent of the first access; the paper's Fig. 9: 0.2 to 1.0
  std::uint64_t hot_records = 4096;     ///< what the first access draws from
  std::uint64_t records = 10'000'000;   ///< what the next six draw from
  std::uint64_t own_records = 100'000;  ///< in each type's own table, where the last one goes

  static MicroOptions parse(const OptionMap& map) {
    OptionReader reader("micro", map);
    const auto count = [&](const char* key, std::uint64_t fallback) {
      return static_cast<std::uint64_t>(
          reader.integer(key, static_cast<std::int64_t>(fallback), 1, 1'000'000'000));
    };
    MicroOptions options;
    options.theta = reader.real("theta", options.theta, 0, 4);
    options.hot_records = count("hot_records", options.hot_records);
    options.records = count("records", options.records);
    options.own_records = count("own_records", options.own_records);
    reader.finish();
    return options;
  }
};

}  // namespace heddle
