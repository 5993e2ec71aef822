#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"
#include "workload/tpcc.h"
#include "workload/tpcc/consistency.h"

/// Every condition is made to fail: a check that cannot fail proves nothing.
namespace heddle::tpcc {
namespace {

using test::Alone;

class TpccConsistency : public test::Damage<Tpcc> {
 protected:
  TpccConsistency() : Damage(database_) {}

  Alone<Tpcc> database_{{}};
};

TEST_F(TpccConsistency, LostPaymentToTheWarehouse) {
  damage(tables().warehouse, warehouse_key(1), [](Warehouse& row) { --row.ytd_cents; });
  EXPECT_EQ(violated(), (Names{"3.3.2.1", "3.3.2.8"}));
  EXPECT_EQ(database_.workload().check().front(),
            "3.3.2.1: warehouse 1: W_YTD is 29999999 cents, its districts' D_YTD add up to "
            "30000000");
}

TEST_F(TpccConsistency, LostPaymentToTheDistrict) {
  damage(tables().district, district_key(1, 4), [](District& row) { --row.ytd_cents; });
  EXPECT_EQ(violated(), (Names{"3.3.2.1", "3.3.2.9"}));
}

TEST_F(TpccConsistency, LostOrderNumber) {
  damage(tables().district, district_key(1, 4), [](District& row) { ++row.head.next_order; });
  EXPECT_EQ(violated(), (Names{"3.3.2.2"}));
}

TEST_F(TpccConsistency, NewOrderDeliveredOutOfTurn) {
  remove(tables().new_order, order_key(1, 4, 2500));
  EXPECT_EQ(violated(), (Names{"3.3.2.11", "3.3.2.3", "3.3.2.5"}));
}

TEST_F(TpccConsistency, LostOrderLine) {
  remove(tables().order_line, order_line_key(1, 4, 2500, 5));
  const Names names = violated();
  EXPECT_TRUE(std::count(names.begin(), names.end(), "3.3.2.4"));
  EXPECT_TRUE(std::count(names.begin(), names.end(), "3.3.2.6"));
}

TEST_F(TpccConsistency, LostOrder) {
  remove(tables().order, order_key(1, 4, 3000));
  const Names names = violated();
  for (const char* name : {"3.3.2.2", "3.3.2.4", "3.3.2.5", "orders by customer"}) {
    EXPECT_TRUE(std::count(names.begin(), names.end(), name)) << name;
  }
}

TEST_F(TpccConsistency, CarrierWithoutDelivery) {
  damage(tables().order, order_key(1, 4, 2500), [](OOrder& row) { row.carrier = 1; });
  EXPECT_EQ(violated(), (Names{"3.3.2.5", "3.3.2.7"}));
}

TEST_F(TpccConsistency, LineLeftBehind) {
  damage(tables().order_line, order_line_key(1, 4, 7, 2),
         [](OrderLine& row) { row.head.delivery_us = kNoTime; });
  EXPECT_EQ(violated(), (Names{"3.3.2.7"}));
}

TEST_F(TpccConsistency, LostUpdateOfABalance) {
  damage(tables().customer, customer_key(1, 4, 77),
         [](Customer& row) { ++row.profile.head.balance_cents; });
  EXPECT_EQ(violated(), (Names{"3.3.2.10", "3.3.2.12"}));
}

TEST_F(TpccConsistency, LostHistory) {
  Key1 key{};
  tables().history.for_each([&](const Key1& row_key, const History&) { key = row_key; });
  remove(tables().history, key);
  EXPECT_EQ(violated(), (Names{"3.3.2.10", "3.3.2.8", "3.3.2.9", "payments"}));
}

TEST_F(TpccConsistency, LostDelivery) {
  damage(tables().customer, customer_key(1, 4, 77),
         [](Customer& row) { ++row.profile.head.deliveries; });
  EXPECT_EQ(violated(), (Names{"3.3.2.11"}));
}

TEST_F(TpccConsistency, LostUpdateOfAStock) {
  damage(tables().stock, stock_key(1, 9), [](Stock& row) { ++row.orders; });
  EXPECT_EQ(violated(), (Names{"stock"}));
}

TEST_F(TpccConsistency, ReportsAreBounded) {
  for (std::uint32_t item = 1; item <= 100; ++item) {
    damage(tables().stock, stock_key(1, item), [](Stock& row) { row.quantity = 1000; });
  }
  const std::vector<std::string> lines = database_.workload().check();
  ASSERT_EQ(lines.size(), 9U);
  EXPECT_EQ(lines.back(), "stock: and 92 more");
}

}  // namespace
}  // namespace heddle::tpcc
