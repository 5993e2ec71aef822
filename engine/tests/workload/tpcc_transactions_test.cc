#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "workload/tpcc.h"

/// The effect of each transaction, one at a time, against clauses 2.4 to 2.8.
namespace heddle::tpcc {
namespace {

using test::Alone;
using M = ThreadsMachine;

class TpccTransactions : public testing::Test {
 protected:
  static constexpr std::uint16_t kWarehouse = 2;
  static constexpr std::uint8_t kDistrict = 3;

  Tables<M>& tables() { return database_.workload().tables(); }

  void expect_consistent() {
    const std::vector<std::string> violations = database_.workload().check();
    EXPECT_TRUE(violations.empty()) << violations.front();
  }

  static NewOrderInput order_of_two_lines() {
    NewOrderInput input{};
    input.entry_us = 123;
    input.warehouse = kWarehouse;
    input.district = kDistrict;
    input.customer = 17;
    input.line_count = 2;
    input.lines[0] = {.item = 500, .supply_warehouse = kWarehouse, .quantity = 4};
    input.lines[1] = {.item = 501, .supply_warehouse = 1, .quantity = 7};
    input.all_local = false;
    return input;
  }

  std::pair<Outcome, NewOrderOutput> order(const NewOrderInput& input) {
    NewOrderOutput output;
    const Outcome outcome = database_.transact(
        [&](auto& txn) { return NewOrderTransaction(txn, tables(), input).run(output); });
    return {outcome, output};
  }

  std::pair<Outcome, PaymentOutput> pay(const PaymentInput& input) {
    PaymentOutput output;
    const Outcome outcome = database_.transact(
        [&](auto& txn) { return PaymentTransaction(txn, tables(), input).run(output); });
    return {outcome, output};
  }

  std::pair<Outcome, DeliveryOutput> deliver(std::uint16_t warehouse, std::uint8_t carrier) {
    const DeliveryInput input{.delivery_us = 456, .warehouse = warehouse, .carrier = carrier};
    DeliveryOutput output;
    const Outcome outcome = database_.transact(
        [&](auto& txn) { return DeliveryTransaction(txn, tables(), input).run(output); });
    return {outcome, output};
  }

  static PaymentInput payment_of(std::uint16_t customer) {
    PaymentInput input{};
    input.date_us = 99;
    input.history = history_key(5, 1).words[0];
    input.amount_cents = 123'45;
    input.warehouse = kWarehouse;
    input.district = kDistrict;
    input.customer = {.warehouse = 1, .customer = customer, .district = 8, .last = {}};
    return input;
  }

  const Customer& customer_row(std::uint32_t warehouse, std::uint32_t district,
                               std::uint32_t number) {
    return *tables().customer.find_quiescent(customer_key(warehouse, district, number));
  }

