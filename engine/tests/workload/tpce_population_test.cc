#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "workload/tpce.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"
#include "workload/tpce/people.h"
#include "workload/tpce/scale.h"

namespace heddle::tpce {
namespace {

using test::Alone;

constexpr Scale kScale{.customers = 200, .trade_days = 1};

const TpceOptions kOptions = TpceOptions::parse({{"customers", "200"}, {"trade_days", "1"}});

Tables<ThreadsMachine>& tables() {
  static Alone<Tpce> database{kOptions};
  return database.workload().tables();
}

TEST(TpceScale, FollowsTheCustomers) {
  constexpr Scale paper{.customers = 5000, .trade_days = 3};
  EXPECT_EQ(paper.securities(), 3425U);
  EXPECT_EQ(paper.companies(), 2500U);
  EXPECT_EQ(paper.brokers(), 50U);
  EXPECT_EQ(paper.trades(), 864'000U);
  EXPECT_EQ(paper.trade_time_us(paper.trades()), paper.run_start_us());
  std::map<std::uint32_t, std::uint32_t> tiers;
  std::uint32_t accounts = 0;
  for (std::uint32_t customer = 0; customer < paper.customers; ++customer) {
    ++tiers[tier_of(customer)];
    accounts += accounts_of(customer);
  }
  EXPECT_EQ(tiers, (std::map<std::uint32_t, std::uint32_t>{{0, 1000}, {1, 3000}, {2, 1000}}));
  EXPECT_NEAR(accounts, 5 * paper.customers, 50);
}

TEST(TpceScale, HigherTiersTradeMore) {
  Random random(1);
  std::vector<int> drawn(kScale.customers);
  for (int i = 0; i < 100'000; ++i) ++drawn.at(random_customer(random, kScale));
  std::vector<int> of_tier(kTiers);
  for (std::uint32_t i = 0; i < kScale.customers; ++i) {
    EXPECT_GT(drawn[i], 0) << i;
    of_tier[tier_of(i)] += drawn[i];
  }
  EXPECT_NEAR(of_tier[0], 10'000, 500);
  EXPECT_NEAR(of_tier[1], 60'000, 1000);
  EXPECT_NEAR(of_tier[2], 30'000, 1000);
}

TEST(TpceScale, SomeAccountsMayBeTradedForByOthers) {
  std::vector<int> counts(3);
  for (std::uint32_t account = 0; account < 20'000; ++account) {
    const Permitted found = permitted(account % kScale.accounts(), kScale);
    ++counts.at(found.count);
    for (std::size_t i = 0; i < found.count; ++i) {
      EXPECT_LT(found.people[i], kScale.customers);
      EXPECT_NE(found.people[i], customer_of(account % kScale.accounts()));
    }
    if (found.count == 2) {
      EXPECT_NE(found.people[0], found.people[1]);
    }
  }
  EXPECT_NEAR(counts[0], 12'000, 500);
  EXPECT_NEAR(counts[2], 400, 200);
}

TEST(TpceNames, AreDifferent) {
  std::set<std::string_view> starts;
  for (std::uint32_t company = 0; company < kMostCustomers / 2; ++company) {
    starts.insert(company_name(company).view());
    EXPECT_TRUE(company_name_key(company_name(company)) !=
                company_name_key(company_name(company + 1)));
  }
  EXPECT_EQ(spelled(0x1234).view(), "Cedifogu");
  EXPECT_EQ(company_name(7).view().substr(8), " Corporation");
}

TEST(TpceNames, ChangeToAndFro) {
  const ExecutorName name = executor_name(person_name(12));
  const ExecutorName other = with_other_initial(name);
  EXPECT_EQ(other, executor_name(person_name(12), " X "));
  EXPECT_EQ(with_other_initial(other), name);
  EXPECT_EQ(cash_name("Limit-Buy", 400, false, "Some Security").view(),
            "Limit-Buy 400 shares of Some Security");
  EXPECT_TRUE(has_capital(cash_name("Limit-Buy", 400, true, "Some Security")));
  EXPECT_FALSE(has_capital(cash_name("Limit-Buy", 400, false, "Some Security")));
}

TEST(TpcePopulation, HasTheRowsOfTheSpecification) {
  auto& all = tables();
  EXPECT_EQ(all.customer.count_quiescent(), 200U);
  EXPECT_EQ(all.customer_taxrate.count_quiescent(), 400U);
  EXPECT_EQ(all.taxrate.count_quiescent(), 320U);
  EXPECT_EQ(all.broker.count_quiescent(), 2U);
  EXPECT_EQ(all.trade_type.count_quiescent(), 5U);
  EXPECT_EQ(all.charge.count_quiescent(), 15U);
  EXPECT_EQ(all.commission_rate.count_quiescent(), 240U);
  EXPECT_EQ(all.company.count_quiescent(), 100U);
  EXPECT_EQ(all.company_by_name.count_quiescent(), 100U);
  EXPECT_EQ(all.security.count_quiescent(), 137U);
  EXPECT_EQ(all.security_by_company.count_quiescent(), 137U);
  EXPECT_EQ(all.last_trade.count_quiescent(), 137U);
  EXPECT_EQ(all.trade.count_quiescent(), kScale.trades());
  EXPECT_EQ(all.settlement.count_quiescent(), kScale.trades());
  EXPECT_EQ(all.request.count_quiescent(), 0U) << "all of the trades are completed";
  EXPECT_NEAR(static_cast<double>(all.cash.count_quiescent()), 0.92 * kScale.trades(), 150);
  EXPECT_NEAR(static_cast<double>(all.history.count_quiescent()), 2.4 * kScale.trades(), 300);
  EXPECT_NEAR(static_cast<double>(all.account.count_quiescent()), 1000, 30);
}

TEST(TpcePopulation, OfTheFullMixHasTheRowsOfTheSpecification) {
  Alone<Tpce> database{
      TpceOptions::parse({{"customers", "200"}, {"trade_days", "1"}, {"mix", "full"}})};
  const FullTables<ThreadsMachine>& full = *database.workload().full_tables();
  EXPECT_EQ(full.daily_market.count_quiescent(), 137U * 1305U);
  EXPECT_EQ(full.security_profile.count_quiescent(), 137U);
  EXPECT_EQ(full.company_profile.count_quiescent(), 100U);
  EXPECT_EQ(full.company_by_industry.count_quiescent(), 100U);
  EXPECT_EQ(full.competitor.count_quiescent(), 300U);
  EXPECT_EQ(full.financial.count_quiescent(), 2000U);
  EXPECT_EQ(full.news_item.count_quiescent(), 200U);
  EXPECT_EQ(full.industry.count_quiescent(), 102U);
  EXPECT_EQ(full.sector.count_quiescent(), 12U);
  EXPECT_EQ(full.exchange.count_quiescent(), 4U);
  EXPECT_EQ(full.zip_code.count_quiescent(), 14'741U);
  EXPECT_EQ(full.address.count_quiescent(), 104U);
  EXPECT_EQ(full.customer_by_tax_id.count_quiescent(), 200U);
  std::map<std::uint64_t, std::size_t> watched;
  full.watch_item.for_each([&](const Key1& key, const IndexRow& row) {
    EXPECT_EQ(second_of(key), row.number);
    EXPECT_LT(row.number, 137U);
    ++watched[first_of(key)];
  });
  EXPECT_EQ(watched.size(), 200U);
  for (const auto& [customer, count] : watched) {
    EXPECT_GE(count, 50U);
    EXPECT_LE(count, 137U) << "there are no more";
  }
  full.competitor.for_each([](const Key1& key, const IndexRow& row) {
    EXPECT_NE(first_of(key), row.number) << "no company competes with itself";
  });
  // The trades before the run are the same as without the other tables.
  EXPECT_EQ(database.workload().tables().holding.count_quiescent(),
            tables().holding.count_quiescent());
  EXPECT_EQ(database.workload().check(), std::vector<std::string>{});
}

TEST(TpcePopulation, HasTheMixOfTypesAndTheDays) {
  std::vector<int> types(kOrderTypes);
  std::uint64_t last_us = 0;
  tables().trade.for_each([&](const Key1& key, const Trade& row) {
    ++types[static_cast<std::size_t>(row.head.type)];
    EXPECT_TRUE(key.words[0] == 0 || row.head.date_us > last_us);
    last_us = row.head.date_us;
  });
  EXPECT_LT(last_us, kScale.run_start_us());
  const std::vector<double> shares{0.3, 0.3, 0.1, 0.1, 0.2};
  for (std::size_t i = 0; i < types.size(); ++i) {
    EXPECT_NEAR(types[i], shares[i] * kScale.trades(), 300) << kOrderTypeNames[i];
  }
}

TEST(TpcePopulation, LeavesHoldingsOfBothSigns) {
  int bought = 0;
  int sold_short = 0;
  tables().holding_summary.for_each([&](const Key1&, const HoldingSummary& row) {
    EXPECT_NE(row.quantity, 0);
    ++(row.quantity > 0 ? bought : sold_short);
  });
  EXPECT_GT(bought, 100);
  EXPECT_GT(sold_short, 100);
  tables().holding.for_each([](const Key1&, const Holding& row) {
    EXPECT_EQ(row.quantity % static_cast<int>(kLeastQuantity), 0);
  });
}

TEST(TpcePopulation, DependsOnTheSeedAlone) {
  const auto rows = [](std::uint64_t seed) {
    Alone<Tpce> database(TpceOptions::parse({{"customers", "100"}, {"trade_days", "1"}}), seed);
    EXPECT_EQ(database.workload().check(), std::vector<std::string>{});
    std::vector<std::int64_t> found;
    database.workload().tables().account.for_each(
        [&](const Key1&, const Account& row) { found.push_back(row.balance_cents); });
    database.workload().tables().last_trade.for_each(
        [&](const Key1&, const LastTrade& row) { found.push_back(row.price_cents); });
    return found;
  };
  const auto first = rows(1);
  EXPECT_EQ(first, rows(1));
  EXPECT_NE(first, rows(2));
}

}  // namespace
}  // namespace heddle::tpce
