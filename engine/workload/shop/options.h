#pragma once

#include <cstdint>
#include <memory>

#include "model/options.h"
#include "workload/replay/program_option.h"
#include "workload/shop/requests.h"

namespace heddle {

/// The options of the shop.
struct ShopOptions {
  /// The products that a purchase takes out of the cart.
  enum class Checkout {
    cart,     ///< all of them
    product,  ///< the recorded product
  };

  replay::ProgramOption file;
  std::shared_ptr<const shop::Requests> requests;  ///< the requests in the file
  std::int64_t initial_stock = 100;
  Checkout checkout = Checkout::cart;

  static constexpr std::int64_t kMostStock = 1'000'000'000;

  void read(OptionReader& reader) {
    file.read(reader);
    reader.integer("initial_stock", initial_stock, 1, kMostStock,
                   "pieces of each product; as many arrive when it is sold out");
    reader.choice("checkout", checkout, {{"cart", Checkout::cart}, {"product", Checkout::product}},
                  "what a purchase sells: all of the cart, or the recorded product alone");
  }

  /// Opens the replay program, and reads all of it.
  static ShopOptions parse(const OptionMap& map) {
    OptionReader reader("shop", map);
    auto options = read_options<ShopOptions>(reader);
    options.requests = std::make_shared<const shop::Requests>(options.file.open(reader));
    return options;
  }
};

}  // namespace heddle
