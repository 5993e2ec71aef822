#pragma once

#include <cstdint>
#include <memory>

#include "model/options.h"
#include "workload/replay/program_option.h"
#include "workload/shop/requests.h"

namespace heddle {

/// The options of the shop.
struct ShopOptions {
  /// What a purchase takes out of the cart.
  enum class Checkout {
    cart,     ///< all of it
    product,  ///< the recorded product
  };

  std::shared_ptr<const shop::Requests> requests;
  std::int64_t initial_stock = 100;  ///< pieces of each product; as many come in when it is out
  Checkout checkout = Checkout::cart;

  static constexpr std::int64_t kMostStock = 1'000'000'000;

  /// Opens the replay program, and reads all of it.
  static ShopOptions parse(const OptionMap& map) {
    OptionReader reader("shop", map);
    ShopOptions options;
    options.requests = std::make_shared<const shop::Requests>(replay::program_option(reader, map));
    options.initial_stock = reader.integer("initial_stock", options.initial_stock, 1, kMostStock);
    options.checkout = reader.choice("checkout", "cart", {"cart", "product"}) == "cart"
                           ? Checkout::cart
                           : Checkout::product;
    reader.finish();
    return options;
  }
};

}  // namespace heddle
