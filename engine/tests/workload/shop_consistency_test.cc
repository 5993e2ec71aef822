#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"
#include "workload/shop.h"
#include "workload/shop_program.h"

/// Every condition is made to fail: a check that cannot fail proves nothing.
namespace heddle::shop {
namespace {

using test::Alone;
using test::ProgramFile;
using test::ShopRequest;

constexpr auto kCart = ShopRequest::cart;
constexpr auto kPurchase = ShopRequest::purchase;

class ShopConsistency : public test::Damage<Shop> {
 protected:
  /// Two visits: the first leaves product 2 in the cart, with order 4; the second buys all.
  ShopConsistency() : Damage(database_) { (void)database_.run(kRequests); }

  static constexpr RequestId kOrder = 4;
  static constexpr int kRequests = 8;
  const ProgramFile file_ = test::shop_program(4, 2,
                                               {{0, kCart, 1},
                                                {0, kCart, 3},
                                                {0, kCart, 3},
                                                {1, kCart, 0},
                                                {0, kPurchase, 1},
                                                {0, kCart, 2},
                                                {1, kCart, 1},
                                                {1, kPurchase, 2}});
  Alone<Shop> database_{ShopOptions::parse({{"program", file_.path()}})};
  const Key1 cart_of_0_ = tables().cart_keys.key(0, 2);
};

TEST_F(ShopConsistency, HoldsAtFirst) { EXPECT_EQ(database_.workload().check(), Names{}); }

TEST_F(ShopConsistency, LostPiece) {
  damage(tables().stock, make_key(0u), [](Stock& row) { --row.head.available; });
  EXPECT_EQ(violated(), (Names{"stock"}));
  EXPECT_EQ(database_.workload().check().front(),
            "stock: product 0: of 100 pieces and 0 more, 98 are available, 0 reserved, 1 sold");
}

TEST_F(ShopConsistency, SoldMoreThanThereWas) {
  damage(tables().stock, make_key(0u), [](Stock& row) {
    row.head.available = -1;
    row.head.restocked -= 100;
  });
  EXPECT_EQ(violated(), (Names{"stock"}));
}

TEST_F(ShopConsistency, LostReservation) {
  damage(tables().stock, make_key(2u), [](Stock& row) {
    --row.head.reserved;
    ++row.head.available;
  });
  EXPECT_EQ(violated(), (Names{"reservations"}));
}

TEST_F(ShopConsistency, LostSale) {
  damage(tables().stock, make_key(1u), [](Stock& row) {
    --row.sold;
    ++row.head.available;
  });
  EXPECT_EQ(violated(), (Names{"sales"}));
}

TEST_F(ShopConsistency, LostMoney) {
  damage(tables().stock, make_key(1u), [](Stock& row) { --row.revenue_cents; });
  EXPECT_EQ(violated(), (Names{"revenue"}));
}

TEST_F(ShopConsistency, LostCartLine) {
  remove(tables().cart_line, cart_of_0_);
  EXPECT_EQ(violated(), (Names{"reservations"}));
}

TEST_F(ShopConsistency, EmptyCartLine) {
  damage(tables().cart_line, cart_of_0_, [](CartLine& row) { row.quantity = 0; });
  EXPECT_EQ(violated(), (Names{"cart lines", "reservations"}));
}

TEST_F(ShopConsistency, CartLineOfAnotherVisit) {
  damage(tables().cart_line, cart_of_0_, [](CartLine& row) { row.put_in_by = 3; });
  EXPECT_EQ(violated(), (Names{"cart lines", "reservations"}));
}

TEST_F(ShopConsistency, InTheCartAndOrdered) {
  insert(tables().cart_line, tables().cart_keys.key(0, 3), CartLine{1, 2, 5});
  damage(tables().stock, make_key(3u), [](Stock& row) {
    row.head.reserved += 2;
    row.head.available -= 2;
  });
  EXPECT_EQ(violated(), (Names{"carts and orders"}));
}

TEST_F(ShopConsistency, LostOrder) {
  remove(tables().orders, make_key(kOrder));
  EXPECT_EQ(violated(), (Names{"order lines", "revenue", "sales"}));
}

TEST_F(ShopConsistency, LostOrderLine) {
  remove(tables().order_line, order_line_key(kOrder, 1));
  EXPECT_EQ(violated(), (Names{"order lines", "order products", "order sizes", "order totals",
                               "revenue", "sales"}));
}

TEST_F(ShopConsistency, WrongTotal) {
  damage(tables().orders, make_key(kOrder), [](PlacedOrder& row) { ++row.total_cents; });
  EXPECT_EQ(violated(), (Names{"order totals"}));
}

TEST_F(ShopConsistency, OrderOfAnotherVisit) {
  damage(tables().orders, make_key(kOrder), [](PlacedOrder& row) { row.visit = 1; });
  EXPECT_EQ(violated(), (Names{"orders"}));
}

TEST_F(ShopConsistency, LineFromAnotherCart) {
  damage(tables().order_line, order_line_key(kOrder, 1),
         [](OrderLine& row) { row.put_in_cart_by = 6; });
  EXPECT_EQ(violated(), (Names{"order lines", "order products", "revenue", "sales"}));
}

TEST_F(ShopConsistency, UnaskedForPastTheCart) {
  damage(tables().order_line, order_line_key(kOrder, 2),
         [](OrderLine& row) { row.put_in_cart_by = kNoRequest; });
  EXPECT_EQ(violated(), (Names{"order lines", "revenue", "sales"}));
}

TEST_F(ShopConsistency, LostProduct) {
  remove(tables().stock, make_key(2u));
  EXPECT_EQ(violated(), (Names{"products"}));
}

TEST_F(ShopConsistency, UnknownProduct) {
  insert(tables().stock, make_key(7u), Stock{});
  EXPECT_EQ(violated(), (Names{"products"}));
}

}  // namespace
}  // namespace heddle::shop
