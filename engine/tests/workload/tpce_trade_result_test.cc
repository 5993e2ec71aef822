#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "workload/pair_key.h"
#include "workload/tpce.h"
#include "workload/tpce/fees.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"

/// Trade-Result does what the specification says.
namespace heddle::tpce {
namespace {

using test::Alone;

class TpceTradeResult : public testing::Test {
 protected:
  TpceTradeResult()
      : database_(
            TpceOptions::parse({{"customers", "100"}, {"trade_days", "1"}, {"mix", "full"}})) {}
  ~TpceTradeResult() override { EXPECT_EQ(workload().check(), std::vector<std::string>{}); }

  Tpce<ThreadsMachine>& workload() { return database_.workload(); }
  Tables<ThreadsMachine>& tables() { return workload().tables(); }

  /// Orders 200 shares at the market's price and returns the number of the trade.
  std::uint32_t order(OrderType type, bool is_lifo = false) {
    TradeOrderInput input{};
    input.date_us = 1'000'000'000'000;
    input.trade = kScale.trades() + orders_++;
    input.account = account_;
    input.executor = customer_of(account_);
    input.security = security_;
    input.quantity = 200;
    input.type = type;
    input.by_owner = true;
    input.is_lifo = is_lifo;
    TradeOrderOutput output;
    EXPECT_EQ(database_.transact([&](auto& txn) {
      return TradeOrderTransaction(txn, tables(), input).run(output);
    }),
              Outcome::commit);
    return input.trade;
  }
  Outcome complete(std::uint32_t trade, std::uint32_t price_cents) {
    TradeResultInput input{};
    input.date_us = 2'000'000'000'000;
    input.trade.trade = trade;
    input.trade.price_cents = price_cents;
    return database_.transact([&](auto& txn) {
      output_ = {};
      return TradeResultTransaction(txn, tables(), *workload().full_tables(), input).run(output_);
    });
  }
  std::uint32_t trade_at(OrderType type, std::uint32_t price_cents, bool is_lifo = false) {
    const std::uint32_t trade = order(type, is_lifo);
    EXPECT_EQ(complete(trade, price_cents), Outcome::commit);
    return trade;
  }

  /// Of the account and the security; 0: there is no row.
  std::int64_t held() {
    const auto* row =
        tables().holding_summary.find_quiescent(holding_summary_key(account_, security_));
    return row == nullptr ? 0 : row->quantity;
  }
  std::int64_t holding(std::uint32_t trade) {
    const auto* row = tables().holding.find_quiescent(make_key(trade));
    return row == nullptr ? 0 : row->quantity;
  }
  const HoldingHistory* change(std::uint32_t trade, std::uint32_t holding) {
    return workload().full_tables()->holding_history.find_quiescent(pair_key(trade, holding));
  }
  const TradeHead& head(std::uint32_t trade) {
    return tables().trade.find_quiescent(make_key(trade))->head;
  }

  /// Chooses an account and a security that it neither holds nor has sold short.
  void choose(std::uint64_t tax_status) {
    tables().account.for_each([&](const Key1& key, const Account& row) {
      if (row.head.tax_status == tax_status) account_ = static_cast<std::uint32_t>(key.words[0]);
    });
    for (security_ = 0; held() != 0; ++security_) {
    }
    ASSERT_LT(security_, kScale.securities());
  }