  Alone<Tpcc> database_{{.warehouses = 2, .mix = TpccOptions::Mix::full}};
};

TEST_F(TpccTransactions, NewOrderWritesTheOrder) {
  const NewOrderInput input = order_of_two_lines();
  const Stock before_0 = *tables().stock.find_quiescent(stock_key(kWarehouse, 500));
  const Stock before_1 = *tables().stock.find_quiescent(stock_key(1, 501));
  const auto [outcome, output] = order(input);
  ASSERT_EQ(outcome, Outcome::commit);
  EXPECT_EQ(output.order, 3001U);

  EXPECT_EQ(tables().district.find_quiescent(district_key(kWarehouse, kDistrict))->head.next_order,
            3002U);
  const Key1 key = order_key(kWarehouse, kDistrict, 3001);
  EXPECT_NE(tables().new_order.find_quiescent(key), nullptr);
  const OOrder& row = *tables().order.find_quiescent(key);
  EXPECT_EQ(row.entry_us, 123U);
  EXPECT_EQ(row.customer, 17U);
  EXPECT_EQ(row.carrier, kNoCarrier);
  EXPECT_EQ(row.lines, 2);
  EXPECT_FALSE(row.all_local);

  const OrderLine& line =
      *tables().order_line.find_quiescent(order_line_key(kWarehouse, kDistrict, 3001, 2));
  const std::uint32_t price_cents = tables().item.find_quiescent(item_key(501))->head.price_cents;
  EXPECT_EQ(line.head.item, 501U);
  EXPECT_EQ(line.head.delivery_us, kNoTime);
  EXPECT_EQ(line.head.amount_cents, 7 * price_cents);
  EXPECT_EQ(line.supply_warehouse, 1U);
  EXPECT_EQ(line.quantity, 7U);
  EXPECT_EQ(line.district_info,
            tables().stock_text.find_quiescent(stock_key(1, 501))->district_info[kDistrict - 1]);

  const Stock& after_0 = *tables().stock.find_quiescent(stock_key(kWarehouse, 500));
  EXPECT_EQ(after_0.quantity, before_0.quantity - 4 + (before_0.quantity < 14 ? 91 : 0));
  EXPECT_EQ(after_0.ytd, 4U);
  EXPECT_EQ(after_0.orders, 1U);
  EXPECT_EQ(after_0.remote_orders, 0U);
  const Stock& after_1 = *tables().stock.find_quiescent(stock_key(1, 501));
  EXPECT_EQ(after_1.quantity, before_1.quantity - 7 + (before_1.quantity < 17 ? 91 : 0));
  EXPECT_EQ(after_1.remote_orders, 1U);
  expect_consistent();
}

TEST_F(TpccTransactions, NewOrderTotals) {
  const NewOrderInput input = order_of_two_lines();
  const auto [outcome, output] = order(input);
  ASSERT_EQ(outcome, Outcome::commit);
  const auto& warehouse = *tables().warehouse.find_quiescent(warehouse_key(kWarehouse));
  const auto& district = *tables().district.find_quiescent(district_key(kWarehouse, kDistrict));
  const auto& customer = customer_row(kWarehouse, kDistrict, 17);
  double sum = 0;
  for (int i = 0; i < 2; ++i) {
    const auto& line = input.lines[static_cast<std::size_t>(i)];
    const auto* item = tables().item.find_quiescent(item_key(line.item));
    sum += line.quantity * static_cast<double>(item->head.price_cents);
  }
  const double total =
      sum * (1 - customer.profile.head.discount_bp / 1e4) *
      (1 + static_cast<double>(warehouse.head.tax_bp) / 1e4 + district.head.tax_bp / 1e4);
  EXPECT_NEAR(static_cast<double>(output.total_cents), total, 0.6);
}

/// The same item twice: the second line takes from the stock that the first one left.
TEST_F(TpccTransactions, NewOrderMayRepeatAnItem) {
  NewOrderInput input = order_of_two_lines();
  input.lines[1] = input.lines[0];
  ASSERT_EQ(order(input).first, Outcome::commit);
  const Stock& stock = *tables().stock.find_quiescent(stock_key(kWarehouse, 500));
  EXPECT_EQ(stock.ytd, 8U);
  EXPECT_EQ(stock.orders, 2U);
  expect_consistent();
}

TEST_F(TpccTransactions, NewOrderWithAnUnusedItemLeavesNoTrace) {
  NewOrderInput input = order_of_two_lines();
  input.lines[1].item = kItems + 1;
  const Stock before = *tables().stock.find_quiescent(stock_key(kWarehouse, 500));
  EXPECT_EQ(order(input).first, Outcome::rollback);
  EXPECT_EQ(tables().stock.find_quiescent(stock_key(kWarehouse, 500))->quantity, before.quantity);
  EXPECT_EQ(tables().district.find_quiescent(district_key(kWarehouse, kDistrict))->head.next_order,
            3001U);
  EXPECT_EQ(tables().order.find_quiescent(order_key(kWarehouse, kDistrict, 3001)), nullptr);
  expect_consistent();
}

TEST_F(TpccTransactions, PaymentMovesMoney) {
  const PaymentInput input = payment_of(44);
  const auto [outcome, output] = pay(input);
  ASSERT_EQ(outcome, Outcome::commit);
  EXPECT_EQ(output.customer, 44U);
  EXPECT_EQ(output.balance_cents, -1000 - 123'45);
  const auto& warehouse = *tables().warehouse.find_quiescent(warehouse_key(kWarehouse));
  const auto& district = *tables().district.find_quiescent(district_key(kWarehouse, kDistrict));
  EXPECT_EQ(warehouse.ytd_cents, 300'000'00 + 123'45);
  EXPECT_EQ(district.ytd_cents, 30'000'00 + 123'45);
  const CustomerHead& head = customer_row(1, 8, 44).profile.head;
  EXPECT_EQ(head.balance_cents, output.balance_cents);
  EXPECT_EQ(head.ytd_payment_cents, 1000 + 123'45);
  EXPECT_EQ(head.payments, 2U);
  const History& history = *tables().history.find_quiescent({{input.history}});
  EXPECT_EQ(history.customer_warehouse, 1);
  EXPECT_EQ(history.customer_district, 8);
  EXPECT_EQ(history.customer, 44);
  EXPECT_EQ(history.warehouse, kWarehouse);
  EXPECT_EQ(history.district, kDistrict);
  EXPECT_EQ(history.date_us, 99U);
  const std::string_view data(history.data.chars.data(), 24);
  EXPECT_EQ(data.substr(0, 14),
            std::string(warehouse.name.chars.begin(), warehouse.name.chars.end()) + "    ");
  EXPECT_EQ(data.substr(14), std::string_view(district.name.chars.data(), 10));
  expect_consistent();
}

TEST_F(TpccTransactions, PaymentsAreNotedForBadCreditOnly) {
  for (const std::string_view credit : {"GC", "BC"}) {
    std::uint16_t number = 1;
    while (customer_row(1, 8, number).profile.head.credit.view() != credit) ++number;
    const std::string before(customer_row(1, 8, number).data.view());
    PaymentInput input = payment_of(number);
    input.history = history_key(6, number).words[0];
    ASSERT_EQ(pay(input).first, Outcome::commit);
    const std::string after(customer_row(1, 8, number).data.view());
    if (credit == "GC") {
      EXPECT_EQ(after, before);
    } else {
      const std::string note = std::to_string(number) + " 8 1 3 2 12345 ";
      EXPECT_EQ(after, (note + before).substr(0, 500));
    }
    EXPECT_EQ(customer_row(1, 8, number).profile.head.payments, 2U);
  }
  expect_consistent();
}

TEST_F(TpccTransactions, ByLastNameTheMiddleCustomerPays) {
  std::map<std::string, std::vector<std::pair<std::string, std::uint32_t>>> by_name;
  for (std::uint32_t number = 1; number <= kCustomersPerDistrict; ++number) {
    const CustomerProfile& profile = customer_row(1, 8, number).profile;
    by_name[std::string(profile.head.last.view())].emplace_back(profile.first.view(), number);
  }
  EXPECT_EQ(by_name.size(), 1000U);
  std::size_t most = 0;
  std::uint64_t payments = 0;
  for (auto& [last, namesakes] : by_name) {
    std::sort(namesakes.begin(), namesakes.end());
    most = std::max(most, namesakes.size());
    const std::size_t position = (namesakes.size() + 1) / 2;  // ceil(n / 2), counted from 1

    PaymentInput input = payment_of(CustomerChoice::kByLastName);
    input.customer.last = Text<16>::of(last);
    input.history = history_key(7, ++payments).words[0];
    const auto [outcome, output] = pay(input);
    ASSERT_EQ(outcome, Outcome::commit);
    ASSERT_EQ(output.customer, namesakes[position - 1].second) << namesakes.size() << " namesakes";
  }
  EXPECT_GT(most, 2 * NamesakesHead::kCustomers) << "the long lists are not exercised";
  expect_consistent();
}

TEST_F(TpccTransactions, DeliveryTakesTheOldestOrderOfEachDistrict) {
  const auto [outcome, output] = deliver(kWarehouse, 9);
  ASSERT_EQ(outcome, Outcome::commit);
  EXPECT_EQ(output.delivered, 10U);
  for (std::uint32_t district = 1; district <= 10; ++district) {
    const Key1 key = order_key(kWarehouse, district, 2101);
    EXPECT_EQ(tables().new_order.find_quiescent(key), nullptr);
    const OOrder& row = *tables().order.find_quiescent(key);
    EXPECT_EQ(row.carrier, 9);
    std::int64_t sum_cents = 0;
    for (std::uint32_t line = 1; line <= row.lines; ++line) {
      const OrderLine& order_line =
          *tables().order_line.find_quiescent(order_line_key(kWarehouse, district, 2101, line));
      EXPECT_EQ(order_line.head.delivery_us, 456U);
      sum_cents += order_line.head.amount_cents;
    }
    const CustomerHead& head = customer_row(kWarehouse, district, row.customer).profile.head;
    EXPECT_EQ(head.balance_cents, -1000 + sum_cents);
    EXPECT_EQ(head.deliveries, 1U);
  }
  expect_consistent();
}

TEST_F(TpccTransactions, DeliverySkipsDistrictsWithoutNewOrders) {
  for (int i = 0; i < 900; ++i) ASSERT_EQ(deliver(1, 1).second.delivered, 10U);
  ASSERT_EQ(tables().new_order.count_quiescent(), 9000U) << "the other warehouse's are left";
  expect_consistent();
  NewOrderInput input = order_of_two_lines();
  input.warehouse = 1;
  ASSERT_EQ(order(input).first, Outcome::commit);
  const auto [outcome, output] = deliver(1, 1);
  EXPECT_EQ(outcome, Outcome::commit);
  EXPECT_EQ(output.delivered, 1U);
  EXPECT_EQ(output.skipped, 9U);
  expect_consistent();
}

TEST_F(TpccTransactions, OrderStatusFindsTheLatestOrder) {
  const NewOrderInput input = order_of_two_lines();
  ASSERT_EQ(order(input).first, Outcome::commit);
  ASSERT_EQ(order(input).first, Outcome::commit);
  OrderStatusOutput output;
  const OrderStatusInput question{
      {.warehouse = kWarehouse, .customer = 17, .district = kDistrict, .last = {}}};
  EXPECT_EQ(
      database_.look([&](auto& txn) { return order_status(txn, tables(), question, output); }),
      Outcome::commit);
  EXPECT_EQ(output.customer, 17U);
  EXPECT_EQ(output.order, 3002U);
  EXPECT_EQ(output.lines, 2U);
  EXPECT_EQ(output.carrier, kNoCarrier);
  EXPECT_EQ(output.balance_cents, -1000);
}

TEST_F(TpccTransactions, StockLevelCountsEachItemOnce) {
  for (const std::uint8_t threshold : {10, 15, 20, 200}) {
    std::vector<std::uint32_t> items;
    tables().order_line.for_each([&](const Key1& key, const OrderLine& row) {
      const OrderId id = order_of(key.words[0] >> kLineBits);
      if (id.district.warehouse == kWarehouse && id.district.district == kDistrict &&
          id.order > 3000 - 20) {
        items.push_back(row.head.item);
      }
    });
    std::sort(items.begin(), items.end());
    items.erase(std::unique(items.begin(), items.end()), items.end());
    const auto low = std::count_if(items.begin(), items.end(), [&](std::uint32_t item) {
      return tables().stock.find_quiescent(stock_key(kWarehouse, item))->quantity < threshold;
    });
    StockLevelOutput output;
    EXPECT_EQ(database_.look([&](auto& txn) {
      return stock_level(txn, tables(), {kWarehouse, kDistrict, threshold}, output);
    }),
              Outcome::commit);
    EXPECT_EQ(output.low_stock, low);
  }
}

/// Every order and line is counted once, and those that the transaction's own past added.
TEST_F(TpccTransactions, TheAnalyticalQueryCountsOrdersByState) {
  ASSERT_EQ(order(order_of_two_lines()).first, Outcome::commit);
  ASSERT_EQ(deliver(kWarehouse, 4).first, Outcome::commit);
  for (const std::uint32_t latest : {1U, 100U, 1'000'000U}) {
    std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> expected;
    tables().order.for_each([&](const Key1& key, const OOrder& row) {
      const DistrictId district = order_of(key.words[0]).district;
      const std::uint32_t next =
          tables()
              .district.find_quiescent(district_key(district.warehouse, district.district))
              ->head.next_order;
      if (order_of(key.words[0]).order + std::uint64_t{latest} < next) return;
      const Text<2> state =
          tables().warehouse.find_quiescent(warehouse_key(district.warehouse))->address.state;
      auto& [orders, lines] = expected[std::string(state.view())];
      ++orders;
      lines += row.lines;
    });
    AnalyticalOutput output;
    const AnalyticalInput question{.orders = latest, .first_warehouse = 1, .warehouses = 2};
    ASSERT_EQ(database_.transact(
                  [&](auto& txn) { return AnalyticalQuery(txn, tables(), question).run(output); }),
              Outcome::commit);
    ASSERT_EQ(output.count, expected.size());
    for (std::size_t i = 0; i < output.count; ++i) {
      const AnalyticalOutput::Group& group = output.groups.at(i);
      const auto& [orders, lines] = expected.at(std::string(group.state.view()));
      EXPECT_EQ(group.orders, orders);
      EXPECT_EQ(group.lines, lines);
    }
  }
}

/// Two warehouses in one state are one row of the result.
TEST_F(TpccTransactions, TheAnalyticalQueryGroupsWarehousesOfOneState) {
  const Text<2> state = tables().warehouse.find_quiescent(warehouse_key(1))->address.state;
  ASSERT_EQ(database_.transact([&](auto& txn) {
    const auto row = txn.read(kPaymentReadWarehouse, tables().warehouse, warehouse_key(2));
    return txn.update(kPaymentUpdateWarehouse, tables().warehouse, row,
                      [&](Warehouse& copy) { copy.address.state = state; })
               ? Outcome::commit
               : Outcome::abort;
  }),
            Outcome::commit);
  AnalyticalOutput output;
  const AnalyticalInput question{.orders = 5, .first_warehouse = 1, .warehouses = 2};
  ASSERT_EQ(database_.transact(
                [&](auto& txn) { return AnalyticalQuery(txn, tables(), question).run(output); }),
            Outcome::commit);
  ASSERT_EQ(output.count, 1U);
  EXPECT_EQ(output.groups.front().state, state);
  EXPECT_EQ(output.groups.front().orders, 2 * kDistrictsPerWarehouse * 5U);
}

TEST_F(TpccTransactions, StaysConsistentOverManyTransactions) {
  const auto counts = database_.run(20'000);
  EXPECT_EQ(counts.aborts, 0);
  for (int type = 0; type < 5; ++type) EXPECT_GT(counts.commits.at(type), 500);
  const double orders = counts.commits.at(0) + counts.rollbacks.at(0);
  EXPECT_NEAR(counts.rollbacks.at(0), orders / 100, 6 * std::sqrt(orders / 100));
  EXPECT_EQ(counts.rollbacks.size(), 1U) << "only NewOrder rolls back";
  expect_consistent();
}

}  // namespace
}  // namespace heddle::tpcc
