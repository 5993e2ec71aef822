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
  double theta = 0.99;          ///< Zipf's exponent of users and items
  std::uint64_t reviews = 500;  ///< of an item, at most; each is another user's
  std::uint64_t trusted = 200;  ///< by a user, at most
  Mix<epinions::kTypes> mix{{10, 10, 20, 10, 10, 10, 10, 10, 10}};
  Reads reads;

  static EpinionsOptions parse(const OptionMap& map) {
    constexpr std::int64_t kMostRows = 100'000'000;
    OptionReader reader("epinions", map);
    EpinionsOptions options;
    const auto count = [&](const char* key, std::uint64_t fallback, std::int64_t least,
                           std::int64_t most) {
      return static_cast<std::uint64_t>(
          reader.integer(key, static_cast<std::int64_t>(fallback), least, most));
    };
    options.users = count("users", options.users, 1, kMostRows);
    options.items = count("items", options.items, 1, kMostRows);
    options.theta = reader.real("theta", options.theta, 0, 4);
    options.reviews = count("reviews", options.reviews, 1, 10'000);
    options.trusted = count("trusted", options.trusted, 1, 10'000);
    options.mix = options.mix.read(reader, epinions::kTypeNames, options.mix);
    options.reads = Reads::read(reader);
    reader.finish();
    options.mix.validate(reader, epinions::kTypeNames);
    return options;
  }
};

}  // namespace heddle
