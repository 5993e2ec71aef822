#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/signature.h"
#include "protocol/outcome.h"

/// The transaction types of a shop and the states of those that write. They are the same for every
/// trace, so that a policy for one day fits the next.
namespace heddle::shop {

/// In the order of their states; `view` only reads, and has none.
enum class Type : std::uint8_t { cart, purchase, view };
inline constexpr std::size_t kPolicyTypes = 2;
inline constexpr std::array<std::string_view, 3> kTypeNames{"cart", "purchase", "view"};

enum State : AccessId {
  kCartReadStock,
  kCartReserveStock,
  kCartReadLine,
  kCartUpdateLine,
  kCartInsertLine,

  kPurchaseScanCart,
  kPurchaseReadStock,
  kPurchaseSellStock,
  kPurchaseRemoveLine,
  kPurchaseInsertOrder,
  kPurchaseInsertOrderLine,
};

[[nodiscard]] inline Signature signature() {
  using enum AccessKind;
  return {"shop",
          {{"cart",
            {{"read_stock", "STOCK", read},
             {"reserve_stock", "STOCK", update},
             {"read_cart_line", "CART_LINE", read},
             {"update_cart_line", "CART_LINE", update},
             {"insert_cart_line", "CART_LINE", insert}}},
           {"purchase",
            {{"scan_cart", "CART_LINE", scan},
             {"read_stock", "STOCK", read, true},
             {"sell_stock", "STOCK", update, true},
             {"remove_cart_line", "CART_LINE", remove, true},
             {"insert_order", "ORDERS", insert},
             {"insert_order_line", "ORDER_LINE", insert, true}}}}};
}

}  // namespace heddle::shop
