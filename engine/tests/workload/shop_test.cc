#include "workload/shop.h"

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "workload/shop_program.h"

namespace heddle {
namespace {

using shop::OrderLine;
using shop::PlacedOrder;
using shop::Stock;
using test::Alone;
using test::ProgramFile;
using test::shop_program;
using test::ShopRequest;

constexpr auto kCart = ShopRequest::cart;
constexpr auto kPurchase = ShopRequest::purchase;
constexpr auto kView = ShopRequest::view;

ShopOptions options_of(const ProgramFile& file, OptionMap more = {}) {
  more["program"] = file.path();
  return ShopOptions::parse(more);
}

std::string refusal(const ProgramFile& file) {
  try {
    (void)options_of(file);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

Stock stock_of(Alone<Shop>& shop, std::uint64_t product) {
  return *shop.workload().tables().stock.find_quiescent(make_key(product));
}

/// Product and quantity of the lines of an order.
std::vector<std::pair<std::int64_t, std::int64_t>> lines_of(Alone<Shop>& shop,
                                                            shop::RequestId order) {
  std::vector<std::pair<std::int64_t, std::int64_t>> lines;
  shop.workload().tables().order_line.for_each([&](const Key1& key, const OrderLine& row) {
    if (shop::order_of(key) == order) lines.emplace_back(row.product, row.quantity);
  });
  return lines;
}

using Lines = std::vector<std::pair<std::int64_t, std::int64_t>>;

/// Two pieces of product 5 and one of 2 into the cart, then product 2 is bought.
const std::vector<ShopRequest> kVisit{
    {0, kCart, 5}, {0, kCart, 2}, {0, kCart, 5}, {0, kPurchase, 2}};

TEST(Shop, TheSignatureIsTheSameForEveryTrace) {
  const ProgramFile file = shop_program(6, 1, kVisit);
  // The types the other way round, and no views.
  const std::string other = R"("tables": [{"name": "product", "rows": 2}], "types": [
      {"name": "purchase", "accesses": [{"name": "x", "table": 0, "kind": "update"}]},
      {"name": "cart", "accesses": [{"name": "y", "table": 0, "kind": "update"}]}])";
  const ProgramFile reversed(other, 1, {{0, 0, {{0, 1}}}, {0, 1, {{0, 0}}}}, {0, 0});
  using S = Shop<ThreadsMachine>;
  EXPECT_EQ(S::signature(options_of(file)), S::signature(options_of(reversed)));
  EXPECT_EQ(S::signature(options_of(file)).state_count(), 11U);
  EXPECT_EQ(S::type_names(options_of(file)),
            (std::vector<std::string>{"cart", "purchase", "view"}));
  EXPECT_EQ(S::type_names(options_of(reversed)), (std::vector<std::string>{"cart", "purchase"}));
  Alone<Shop> shop(options_of(reversed));
  EXPECT_EQ(shop.next().type, shop::Type::purchase);
  EXPECT_EQ(shop.next().type, shop::Type::cart);
}

TEST(Shop, ACartReservesPieces) {
  const ProgramFile file = shop_program(6, 1, kVisit);
  Alone<Shop> shop(options_of(file, {{"initial_stock", "10"}}));
  (void)shop.run(3);
  EXPECT_EQ(stock_of(shop, 5).head.available, 8);
  EXPECT_EQ(stock_of(shop, 5).head.reserved, 2);
  EXPECT_EQ(stock_of(shop, 2).head.reserved, 1);
  EXPECT_EQ(shop.workload().tables().cart_line.count_quiescent(), 2U);
  EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
}

TEST(Shop, APurchaseSellsTheCart) {
  const ProgramFile file = shop_program(6, 1, kVisit);
  Alone<Shop> shop(options_of(file));
  (void)shop.run(4);
  EXPECT_EQ(lines_of(shop, 3), (Lines{{2, 1}, {5, 2}}));
  const Stock five = stock_of(shop, 5);
  EXPECT_EQ(five.head.available, 98);
  EXPECT_EQ(five.head.reserved, 0);
  EXPECT_EQ(five.sold, 2);
  EXPECT_EQ(five.revenue_cents, 2 * five.head.price_cents);
  const PlacedOrder& order = *shop.workload().tables().orders.find_quiescent(make_key(3));
  EXPECT_EQ(order.lines, 2);
  EXPECT_EQ(order.total_cents, five.revenue_cents + stock_of(shop, 2).head.price_cents);
  EXPECT_EQ(shop.workload().tables().cart_line.count_quiescent(), 0U);
  EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
}

TEST(Shop, APurchaseMaySellTheRecordedProductAlone) {
  const ProgramFile file = shop_program(6, 1, kVisit);
  Alone<Shop> shop(options_of(file, {{"checkout", "product"}}));
  (void)shop.run(4);
  EXPECT_EQ(lines_of(shop, 3), (Lines{{2, 1}}));
  EXPECT_EQ(stock_of(shop, 5).head.reserved, 2);
  EXPECT_EQ(shop.workload().tables().cart_line.count_quiescent(), 1U);
  EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
}

/// The part may begin between the cart and the purchase.
TEST(Shop, WhatIsNotInTheCartIsSoldPastIt) {
  for (const char* checkout : {"cart", "product"}) {
    for (const std::uint32_t product : {0U, 2U, 3U, 5U}) {
      const ProgramFile file = shop_program(
          6, 2, {{0, kCart, 1}, {0, kCart, 4}, {1, kCart, product}, {0, kPurchase, product}});
      Alone<Shop> shop(options_of(file, {{"checkout", checkout}}));
      (void)shop.run(4);
      Lines wanted{{product, 1}};
      if (checkout == std::string("cart")) wanted.insert(wanted.end(), {{1, 1}, {4, 1}});
      std::sort(wanted.begin(), wanted.end());
      EXPECT_EQ(lines_of(shop, 3), wanted) << checkout << " " << product;
      EXPECT_EQ(stock_of(shop, product).head.reserved, 1);  // in the other session's cart
      EXPECT_EQ(stock_of(shop, product).sold, 1);
      EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
    }
  }
}

TEST(Shop, ARoundIsAnotherVisitOfEachSession) {
  const ProgramFile file = shop_program(6, 1, kVisit);
  Alone<Shop> shop(options_of(file));
  const auto counts = shop.run(4000);
  EXPECT_EQ(counts.commits.at(0), 3000);
  EXPECT_EQ(counts.commits.at(1), 1000);
  EXPECT_EQ(counts.aborts, 0);
  EXPECT_EQ(lines_of(shop, 3 + 999 * 4), (Lines{{2, 1}, {5, 2}}));
  EXPECT_EQ(shop.workload().tables().orders.count_quiescent(), 1000U);
  EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
}

TEST(Shop, ComesInAgainWhatIsSoldOut) {
  const ProgramFile file = shop_program(6, 1, kVisit);
  Alone<Shop> shop(options_of(file, {{"initial_stock", "3"}}));
  (void)shop.run(400);
  const Stock five = stock_of(shop, 5);
  EXPECT_EQ(five.sold, 200);
  EXPECT_EQ(five.head.restocked, 198);
  EXPECT_EQ(five.head.available, 1);
  EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
}

TEST(Shop, WhatRolledBackRollsBack) {
  const ProgramFile file = shop_program(6, 1, {{0, kCart, 5, true}, {0, kPurchase, 5, true}});
  Alone<Shop> shop(options_of(file));
  const auto counts = shop.run(20);
  EXPECT_EQ(counts.rollbacks.at(0), 10);
  EXPECT_EQ(counts.rollbacks.at(1), 10);
  EXPECT_EQ(stock_of(shop, 5).head.available, 100);
  EXPECT_EQ(shop.workload().tables().orders.count_quiescent(), 0U);
  EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
}

TEST(Shop, AnOrderHasALimitedNumberOfLines) {
  std::vector<ShopRequest> requests;
  for (std::uint32_t product = 0; product < 100; ++product) requests.push_back({0, kCart, product});
  requests.push_back({0, kPurchase, 99});
  requests.push_back({0, kPurchase, 98});
  const ProgramFile file = shop_program(100, 1, requests);
  Alone<Shop> shop(options_of(file));
  (void)shop.run(102);
  EXPECT_EQ(lines_of(shop, 100).size(), shop::kMostOrderLines);
  EXPECT_EQ(lines_of(shop, 100).back().first, 99);  // bought without the cart
  EXPECT_EQ(lines_of(shop, 101).size(), 100 - (shop::kMostOrderLines - 1));
  EXPECT_EQ(shop.workload().tables().cart_line.count_quiescent(), 0U);
  EXPECT_EQ(shop.workload().check(), std::vector<std::string>{});
}

TEST(Shop, AViewReadsASnapshot) {
  const ProgramFile file = shop_program(6, 1, {{0, kView, 3}, {0, kCart, 3}});
  Alone<Shop> shop(options_of(file));
  const auto counts = shop.run(20);
  EXPECT_EQ(counts.commits.at(2), 10);
  EXPECT_TRUE(Shop<ThreadsMachine>::is_snapshot(2));
}

TEST(Shop, TheSeedDecidesThePrices) {
  const ProgramFile file = shop_program(50, 1, kVisit);
  const auto prices = [&](std::uint64_t seed) {
    Alone<Shop> shop(options_of(file), seed);
    std::set<std::int64_t> found;
    for (std::uint64_t i = 0; i < 50; ++i) found.insert(stock_of(shop, i).head.price_cents);
    return found;
  };
  EXPECT_EQ(prices(1), prices(1));
  EXPECT_NE(prices(1), prices(2));
  EXPECT_GT(prices(1).size(), 40U);
}

TEST(ShopOptions, ATraceOfAnotherKindIsRejectedWithTheReason) {
  const std::string product = R"({"name": "product", "rows": 2})";
  const auto type = [](const std::string& name) {
    return R"({"name": ")" + name +
           R"(", "accesses": [{"name": "a", "table": 0, "kind": "update"}]})";
  };
  const auto header = [](const std::string& tables, const std::string& types) {
    return R"("tables": [)" + tables + R"(], "types": [)" + types + "]";
  };
  const std::string both = type("cart") + ", " + type("purchase");
  const std::map<std::string, std::string> headers{
      {header(R"({"name": "goods", "rows": 2})", both), "it has no table 'product'"},
      {header(product, type("purchase")), "it has no transaction type 'cart'"},
      {header(product, type("cart")), "it has no transaction type 'purchase'"},
      {header(product, both + ", " + type("chat")), "type 'chat' is none of"},
      {header(R"({"name": "x", "rows": 2}, )" + product, both),
       "transaction 0 of the part, a cart, accesses no row of table 'product'"},
  };
  for (const auto& [text, words] : headers) {
    const std::size_t rows = text.find("\"x\"") == std::string::npos ? 2 : 4;
    const ProgramFile file(text, 1, {{0, 0, {{0, 1}}}}, std::vector<std::uint8_t>(rows, 0));
    const std::string told = refusal(file);
    EXPECT_EQ(told.find("shop: the trace is not of a shop: "), 0U);
    EXPECT_NE(told.find(words), std::string::npos) << words << ": " << told;
    EXPECT_NE(told.find("workload=replay"), std::string::npos);
  }
  const ProgramFile several(header(product, both), 1, {{0, 0, {{0, 1}, {0, 0}}}}, {0, 0});
  EXPECT_NE(refusal(several).find("is about several products"), std::string::npos);
}

TEST(ShopOptions, AreChecked) {
  const ProgramFile file = shop_program(6, 1, kVisit);
  EXPECT_THROW(ShopOptions::parse({}), std::invalid_argument);
  EXPECT_THROW((void)options_of(file, {{"initial_stock", "0"}}), std::invalid_argument);
  EXPECT_THROW((void)options_of(file, {{"checkout", "all"}}), std::invalid_argument);
  EXPECT_THROW((void)options_of(file, {{"scan_length", "3"}}), std::invalid_argument);
}

}  // namespace
}  // namespace heddle
