#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "workload/program_file.h"

namespace heddle::test {

/// A request to a shop, by its session.
struct ShopRequest {
  enum Type : std::uint16_t { cart, purchase, view };

  std::uint32_t session;
  Type type;
  std::uint32_t product;
  bool rolls_back = false;
};

/// The tables and types of a shop's trace, as the importer of a shop's log declares them.
inline std::string shop_header(std::size_t products, std::size_t sessions, std::size_t requests) {
  const auto table = [](const std::string& name, std::size_t rows) {
    return R"({"name": ")" + name + R"(", "rows": )" + std::to_string(rows) + "}";
  };
  return R"("tables": [)" + table("product", products) + ", " + table("cart", sessions) + ", " +
         table("orders", requests) + R"(],
    "types": [
      {"name": "cart", "accesses": [
        {"name": "read_product", "table": 0, "kind": "read"},
        {"name": "reserve_product", "table": 0, "kind": "update"},
        {"name": "update_cart", "table": 1, "kind": "update"}]},
      {"name": "purchase", "accesses": [
        {"name": "read_product", "table": 0, "kind": "read"},
        {"name": "sell_product", "table": 0, "kind": "update"},
        {"name": "insert_order", "table": 2, "kind": "insert"}]},
      {"name": "view", "accesses": [
        {"name": "read_product", "table": 0, "kind": "read"}]}])";
}

/// A replay program of some requests.
inline ProgramFile shop_program(std::uint32_t products, std::uint32_t sessions,
                                const std::vector<ShopRequest>& requests) {
  std::vector<ProgramFile::Transaction> transactions;
  for (const ShopRequest& one : requests) {
    const auto number = static_cast<std::uint32_t>(transactions.size());
    std::vector<ProgramFile::Access> accesses{{0, one.product}};
    if (one.type != ShopRequest::view) {
      accesses.push_back({1, one.product});
      accesses.push_back({2, one.type == ShopRequest::cart ? one.session : number});
    }
    transactions.push_back({one.session, one.type, std::move(accesses), one.rolls_back});
  }
  // Products and carts exist at the beginning, orders do not.
  std::vector<std::uint8_t> born(products + sessions, 0);
  born.resize(born.size() + requests.size(), 1);
  return {shop_header(products, sessions, requests.size()), sessions, transactions, born};
}

/// A busy day: every session puts three of a few products into its cart, buys one of them or one
/// without the cart, and views one.
inline ProgramFile busy_shop_program(std::uint32_t products, std::uint32_t sessions) {
  std::vector<ShopRequest> requests;
  for (std::uint32_t step = 0; step < 5; ++step) {
    for (std::uint32_t session = 0; session < sessions; ++session) {
      const std::uint32_t product = (session * 7 + step * step * 3) % products;
      const auto type = step < 3    ? ShopRequest::cart
                        : step == 3 ? ShopRequest::purchase
                                    : ShopRequest::view;
      requests.push_back({session, type, product, session % 11 == step});
    }
  }
  return shop_program(products, sessions, requests);
}

}  // namespace heddle::test
