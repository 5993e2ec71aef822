#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "workload/tpce.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/people.h"

/// The types that only read return what the tables say, computed here in another way.
namespace heddle::tpce {
namespace {

using test::Alone;

class TpceQueries : public testing::Test {
 protected:
  TpceQueries()
      : database_(TpceOptions::parse({{"customers", "100"},
                                      {"trade_days", "1"},
                                      {"mix", "full"},
                                      {"theta", "0"},
                                      {"market_orders", "30"}})) {
    database_.run(3000);
  }

  Tables<ThreadsMachine>& tables() { return database_.workload().tables(); }
  FullTables<ThreadsMachine>& full() { return *database_.workload().full_tables(); }

  template <class Query>
  void ask(Query query) {
    EXPECT_EQ(database_.look(query), Outcome::commit);
  }
  MarketWatchOutput watch(MarketWatchInput::Of of, std::uint32_t number, std::uint32_t day = 1000) {
    const MarketWatchInput input{of, number, day};
    MarketWatchOutput output;
    ask([&](auto& txn) { return MarketWatchQuery(txn, tables(), full(), input).run(output); });
    return output;
  }
  TradeLookupOutput look_up(const TradeLookupInput& input) {
    TradeLookupOutput output;
    ask([&](auto& txn) { return TradeLookupQuery(txn, tables(), full(), input).run(output); });
    return output;
  }
  CustomerPositionOutput position(const CustomerPositionInput& input) {
    CustomerPositionOutput output;
    ask([&](auto& txn) { return customer_position(txn, tables(), full(), input, output); });
    return output;
  }
  std::int64_t last_price(std::uint64_t security) {
    return tables().last_trade.find_quiescent(make_key(security))->price_cents;
  }

