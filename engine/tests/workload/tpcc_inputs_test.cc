#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <set>

#include <gtest/gtest.h>

#include "workload/tpcc/inputs.h"

/// The inputs of terminals, against clauses 2.4.1, 2.5.1, 2.6.1, 2.7.1, 2.8.1 and 5.2.3.
namespace heddle::tpcc {
namespace {

constexpr int kDraws = 100'000;

class Terminal {
 public:
  explicit Terminal(const TpccOptions& options, std::uint64_t seed = 1)
      : random_(seed), generator_(options, 64) {
    generator_.use(NurandConstants::draw(random_));
  }

  Input next(int worker = 0, int workers = 1) {
    Input input{};
    generator_.generate(random_, worker, workers, ++now_us_, input);
    return input;
  }

  /// The next input of one type.
  Input next_of(Type type) {
    for (;;) {
      const Input input = next();
      if (input.type == type) return input;
    }
  }

 private:
  Random random_;
  InputGenerator generator_;
  std::uint64_t now_us_ = 0;
};

/// `count` of `draws` for a probability: six standard deviations practically never occur by chance.
void expect_share(int count, int draws, double probability) {
  EXPECT_NEAR(count, draws * probability, 6 * std::sqrt(draws * probability * (1 - probability)));
}

TEST(TpccInputs, MixesAreAsNamed) {
  using Mix = TpccOptions::Mix;
  const std::map<Mix, std::array<double, 5>> shares{
      {Mix::read_write, {45 / 92.0, 43 / 92.0, 4 / 92.0, 0, 0}},
      {Mix::full, {0.45, 0.43, 0.04, 0.04, 0.04}},
      {Mix::new_order_payment, {45 / 88.0, 43 / 88.0, 0, 0, 0}}};
  for (const auto& [mix, expected] : shares) {
    Terminal terminal({.mix = mix});
    std::array<int, 5> counts{};
    for (int i = 0; i < kDraws; ++i) ++counts.at(static_cast<std::size_t>(terminal.next().type));
    for (std::size_t type = 0; type < 5; ++type) {
      expect_share(counts[type], kDraws, expected[type]);
    }
  }
}

TEST(TpccInputs, AnalyticalQueriesReplaceStockLevels) {
  Terminal terminal({.warehouses = 5,
                     .mix = TpccOptions::Mix::full,
                     .analytical = 1,
                     .analytical_warehouses = 2,
                     .analytical_orders = 30});
  const std::array<double, 6> shares{0.45, 0.43, 0.04, 0.04, 0.03, 0.01};
  const std::array<int, 6> numbers{0, 1, 2, 4, 5, 3};  // those with states come first
  std::array<int, 6> counts{};
  std::map<int, int> first_warehouses;
  for (int i = 0; i < kDraws; ++i) {
    const Input input = terminal.next();
    ++counts.at(static_cast<std::size_t>(input.type));
    ASSERT_EQ(input.number, numbers.at(static_cast<std::size_t>(input.type)));
    if (input.type != Type::analytical) continue;
    EXPECT_EQ(input.analytical.warehouses, 2);
    EXPECT_EQ(input.analytical.orders, 30U);
    ++first_warehouses[input.analytical.first_warehouse];
  }
  for (std::size_t type = 0; type < shares.size(); ++type) {
    expect_share(counts.at(type), kDraws, shares.at(type));
  }
  ASSERT_EQ(first_warehouses.size(), 4U);
  for (const auto& [first, count] : first_warehouses) {
    EXPECT_TRUE(first >= 1 && first <= 4);
    expect_share(count, counts.back(), 0.25);
  }
}

TEST(TpccInputs, NewOrder) {
  Terminal terminal({.warehouses = 4});
  int orders = 0;
  int lines = 0;
  int rollbacks = 0;
  int remote_lines = 0;
  std::map<int, int> line_counts;
  std::map<int, int> quantities;
  std::map<int, int> districts;
  for (; orders < 50'000; ++orders) {
    const NewOrderInput input = terminal.next_of(Type::new_order).new_order;
    ++line_counts[input.line_count];
    ++districts[input.district];
    ASSERT_TRUE(input.customer >= 1 && input.customer <= 3000);
    bool all_local = true;
    for (int i = 0; i < input.line_count; ++i) {
      const auto& line = input.lines[static_cast<std::size_t>(i)];
      ++lines;
      ++quantities[line.quantity];
      ASSERT_TRUE(line.supply_warehouse >= 1 && line.supply_warehouse <= 4);
      remote_lines += line.supply_warehouse != input.warehouse;
      all_local = all_local && line.supply_warehouse == input.warehouse;
      if (line.item > kItems) {
        ASSERT_EQ(i + 1, input.line_count) << "the unused item comes last";
        ++rollbacks;
      }
    }
    ASSERT_EQ(all_local, input.all_local);
  }
  expect_share(rollbacks, orders, 0.01);
  expect_share(remote_lines, lines, 0.01);
  EXPECT_EQ(line_counts.size(), 11U);
  for (const auto& [count, times] : line_counts) expect_share(times, orders, 1 / 11.0);
  EXPECT_EQ(quantities.size(), 10U);
  EXPECT_EQ(quantities.begin()->first, 1);
  for (const auto& [quantity, times] : quantities) expect_share(times, lines, 0.1);
  EXPECT_EQ(districts.size(), 10U);
  for (const auto& [district, times] : districts) expect_share(times, orders, 0.1);
}

TEST(TpccInputs, Payment) {
  Terminal terminal({.warehouses = 3});
  int by_name = 0;
  int remote = 0;
  std::set<std::uint64_t> keys;
  constexpr int kPayments = 50'000;
  for (int i = 0; i < kPayments; ++i) {
    const PaymentInput input = terminal.next_of(Type::payment).payment;
    const CustomerChoice& customer = input.customer;
    keys.insert(input.history);
    by_name += customer.customer == CustomerChoice::kByLastName;
    ASSERT_LE(customer.customer, 3000);
    ASSERT_TRUE(input.amount_cents >= 100 && input.amount_cents <= 500'000);
    ASSERT_TRUE(customer.warehouse >= 1 && customer.warehouse <= 3);
    ASSERT_TRUE(customer.district >= 1 && customer.district <= 10);
    if (customer.warehouse == input.warehouse) {
      ASSERT_EQ(customer.district, input.district);
    } else {
      ++remote;
    }
  }
  expect_share(by_name, kPayments, 0.6);
  expect_share(remote, kPayments, 0.15);
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(kPayments)) << "each payment has its own row";
}

/// With one warehouse there is no other to pay at, but the districts still differ.
TEST(TpccInputs, OneWarehouseHasNoRemoteOne) {
  Terminal terminal({.warehouses = 1});
  int other_district = 0;
  for (int i = 0; i < 20'000; ++i) {
    const PaymentInput payment = terminal.next_of(Type::payment).payment;
    ASSERT_EQ(payment.customer.warehouse, 1);
    other_district += payment.customer.district != payment.district;
    const NewOrderInput order = terminal.next_of(Type::new_order).new_order;
    ASSERT_TRUE(order.all_local);
  }
  expect_share(other_district, 20'000, 0.15 * 0.9);
}

TEST(TpccInputs, DeliveryAndQueries) {
  Terminal terminal({.mix = TpccOptions::Mix::full});
  std::set<int> carriers;
  std::set<int> thresholds;
  int by_name = 0;
  for (int i = 0; i < 3000; ++i) {
    carriers.insert(terminal.next_of(Type::delivery).delivery.carrier);
    thresholds.insert(terminal.next_of(Type::stock_level).stock_level.threshold);
    by_name += terminal.next_of(Type::order_status).order_status.customer.customer == 0;
  }
  EXPECT_EQ(carriers.size(), 10U);
  EXPECT_EQ(*carriers.begin(), 1);
  EXPECT_EQ(thresholds.size(), 11U);
  EXPECT_EQ(*thresholds.begin(), 10);
  expect_share(by_name, 3000, 0.6);
}

TEST(TpccInputs, WorkersHaveHomes) {
  const auto homes = [](int warehouses, int worker, int workers) {
    Terminal terminal({.warehouses = warehouses});
    std::set<int> seen;
    for (int i = 0; i < 2000; ++i) {
      const Input input = terminal.next(worker, workers);
      if (input.type == Type::new_order) seen.insert(input.new_order.warehouse);
    }
    return seen;
  };
  EXPECT_EQ(homes(1, 7, 8), (std::set<int>{1}));
  EXPECT_EQ(homes(3, 4, 8), (std::set<int>{2}));
  EXPECT_EQ(homes(8, 2, 3), (std::set<int>{3, 6}));
  EXPECT_EQ(homes(8, 1, 3), (std::set<int>{2, 5, 8}));
}

TEST(TpccInputs, WorkersNeverShareHistoryKeys) {
  Terminal terminal({});
  std::set<std::uint64_t> keys;
  int payments = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Input input = terminal.next(i % 64, 64);
    if (input.type != Type::payment) continue;
    ++payments;
    keys.insert(input.payment.history);
  }
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(payments));
}

TEST(TpccInputs, SeedsDecide) {
  const auto customers = [](std::uint64_t seed) {
    Terminal terminal({}, seed);
    std::vector<int> drawn;
    drawn.reserve(100);
    for (int i = 0; i < 100; ++i) {
      drawn.push_back(terminal.next_of(Type::new_order).new_order.customer);
    }
    return drawn;
  };
  EXPECT_EQ(customers(5), customers(5));
  EXPECT_NE(customers(5), customers(6));
}

}  // namespace
}  // namespace heddle::tpcc
