#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "workload/tpcc.h"

/// The population, against clause 4.3.3.1, and the random values it is made of.
namespace heddle::tpcc {
namespace {

using test::Alone;

/// One populated database for all tests here: none of them changes it.
class TpccPopulation : public testing::Test {
 protected:
  static constexpr std::uint32_t kWarehouses = 2;

  static void SetUpTestSuite() { database_ = new Alone<Tpcc>({.warehouses = kWarehouses}, 42); }
  static void TearDownTestSuite() {
    delete database_;
    database_ = nullptr;
  }
  static Tables<ThreadsMachine>& tables() { return database_->workload().tables(); }

  static Alone<Tpcc>* database_;
};
Alone<Tpcc>* TpccPopulation::database_ = nullptr;

TEST_F(TpccPopulation, HasTheRowsOfTheSpecification) {
  EXPECT_EQ(tables().warehouse.count_quiescent(), kWarehouses);
  EXPECT_EQ(tables().district.count_quiescent(), kWarehouses * 10);
  EXPECT_EQ(tables().item.count_quiescent(), 100'000U);
  EXPECT_EQ(tables().stock.count_quiescent(), kWarehouses * 100'000);
  EXPECT_EQ(tables().stock_text.count_quiescent(), kWarehouses * 100'000);
  EXPECT_EQ(tables().customer.count_quiescent(), kWarehouses * 30'000);
  EXPECT_EQ(tables().customer_name.count_quiescent(), kWarehouses * 10'000);
  EXPECT_EQ(tables().history.count_quiescent(), kWarehouses * 30'000);
  EXPECT_EQ(tables().order.count_quiescent(), kWarehouses * 30'000);
  EXPECT_EQ(tables().customer_order.count_quiescent(), kWarehouses * 30'000);
  EXPECT_EQ(tables().new_order.count_quiescent(), kWarehouses * 9'000);
  EXPECT_NEAR(static_cast<double>(tables().order_line.count_quiescent()), kWarehouses * 300'000,
              6 * std::sqrt(kWarehouses * 30'000 * 10.0));
}

TEST_F(TpccPopulation, IsConsistent) {
  const std::vector<std::string> violations = database_->workload().check();
  EXPECT_TRUE(violations.empty()) << violations.front();
}

TEST_F(TpccPopulation, WarehousesAndDistricts) {
  tables().warehouse.for_each([](const Key1&, const Warehouse& row) {
    EXPECT_EQ(row.ytd_cents, 30'000'000);
    EXPECT_LE(row.head.tax_bp, 2000);
    EXPECT_GE(row.name.view().size(), 6U);
    EXPECT_EQ(row.address.zip.view().substr(4), "11111");
  });
  tables().district.for_each([](const Key1&, const District& row) {
    EXPECT_EQ(row.ytd_cents, 3'000'000);
    EXPECT_EQ(row.head.next_order, 3001U);
    EXPECT_LE(row.head.tax_bp, 2000U);
    EXPECT_GE(row.address.city.view().size(), 10U);
  });
}

TEST_F(TpccPopulation, ItemsAndStock) {
  std::uint32_t originals = 0;
  tables().item.for_each([&](const Key1&, const Item& row) {
    ASSERT_GE(row.head.price_cents, 100U);
    ASSERT_LE(row.head.price_cents, 10'000U);
    ASSERT_GE(row.head.name.view().size(), 14U);
    ASSERT_GE(row.data.view().size(), 26U);
    ASSERT_EQ(row.head.original, row.data.view().find("ORIGINAL") != std::string_view::npos);
    originals += row.head.original;
  });
  EXPECT_EQ(originals, 10'000U);

  tables().stock.for_each([&](const Key1&, const Stock& row) {
    ASSERT_GE(row.quantity, 10U);
    ASSERT_LE(row.quantity, 100U);
    ASSERT_EQ(row.ytd + row.orders + row.remote_orders, 0U);
  });
  originals = 0;
  tables().stock_text.for_each([&](const Key1&, const StockText& row) {
    ASSERT_EQ(row.original, row.data.view().find("ORIGINAL") != std::string_view::npos);
    ASSERT_EQ(row.district_info[9].view().size(), 24U);
    originals += row.original;
  });
  EXPECT_EQ(originals, kWarehouses * 10'000U);
}

TEST_F(TpccPopulation, Customers) {
  std::uint32_t bad_credits = 0;
  tables().customer.for_each([&](const Key1& key, const Customer& row) {
    const CustomerProfile& profile = row.profile;
    ASSERT_EQ(profile.head.balance_cents, -1000);
    ASSERT_EQ(profile.head.ytd_payment_cents, 1000);
    ASSERT_EQ(profile.head.payments, 1U);
    ASSERT_EQ(profile.head.deliveries, 0U);
    ASSERT_LE(profile.head.discount_bp, 5000);
    ASSERT_EQ(profile.credit_limit_cents, 5'000'000);
    ASSERT_EQ(profile.middle.view(), "OE");
    ASSERT_EQ(profile.phone.view().size(), 16U);
    ASSERT_GE(profile.first.view().size(), 8U);
    ASSERT_GE(row.data.view().size(), 300U);
    const std::uint32_t number = key.words[0] & 0xfff;
    if (number <= 1000) {
      ASSERT_EQ(profile.head.last, make_last_name(number - 1));
    }
    bad_credits += profile.head.credit.view() == "BC";
  });
  EXPECT_EQ(bad_credits, kWarehouses * 3000U);
}

TEST_F(TpccPopulation, NamesListTheirCustomersByFirstName) {
  std::size_t listed = 0;
  std::uint16_t most = 0;
  tables().customer_name.for_each([&](const NameKey& key, const Namesakes& row) {
    const DistrictId place = district_of(key.words[0]);
    std::string previous;
    for (std::uint32_t i = 0; i < row.head.count; ++i) {
      const Customer* customer = tables().customer.find_quiescent(
          customer_key(place.warehouse, place.district, row.customer(i)));
      ASSERT_NE(customer, nullptr);
      ASSERT_EQ(name_key(place.warehouse, place.district, customer->profile.head.last), key);
      const std::string first(customer->profile.first.view());
      ASSERT_LE(previous, first);
      previous = first;
    }
    listed += row.head.count;
    most = std::max(most, row.head.count);
  });
  EXPECT_EQ(listed, kWarehouses * 30'000U);
  EXPECT_GT(most, 2 * NamesakesHead::kCustomers) << "the long lists are not exercised";
}

TEST_F(TpccPopulation, Orders) {
  std::map<std::uint64_t, std::set<std::uint32_t>> customers;
  tables().order.for_each([&](const Key1& key, const OOrder& row) {
    const OrderId id = order_of(key.words[0]);
    ASSERT_EQ(row.carrier == kNoCarrier, id.order > 2100);
    ASSERT_LE(row.carrier, 10);
    ASSERT_TRUE(row.lines >= 5 && row.lines <= 15);
    ASSERT_TRUE(row.all_local);
    customers[key.words[0] >> kOrderBits].insert(row.customer);
  });
  EXPECT_EQ(customers.size(), kWarehouses * 10U);
  for (const auto& [district, of_district] : customers) {
    EXPECT_EQ(of_district.size(), 3000U) << "O_C_ID is a permutation";
  }
  tables().order_line.for_each([&](const Key1& key, const OrderLine& row) {
    const bool delivered = order_of(key.words[0] >> kLineBits).order <= 2100;
    ASSERT_EQ(row.head.delivery_us, delivered ? kPopulationTime_us : kNoTime);
    ASSERT_EQ(row.head.amount_cents == 0, delivered);
    ASSERT_EQ(row.quantity, 5U);
    ASSERT_TRUE(row.head.item >= 1 && row.head.item <= kItems);
  });
}

/// Equality on equal seeds alone would also hold if the seed were ignored.
TEST(TpccSeeds, DecideTheRows) {
  const auto fingerprint = [](std::uint64_t seed) {
    Alone<Tpcc> database({}, seed);
    std::uint64_t sum = 0;
    auto& tables = database.workload().tables();
    tables.item.for_each([&](const Key1& key, const Item& row) {
      sum += key.words[0] * (row.head.price_cents + row.head.name.chars[3]);
    });
    tables.order.for_each(
        [&](const Key1& key, const OOrder& row) { sum += key.words[0] * row.customer; });
    return sum;
  };
  EXPECT_EQ(fingerprint(1), fingerprint(1));
  EXPECT_NE(fingerprint(1), fingerprint(2));
}

TEST(LastNames, AreSyllablesByDigit) {
  EXPECT_EQ(make_last_name(0).view(), "BARBARBAR");
  EXPECT_EQ(make_last_name(371).view(), "PRICALLYOUGHT");
  EXPECT_EQ(make_last_name(999).view(), "EINGEINGEING");
  std::set<std::string> names;
  for (const Text<16>& name : kLastNameTexts) names.emplace(name.view());
  EXPECT_EQ(names.size(), 1000U);
}

TEST(Nurand, ConstantsKeepTheRuleOfTheDelta) {
  std::set<std::uint32_t> deltas;
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const NurandConstants constants = NurandConstants::draw(random);
    const auto delta = static_cast<std::uint32_t>(std::abs(
        static_cast<int>(constants.last_name_load) - static_cast<int>(constants.last_name_run)));
    ASSERT_TRUE(delta >= 65 && delta <= 119 && delta != 96 && delta != 112) << delta;
    deltas.insert(delta);
  }
  EXPECT_EQ(deltas.size(), 119U - 65U + 1U - 2U);
}

/// NURand(255, 0, 999), counted over all values of its two random numbers, against many draws.
TEST(Nurand, HasTheDistributionOfTheFormula) {
  constexpr std::uint32_t kConstant = 77;
  constexpr int kDraws = 1'000'000;
  std::vector<double> expected(1000);
  for (std::uint32_t a = 0; a <= 255; ++a) {
    for (std::uint32_t b = 0; b <= 999; ++b) {
      expected[((a | b) + kConstant) % 1000] += kDraws / (256.0 * 1000);
    }
  }
  std::vector<int> counts(1000);
  Random random(9);
  for (int i = 0; i < kDraws; ++i) ++counts.at(random_last_name(random, kConstant));
  for (std::size_t name = 0; name < counts.size(); ++name) {
    ASSERT_NEAR(counts[name], expected[name], 6 * std::sqrt(expected[name]) + 6) << name;
  }
}

TEST(Nurand, StaysInRange) {
  Random random(4);
  std::set<std::uint32_t> customers;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint32_t customer = random_customer(random, 259);
    const std::uint32_t item = random_item(random, 7911);
    customers.insert(customer);
    ASSERT_TRUE(item >= 1 && item <= kItems);
  }
  EXPECT_GE(*customers.begin(), 1U);
  EXPECT_LE(*customers.rbegin(), 3000U);
  EXPECT_GT(customers.size(), 2500U);  // those with few bits are rare
}

TEST(Selection, PicksExactlyAsManyAsAsked) {
  Random random(2);
  std::vector<int> hits(100);
  for (int round = 0; round < 2000; ++round) {
    Selection selection(100, 10);
    int chosen = 0;
    for (int& hit : hits) {
      const bool picked = selection.next(random);
      hit += picked;
      chosen += picked;
    }
    ASSERT_EQ(chosen, 10);
  }
  for (const int hit : hits) EXPECT_NEAR(hit, 200, 90);
}

}  // namespace
}  // namespace heddle::tpcc
