#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/random.h"
#include "workload/tpce/states.h"

/// The full mix of the specification. Its drivers draw these types; Trade-Results
/// and Market-Feeds follow from the orders: 10 and 1 of a hundred.
namespace heddle::tpce {

struct DrawnType {
  Type type;
  std::uint32_t per_mille;  ///< of all transactions
};
inline constexpr std::array kFullMix{
    DrawnType{Type::trade_order, 101},  DrawnType{Type::trade_update, 20},
    DrawnType{Type::broker_volume, 49}, DrawnType{Type::customer_position, 130},
    DrawnType{Type::market_watch, 180}, DrawnType{Type::security_detail, 140},
    DrawnType{Type::trade_lookup, 80},  DrawnType{Type::trade_status, 190},
};
inline constexpr std::uint32_t kDrawnPerMille = [] {
  std::uint32_t sum = 0;
  for (const DrawnType& one : kFullMix) sum += one.per_mille;
  return sum;
}();

/// Draws a type of the full mix.
inline Type full_type(Random& random) {
  auto card = static_cast<std::uint32_t>(random.below(kDrawnPerMille));
  std::size_t at = 0;
  while (card >= kFullMix[at].per_mille) card -= kFullMix[at++].per_mille;
  return kFullMix[at].type;
}

/// A type's share of all transactions in the long run.
/// @param kept the share of the orders that don't roll back
/// @param entries those of a Market-Feed
constexpr double full_share(Type type, double kept, double entries) {
  constexpr double kEntriesPerTrade = 2;
  double drawn = 0;
  double orders = 0;
  for (const DrawnType& one : kFullMix) {
    if (one.type == type) drawn = one.per_mille;
    if (one.type == Type::trade_order) orders = one.per_mille;
  }
  const double results = orders * kept;
  const double feeds = results * kEntriesPerTrade / entries;
  const double all = kDrawnPerMille + results + feeds;
  if (type == Type::trade_result) return results / all;
  if (type == Type::market_feed) return feeds / all;
  return drawn / all;
}

}  // namespace heddle::tpce
