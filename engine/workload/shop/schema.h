#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/key.h"

/// The rows of a shop. Money is in whole cents, so that the consistency conditions hold exactly.
namespace heddle::shop {

/// A request in a round of the replay, as one number. It is also the number of the order that the
/// request creates.
using RequestId = std::uint64_t;
inline constexpr RequestId kNoRequest = ~RequestId{0};

/// The columns that CART changes come before those that only PURCHASE changes: see
/// OptimisticCore::reads_the_same().
struct StockHead {
  std::int64_t price_cents;
  std::int64_t available;  ///< pieces that are in no cart
  std::int64_t reserved;   ///< pieces in carts
  std::int64_t restocked;  ///< pieces restocked since the start
};
static_assert(sizeof(StockHead) == 32);

/// A product. Key: its number.
struct Stock {
  StockHead head;
  std::int64_t sold;  ///< pieces
  std::int64_t revenue_cents;
};
static_assert(sizeof(Stock) == 48);

/// A product in a cart. Key: visit and product, see `CartKeys`.
struct CartLine {
  RequestId put_in_by;  ///< the request that put the first piece into the cart
  std::int64_t quantity;
  std::int64_t price_cents;  ///< of a piece, at that time
};
static_assert(sizeof(CartLine) == 24);

/// A purchase. Key: its request.
struct PlacedOrder {
  std::uint64_t visit;
  std::uint64_t placed_us;  ///< from the trace, after the start of its part
  std::int64_t lines;
  std::int64_t total_cents;
};
static_assert(sizeof(PlacedOrder) == 32);

/// A product of an order. Key: see `order_line_key`.
struct OrderLine {
  RequestId put_in_cart_by;  ///< kNoRequest: it was bought without the cart
  std::int64_t product;
  std::int64_t quantity;
  std::int64_t amount_cents;
};
static_assert(sizeof(OrderLine) == 32);

inline constexpr std::size_t kMostOrderLines = 64;
inline constexpr int kLineBits = 7;
static_assert(kMostOrderLines < 1U << kLineBits);

/// Lines of an order are numbered from 1.
constexpr Key1 order_line_key(RequestId order, std::uint64_t line) {
  return make_key(order << kLineBits | line);
}
constexpr RequestId order_of(const Key1& order_line) { return order_line.words[0] >> kLineBits; }
constexpr std::uint64_t line_of(const Key1& order_line) {
  return order_line.words[0] & ((1U << kLineBits) - 1);
}

}  // namespace heddle::shop
