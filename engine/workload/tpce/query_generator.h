#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "model/random.h"
#include "workload/tpce/people.h"
#include "workload/tpce/query_inputs.h"
#include "workload/tpce/reference_schema.h"
#include "workload/tpce/scale.h"

/// Draws the inputs of the types that only read, with the shares of the specification's driver.
namespace heddle::tpce {

inline void draw(Random& random, const Scale& scale, BrokerVolumeInput& input) {
  constexpr std::uint32_t kFewest = 20;
  input.sector = static_cast<std::uint32_t>(random.below(kSectors));
  const auto wanted = static_cast<std::uint32_t>(random.between(kFewest, kMostBrokersCompared));
  input.count = std::min(wanted, scale.brokers());
  const auto first = static_cast<std::uint32_t>(random.below(scale.brokers()));
  for (std::uint32_t i = 0; i < input.count; ++i) {
    input.brokers[i] = (first + i * scale.brokers() / input.count) % scale.brokers();
  }
}

inline void draw(Random& random, const Scale& scale, CustomerPositionInput& input) {
  input.customer = random_customer(random, scale);
  input.by_tax_id = random.below(100) < 50;
  input.history = random.below(100) < 50;
  const auto index = static_cast<std::uint32_t>(random.below(accounts_of(input.customer)));
  input.account = account_number(input.customer, index);
}

inline void draw(Random& random, const Scale& scale, MarketWatchInput& input) {
  using enum MarketWatchInput::Of;
  const std::uint64_t card = random.below(100);
  input.of = card < 60 ? watch_list : card < 95 ? account : industry;
  input.number = input.of == watch_list ? random_customer(random, scale)
                 : input.of == account  ? random_account(random, scale)
                                        : static_cast<std::uint32_t>(random.below(kIndustries));
  input.day = static_cast<std::uint32_t>(random.below(kMarketDays));
}

inline void draw(Random& random, const Scale& scale, SecurityDetailInput& input) {
  constexpr std::uint32_t kFewest = 5;
  constexpr std::uint32_t kMost = 20;
  input.security = static_cast<std::uint32_t>(random.below(scale.securities()));
  input.days = static_cast<std::uint32_t>(random.between(kFewest, kMost));
  input.first_day = static_cast<std::uint32_t>(random.below(kMarketDays - input.days));
}

inline void draw(Random& random, const Scale& scale, TradeStatusInput& input) {
  input.account = random_account(random, scale);
}

}  // namespace heddle::tpce
