#pragma once

#include <cstdint>

#include "model/options.h"
#include "workload/epinions/states.h"
#include "workload/mix.h"
#include "workload/reads.h"

namespace heddle {

/// The options of Epinions.
struct EpinionsOptions {
  std::uint64_t users = 200'000;
  std::uint64_t items = 100'000;
  double theta = 0.99;
  std::uint64_t reviews = 500;
  std::uint64_t trusted = 200;
  Mix<epinions::kTypes> mix{{10, 10, 20, 10, 10, 10, 10, 10, 10}};
  Reads reads;

  void read(OptionReader& reader) {
    constexpr std::int64_t kMostRows = 100'000'000;
    reader.integer("users", users, 1, kMostRows, "users; the SMF paper has 2000000");
    reader.integer("items", items, 1, kMostRows, "items; the SMF paper has 1000000");
    reader.real("theta", theta, 0, 4,
                "exponent of the Zipf distribution of users and of items; 0 is uniform");
    reader.integer("reviews", reviews, 1, 10'000, "most reviews of an item, each by another user");
    reader.integer("trusted", trusted, 1, 10'000, "most users that a user trusts");
    mix.read(reader, epinions::kTypeNames);
    reads.read(reader);
  }

  static EpinionsOptions parse(const OptionMap& map) {
    OptionReader reader("epinions", map);
    const auto options = read_options<EpinionsOptions>(reader);
    options.mix.validate(reader, epinions::kTypeNames);
    return options;
  }
};

}  // namespace heddle