  static constexpr Scale kScale{.customers = 100, .trade_days = 1};
  Alone<Tpce> database_;
  TradeResultOutput output_;
  std::uint32_t account_ = 0;
  std::uint32_t security_ = 0;
  std::uint32_t orders_ = 0;
};

TEST_F(TpceTradeResult, APurchaseIsHeldAndPaid) {
  choose(kUntaxed);
  const std::uint32_t broker = tables().account.find_quiescent(make_key(account_))->head.broker;
  const Broker before = *tables().broker.find_quiescent(make_key(broker));
  const std::int64_t balance = tables().account.find_quiescent(make_key(account_))->balance_cents;
  const std::uint32_t trade = trade_at(OrderType::market_buy, 25'00);
  EXPECT_EQ(held(), 200);
  EXPECT_EQ(holding(trade), 200);
  ASSERT_NE(change(trade, trade), nullptr);
  EXPECT_EQ(change(trade, trade)->before, 0);
  EXPECT_EQ(change(trade, trade)->after, 200);

  EXPECT_EQ(head(trade).status, Status::completed);
  EXPECT_EQ(head(trade).trade_price_cents, 25'00U);
  const auto* rate = tables().commission_rate.find_quiescent(commission_rate_key(
      tier_of(customer_of(account_)), OrderType::market_buy, security_ % kExchanges, 101));
  const std::int64_t commission = rate->basis_points * 200 * 25'00 / 10'000;
  EXPECT_EQ(head(trade).commission_cents, commission);
  EXPECT_EQ(output_.amount_cents, -200 * 25'00 - commission - head(trade).charge_cents);
  EXPECT_EQ(tables().account.find_quiescent(make_key(account_))->balance_cents,
            balance + output_.amount_cents);
  const Broker& after = *tables().broker.find_quiescent(make_key(broker));
  EXPECT_EQ(after.trades, before.trades + 1);
  EXPECT_EQ(after.commission_cents, before.commission_cents + commission);
}

TEST_F(TpceTradeResult, ASaleOfAllLeavesNothing) {
  choose(kUntaxed);
  const std::uint32_t bought = trade_at(OrderType::market_buy, 20'00);
  const std::uint32_t sold = trade_at(OrderType::market_sell, 22'00);
  EXPECT_EQ(tables().holding_summary.find_quiescent(holding_summary_key(account_, security_)),
            nullptr);
  EXPECT_EQ(holding(bought), 0);
  EXPECT_EQ(holding(sold), 0);
  ASSERT_NE(change(sold, bought), nullptr);
  EXPECT_EQ(change(sold, bought)->before, 200);
  EXPECT_EQ(change(sold, bought)->after, 0);
  EXPECT_EQ(output_.profit_cents, 200 * 2'00);
  EXPECT_EQ(output_.tax_cents, 0) << "the account is not taxed";
}

/// A purchase of what was sold short is the mirror image.
TEST_F(TpceTradeResult, TheOrderSaysWhichHoldingsAreClosedFirst) {
  choose(kUntaxed);
  for (const bool lifo : {false, true}) {
    for (const bool sells : {false, true}) {
      const auto open = sells ? OrderType::market_buy : OrderType::market_sell;
      const auto close = sells ? OrderType::market_sell : OrderType::market_buy;
      const int sign = sells ? 1 : -1;
      const std::uint32_t first = trade_at(open, 20'00);
      const std::uint32_t second = trade_at(open, 26'00);
      trade_at(close, 25'00, lifo);
      EXPECT_EQ(holding(first), lifo ? sign * 200 : 0);
      EXPECT_EQ(holding(second), lifo ? 0 : sign * 200);
      EXPECT_EQ(output_.profit_cents, sign * 200 * (lifo ? -1'00 : 5'00));
      trade_at(close, 25'00, lifo);
      EXPECT_EQ(held(), 0);
    }
  }
}

TEST_F(TpceTradeResult, WhatIsNotHeldIsSoldShort) {
  choose(kUntaxed);
  const std::uint32_t bought = trade_at(OrderType::market_buy, 20'00);
  EXPECT_EQ(holding(bought), 200);
  const std::uint32_t first = trade_at(OrderType::market_sell, 20'00);
  const std::uint32_t second = trade_at(OrderType::market_sell, 20'00);
  EXPECT_EQ(holding(first), 0);
  EXPECT_EQ(holding(second), -200);
  EXPECT_EQ(held(), -200);
}

TEST_F(TpceTradeResult, ProfitsAreTaxedAndTheTaxMayBeWithheld) {
  for (const std::uint64_t tax_status : {kWithheld, kWithheld + 1}) {
    choose(tax_status);
    trade_at(OrderType::market_buy, 20'00);
    const std::uint32_t sold = trade_at(OrderType::market_sell, 30'00);
    std::int64_t per_100_000 = 0;
    for (const std::uint64_t number : {0, 1}) {
      const auto* own = tables().customer_taxrate.find_quiescent(
          customer_taxrate_key(customer_of(account_), number));
      per_100_000 += static_cast<std::int64_t>(
          tables().taxrate.find_quiescent(make_key(own->rate))->per_100_000);
    }
    const TradeHead& trade = head(sold);
    EXPECT_GT(output_.tax_cents, 0);
    EXPECT_EQ(output_.tax_cents, 200 * 10'00 * per_100_000 / 100'000);
    EXPECT_EQ(trade.tax_cents, output_.tax_cents);
    const std::int64_t untaxed = 200 * 30'00 - trade.charge_cents - trade.commission_cents;
    EXPECT_EQ(output_.amount_cents,
              tax_status == kWithheld ? untaxed - output_.tax_cents : untaxed);
    trade_at(OrderType::market_buy, 30'00);
    trade_at(OrderType::market_sell, 20'00);
    EXPECT_EQ(output_.tax_cents, 0) << "a loss is not taxed";
  }
}

TEST_F(TpceTradeResult, OnlyASubmittedTradeIsCompleted) {
  choose(kUntaxed);
  EXPECT_EQ(complete(kScale.trades(), 25'00), Outcome::rollback) << "there is no such trade";
  const std::uint32_t trade = trade_at(OrderType::market_buy, 25'00);
  EXPECT_EQ(complete(trade, 26'00), Outcome::rollback) << "once";
  EXPECT_EQ(head(trade).trade_price_cents, 25'00U);
}

/// Every order that gets to the market is completed once, whatever its price.
TEST(TpceFullMix, CompletesEveryOrderThatIsSubmitted) {
  for (const char* market_orders : {"0", "60", "100"}) {
    Alone<Tpce> database(TpceOptions::parse({{"customers", "100"},
                                             {"trade_days", "1"},
                                             {"theta", "0"},
                                             {"market_orders", market_orders},
                                             {"mix", "full"}}));
    const auto counts = database.run(6000);
    EXPECT_EQ(counts.aborts, 0);
    EXPECT_EQ(counts.rollbacks.count(static_cast<int>(Type::trade_result)), 0U);
    const std::uint32_t before = Scale{.customers = 100, .trade_days = 1}.trades();
    int submitted = 0;
    int completed = 0;
    database.workload().tables().trade.for_each([&](const Key1& key, const Trade& row) {
      if (key.words[0] < before) return;
      submitted += row.head.status == Status::submitted;
      completed += row.head.status == Status::completed;
    });
    const int results = counts.commits.at(static_cast<int>(Type::trade_result));
    EXPECT_EQ(completed, results);
    EXPECT_GT(results, 400);
    EXPECT_LE(submitted, static_cast<int>(kMostEntriesPerFeed)) << "the last ones wait";
    EXPECT_EQ(database.workload().check(), std::vector<std::string>{});
  }
}

/// An attempt that aborts submits for nothing; the one that commits replaces it.
TEST(TpceExchange, EachAttemptReplacesTheOneBefore) {
  MarketExchange exchange(2);
  const auto submit = [&](const Sender& sender, std::vector<std::uint32_t> trades) {
    std::vector<SubmittedTrade> submitted;
    for (const std::uint32_t trade : trades) submitted.emplace_back().trade = trade;
    exchange.submit(sender, submitted);
  };
  const auto collected = [&](std::size_t worker) {
    std::deque<SubmittedTrade> trades;
    exchange.collect(worker, trades);
    std::vector<std::uint32_t> numbers;
    for (const SubmittedTrade& one : trades) numbers.push_back(one.trade);
    return numbers;
  };
  using Numbers = std::vector<std::uint32_t>;
  submit({1, 0}, {1, 2, 3});
  submit({1, 1}, {4});
  submit({1, 0}, {2});
  submit({0, 0}, {5});
  EXPECT_EQ(collected(1), (Numbers{4, 2}));
  EXPECT_EQ(collected(1), Numbers{});
  submit({1, 0}, {2, 6});
  EXPECT_EQ(collected(1), (Numbers{2, 6})) << "again: its attempt came after the collection";
  EXPECT_EQ(collected(0), (Numbers{5}));
}

}  // namespace
}  // namespace heddle::tpce