  static constexpr std::uint32_t kSecurityMask = (1U << kSecurityBits) - 1;
  static constexpr Scale kScale{.customers = 100, .trade_days = 1};
  Alone<Tpce> database_;
};

TEST_F(TpceQueries, BrokerVolumeAddsUpTheRequestsOfItsSector) {
  ASSERT_GT(tables().request.count_quiescent(), 0U);
  std::array<std::int64_t, kSectors> cents{};
  std::array<std::uint32_t, kSectors> requests{};
  tables().request.for_each([&](const Key1&, const TradeRequest& row) {
    const auto company = tables().security.find_quiescent(make_key(row.security))->company;
    const auto* profile = full().company_profile.find_quiescent(make_key(company));
    const std::uint32_t sector = sector_of(profile->industry);
    ++requests[sector];
    cents[sector] += std::int64_t{row.quantity} * row.bid_price_cents;
  });
  for (std::uint32_t sector = 0; sector < kSectors; ++sector) {
    BrokerVolumeInput input{.sector = sector, .count = 1, .brokers = {0}};  // there is one broker
    BrokerVolumeOutput output;
    ask([&](auto& txn) { return broker_volume(txn, tables(), full(), input, output); });
    EXPECT_EQ(output.requests, requests[sector]);
    EXPECT_EQ(output.volume_cents, cents[sector]);
  }
}

TEST_F(TpceQueries, CustomerPositionAddsUpTheAccounts) {
  for (const std::uint32_t customer : {0U, 5U, 99U}) {
    std::int64_t cash_cents = 0;
    tables().account.for_each([&](const Key1&, const Account& row) {
      if (row.head.customer == customer) cash_cents += row.balance_cents;
    });
    std::int64_t assets_cents = 0;
    tables().holding_summary.for_each([&](const Key1& key, const HoldingSummary& row) {
      if (customer_of(static_cast<std::uint32_t>(key.words[0] >> kSecurityBits)) != customer)
        return;
      assets_cents += row.quantity * last_price(key.words[0] & kSecurityMask);
    });
    for (const bool by_tax_id : {false, true}) {
      const CustomerPositionOutput output =
          position({.customer = customer, .account = 0, .by_tax_id = by_tax_id, .history = false});
      EXPECT_EQ(output.accounts, accounts_of(customer));
      EXPECT_EQ(output.cash_cents, cash_cents);
      EXPECT_EQ(output.assets_cents, assets_cents);
      EXPECT_EQ(output.states, 0U);
    }
  }
}

TEST_F(TpceQueries, CustomerPositionReturnsTheLatestTrades) {
  const std::uint32_t account = account_number(99, 0);
  std::vector<std::uint64_t> trades;
  tables().trade_by_account.for_each([&](const Key1& key, const IndexRow& row) {
    if (first_of(key) == account) trades.push_back(row.number);
  });
  ASSERT_GT(trades.size(), 10U);
  std::uint32_t states = 0;
  tables().history.for_each([&](const Key1& key, const TradeHistory&) {
    const std::uint64_t trade = key.words[0] >> kStatusBits;
    states += std::find(trades.end() - 10, trades.end(), trade) != trades.end();
  });
  EXPECT_EQ(
      position({.customer = 99, .account = account, .by_tax_id = false, .history = true}).states,
      states);
}

/// Of the watch list all rows are read, of which there are more than one scan returns.
TEST_F(TpceQueries, MarketWatchComparesWithADay) {
  using enum MarketWatchInput::Of;
  MarketWatchOutput expected;
  const auto add = [&](std::uint64_t security) {
    const auto shares = static_cast<std::int64_t>(
        full().security_profile.find_quiescent(make_key(security))->shares);
    ++expected.securities;
    expected.now_cents += shares * last_price(security);
    expected.then_cents +=
        shares * full().daily_market.find_quiescent(pair_key(security, 1000))->close_cents;
  };
  const auto expect = [&](const MarketWatchOutput& output) {
    EXPECT_GT(output.securities, 0U);
    EXPECT_EQ(output.securities, expected.securities);
    EXPECT_EQ(output.now_cents, expected.now_cents);
    EXPECT_EQ(output.then_cents, expected.then_cents);
    expected = {};
  };
  std::vector<std::uint32_t> watched(kScale.customers);
  full().watch_item.for_each([&](const Key1& key, const IndexRow&) { ++watched[first_of(key)]; });
  const auto longest = std::max_element(watched.begin(), watched.end()) - watched.begin();
  full().watch_item.for_each([&](const Key1& key, const IndexRow& row) {
    if (first_of(key) == static_cast<std::uint64_t>(longest)) add(row.number);
  });
  ASSERT_GT(expected.securities, 64U);
  expect(watch(watch_list, static_cast<std::uint32_t>(longest)));

  std::uint32_t holder = 0;
  tables().holding_summary.for_each([&](const Key1& key, const HoldingSummary&) {
    holder = static_cast<std::uint32_t>(key.words[0] >> kSecurityBits);
  });
  tables().holding_summary.for_each([&](const Key1& key, const HoldingSummary&) {
    if (key.words[0] >> kSecurityBits == holder) add(key.words[0] & kSecurityMask);
  });
  expect(watch(account, holder));

  const std::uint32_t chosen = full().company_profile.find_quiescent(make_key(7))->industry;
  tables().security.for_each([&](const Key1& key, const Security& row) {
    const auto* profile = full().company_profile.find_quiescent(make_key(row.company));
    if (profile->industry == chosen) add(key.words[0]);
  });
  expect(watch(industry, chosen));
}

TEST_F(TpceQueries, SecurityDetailReadsTheReports) {
  SecurityDetailInput input{.security = 3, .first_day = kMarketDays - 7, .days = 5};
  SecurityDetailOutput output;
  ask([&](auto& txn) { return SecurityDetailQuery(txn, tables(), full(), input).run(output); });
  EXPECT_EQ(output.last_price_cents, last_price(3));
  EXPECT_EQ(output.competitors, kCompetitors);
  EXPECT_EQ(output.quarters, kQuarters);
  EXPECT_EQ(output.news, kNewsItems);
  EXPECT_EQ(output.days, 5U);
}

TEST_F(TpceQueries, TradeLookupFindsTradesEachWay) {
  TradeLookupInput input{};
  input.search.frame = TradeUpdateInput::Frame::by_trade;
  for (std::size_t i = 0; i < kTradesPerUpdate; ++i) {
    input.search.trades[i] = static_cast<std::uint32_t>(7 * i);
  }
  EXPECT_EQ(look_up(input).trades, kTradesPerUpdate);
  const TradeHead& trade = tables().trade.find_quiescent(make_key(50))->head;
  for (const bool by_account : {false, true}) {
    input.search.frame =
        by_account ? TradeUpdateInput::Frame::by_account : TradeUpdateInput::Frame::by_symbol;
    input.search.number = by_account ? trade.account : trade.security;
    input.search.first_trade = 50;
    input.search.last_trade = kScale.trades() - 1;
    std::size_t expected = 0;
    tables().trade.for_each([&](const Key1& key, const Trade& row) {
      const std::uint32_t number = by_account ? row.head.account : row.head.security;
      expected +=
          number == input.search.number && 50 <= key.words[0] && key.words[0] < kScale.trades();
    });
    EXPECT_EQ(look_up(input).trades, std::min(expected, kTradesPerUpdate));
  }
}

TEST_F(TpceQueries, TradeLookupFollowsTheHoldingsOfATrade) {
  TradeLookupInput input{};
  input.holdings = true;
  input.search.frame = TradeUpdateInput::Frame::by_account;
  input.search.last_trade = kScale.trades() - 1;
  std::uint32_t most = 0;
  for (std::uint32_t id = 0; id < 300; ++id) {
    std::set<std::uint64_t> holdings;
    std::uint32_t changes = 0;
    full().holding_history.for_each([&](const Key1& key, const HoldingHistory&) {
      if (first_of(key) == id) holdings.insert(second_of(key));
    });
    full().holding_history.for_each([&](const Key1& key, const HoldingHistory&) {
      changes += holdings.count(second_of(key)) != 0;
    });
    input.search.number = tables().trade.find_quiescent(make_key(id))->head.account;
    input.search.first_trade = id;
    const TradeLookupOutput output = look_up(input);
    EXPECT_EQ(output.trades, 1U);
    EXPECT_EQ(output.changes, std::min<std::uint32_t>(changes, kTradesPerUpdate));
    most = std::max(most, changes);
  }
  EXPECT_GT(most, 3U) << "a holding is closed in several steps";
}

TEST_F(TpceQueries, TradeStatusCountsTheLatestTrades) {
  std::uint32_t waiting = 0;
  for (const std::uint32_t customer : {0U, 55U, 99U}) {
    const std::uint32_t account = account_number(customer, 0);
    std::vector<Status> states;
    tables().trade.for_each([&](const Key1&, const Trade& row) {
      if (row.head.account == account) states.push_back(row.head.status);
    });
    const std::size_t count = std::min<std::size_t>(50, states.size());
    TradeStatusOutput output;
    const TradeStatusInput input{account};
    ask([&](auto& txn) { return trade_status(txn, tables(), full(), input, output); });
    EXPECT_EQ(output.trades, count);
    EXPECT_EQ(output.completed, std::count(states.end() - static_cast<std::ptrdiff_t>(count),
                                           states.end(), Status::completed));
    waiting += output.trades - output.completed;
  }
  EXPECT_LT(waiting, 150U);
}

TEST_F(TpceQueries, AreCommittedInTheSharesOfTheSpecification) {
  const auto counts = database_.run(20'000);
  EXPECT_EQ(counts.aborts, 0);
  const std::vector<std::pair<Type, double>> percent{
      {Type::trade_order, 10.1}, {Type::trade_result, 10},    {Type::market_feed, 1},
      {Type::trade_update, 2},   {Type::broker_volume, 4.9},  {Type::customer_position, 13},
      {Type::market_watch, 18},  {Type::security_detail, 14}, {Type::trade_lookup, 8},
      {Type::trade_status, 19}};
  for (const auto& [type, share] : percent) {
    const int number = static_cast<int>(type);
    EXPECT_NEAR(counts.commits.at(number) / 200.0, share, 0.7) << kTypeNames.at(number);
    EXPECT_NEAR(100 * database_.workload().share(number), share, 0.05) << kTypeNames.at(number);
    EXPECT_EQ(counts.rollbacks.count(number), type == Type::trade_order ? 1U : 0U);
  }
  EXPECT_EQ(database_.workload().check(), std::vector<std::string>{});
}

}  // namespace
}  // namespace heddle::tpce
