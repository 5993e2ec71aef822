#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "alone.h"
#include "workload/tpce.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"

/// Each type does what the specification says.
namespace heddle::tpce {
namespace {

using test::Alone;

class TpceTransactions : public testing::Test {
 protected:
  TpceTransactions() : database_(TpceOptions::parse({{"customers", "100"}, {"trade_days", "1"}})) {}
  ~TpceTransactions() override { EXPECT_EQ(workload().check(), std::vector<std::string>{}); }

  Tpce<ThreadsMachine>& workload() { return database_.workload(); }
  Tables<ThreadsMachine>& tables() { return workload().tables(); }

  /// An order of the first account's owner.
  TradeOrderInput order(OrderType type, std::uint32_t price_cents, std::uint32_t security = 3) {
    TradeOrderInput input{};
    input.date_us = 1'000'000'000'000;
    input.trade = kScale.trades() + orders_++;
    input.security = security;
    input.quantity = 200;
    input.price_cents = price_cents;
    input.type = type;
    input.by_owner = true;
    return input;
  }
  Outcome place(const TradeOrderInput& input) {
    return database_.transact([&](auto& txn) {
      output_ = {};
      return TradeOrderTransaction(txn, tables(), input).run(output_);
    });
  }
  /// A feed of twenty entries at one price; returns the number of orders submitted.
  std::uint32_t feed(std::uint32_t price_cents) {
    return feed(price_cents, price_cents, price_cents);
  }
  std::uint32_t feed(std::uint32_t price_cents, std::uint32_t lowest_cents,
                     std::uint32_t highest_cents) {
    MarketFeedInput input{};
    input.date_us = 2'000'000'000'000;
    input.count = 1;
    input.ticks[0] = {3, price_cents, lowest_cents, highest_cents, 4000, 20};
    MarketFeedOutput output;
    EXPECT_EQ(database_.transact([&](auto& txn) {
      output = {};
      return MarketFeedTransaction(txn, tables(), input).run(output);
    }),
              Outcome::commit);
    return output.submitted;
  }
  std::uint32_t update(const TradeUpdateInput& input) {
    TradeUpdateOutput output;
    EXPECT_EQ(database_.transact([&](auto& txn) {
      output = {};
      return TradeUpdateTransaction(txn, tables(), input).run(output);
    }),
              Outcome::commit);
    return output.updated;
  }
  const TradeHead& trade(std::uint32_t id) {
    return tables().trade.find_quiescent(make_key(id))->head;
  }
  bool pending(const TradeOrderInput& input) {
    return trade(input.trade).status == Status::pending;
  }

  static constexpr Scale kScale{.customers = 100, .trade_days = 1};
  Alone<Tpce> database_;
  TradeOrderOutput output_;
  std::uint32_t orders_ = 0;
};

TEST_F(TpceTransactions, AnOrderWithALimitWaitsForItsPrice) {
  const TradeOrderInput input = order(OrderType::limit_buy, 25'00);
  ASSERT_EQ(place(input), Outcome::commit);
  EXPECT_TRUE(pending(input));
  EXPECT_EQ(trade(input.trade).bid_price_cents, 25'00U);
  const TradeRequest* request = tables().request.find_quiescent(make_key(input.trade));
  ASSERT_NE(request, nullptr);
  EXPECT_EQ(request->quantity, 200U);
  EXPECT_EQ(tables().trade.find_quiescent(make_key(input.trade))->executor,
            executor_name(person_name(0)));
}

TEST_F(TpceTransactions, AMarketOrderIsSubmittedAtOnceAtTheLastPrice) {
  const TradeOrderInput input = order(OrderType::market_buy, 1);
  ASSERT_EQ(place(input), Outcome::commit);
  EXPECT_EQ(trade(input.trade).status, Status::submitted);
  const std::uint32_t price_cents = tables().last_trade.find_quiescent(make_key(3))->price_cents;
  EXPECT_EQ(trade(input.trade).bid_price_cents, price_cents);
  EXPECT_EQ(tables().request.count_quiescent(), 0U);
}

TEST_F(TpceTransactions, AnOrderThatRollsBackLeavesNothing) {
  TradeOrderInput input = order(OrderType::limit_buy, 25'00);
  input.rolls_back = true;
  EXPECT_EQ(place(input), Outcome::rollback);
  EXPECT_EQ(tables().trade.count_quiescent(), kScale.trades());
}

TEST_F(TpceTransactions, AStrangerMayNotTrade) {
  TradeOrderInput input = order(OrderType::limit_buy, 25'00);
  input.by_owner = false;
  input.executor = 0;  // not among those permitted
  EXPECT_EQ(place(input), Outcome::rollback);
  while (permitted(input.account, kScale).count == 0) ++input.account;
  input.executor = permitted(input.account, kScale).people[0];
  EXPECT_EQ(place(input), Outcome::commit);
  EXPECT_EQ(tables().trade.find_quiescent(make_key(input.trade))->executor,
            executor_name(person_name(input.executor)));
}

TEST_F(TpceTransactions, ASecurityIsFoundByItsCompany) {
  TradeOrderInput input = order(OrderType::limit_buy, 25'00);
  input.by_company = true;
  input.company = company_name(7);
  for (const std::uint8_t issue : {0, 1}) {
    input.issue = issue;
    input.security = kScale.securities();  // not used
    ASSERT_EQ(place(input), Outcome::commit);
    EXPECT_EQ(trade(input.trade).security, issue == 0 ? 7U : 57U);
    ++input.trade;
  }
  input.company = company_name(kScale.companies());
  EXPECT_EQ(place(input), Outcome::rollback);
}

TEST_F(TpceTransactions, FeesDependOnTheOrder) {
  const TradeOrderInput input = order(OrderType::limit_buy, 25'00);
  ASSERT_EQ(place(input), Outcome::commit);
  const auto* rate = tables().commission_rate.find_quiescent(
      commission_rate_key(tier_of(0), input.type, 3 % kExchanges, 101));
  ASSERT_NE(rate, nullptr);
  EXPECT_EQ(rate->to_quantity, 200U);
  EXPECT_EQ(trade(input.trade).commission_cents, rate->basis_points * 200 * 25'00 / 10'000);
  EXPECT_EQ(trade(input.trade).charge_cents,
            tables().charge.find_quiescent(charge_key(tier_of(0), input.type))->cents);
}

/// Finds an account with a holding of the given sign, and what closing all of it is worth.
TEST_F(TpceTransactions, AProfitIsTaxed) {
  for (const bool sells : {true, false}) {
    std::uint32_t account = 0;
    std::uint32_t security = 0;
    std::int64_t paid_cents = 0;
    tables().holding_summary.for_each([&](const Key1& key, const HoldingSummary& row) {
      if (row.quantity != (sells ? 200 : -200)) return;
      const auto owner = static_cast<std::uint32_t>(key.words[0] >> kSecurityBits);
      if (tables().account.find_quiescent(make_key(owner))->head.tax_status == 0) return;
      account = owner;
      security = key.words[0] & ((1U << kSecurityBits) - 1);
    });
    tables().holding.for_each([&](const Key1&, const Holding& row) {
      if (row.account != account || row.security != security) return;
      paid_cents += std::int64_t{row.quantity} * row.price_cents;
    });
    TradeOrderInput input = order(sells ? OrderType::limit_sell : OrderType::limit_buy,
                                  sells ? 30'00 : 20'00, security);
    input.account = account;
    ASSERT_EQ(place(input), Outcome::commit);
    EXPECT_EQ(sells ? output_.buy_value_cents : -output_.sell_value_cents, paid_cents);
    EXPECT_EQ(sells ? output_.sell_value_cents : output_.buy_value_cents,
              sells ? 200 * 30'00 : 200 * 20'00);
    std::int64_t per_100_000 = 0;
    for (const std::uint64_t number : {0, 1}) {
      const auto* own = tables().customer_taxrate.find_quiescent(
          customer_taxrate_key(customer_of(account), number));
      per_100_000 += static_cast<std::int64_t>(
          tables().taxrate.find_quiescent(make_key(own->rate))->per_100_000);
    }
    EXPECT_GT(output_.tax_cents, 0);
    EXPECT_EQ(output_.tax_cents,
              (output_.sell_value_cents - output_.buy_value_cents) * per_100_000 / 100'000);
  }
}

TEST_F(TpceTransactions, AMarginOrderReturnsTheAssets) {
  TradeOrderInput input = order(OrderType::limit_buy, 25'00);
  while (!tables().account.find_quiescent(make_key(input.account))) ++input.account;
  input.is_margin = true;
  std::int64_t assets_cents =
      tables().account.find_quiescent(make_key(input.account))->balance_cents;
  int held = 0;
  tables().holding_summary.for_each([&](const Key1& key, const HoldingSummary& row) {
    if (key.words[0] >> kSecurityBits != input.account) return;
    ++held;
    const auto* last =
        tables().last_trade.find_quiescent(make_key(key.words[0] & ((1U << kSecurityBits) - 1)));
    assets_cents += row.quantity * last->price_cents;
  });
  EXPECT_GT(held, 0);
  ASSERT_EQ(place(input), Outcome::commit);
  EXPECT_EQ(output_.assets_cents, assets_cents);
}

TEST_F(TpceTransactions, APriceSubmitsTheOrdersThatWaitedForIt) {
  using enum OrderType;
  const TradeOrderInput buy_above = order(limit_buy, 25'01);
  const TradeOrderInput buy_at = order(limit_buy, 25'00);
  const TradeOrderInput buy_below = order(limit_buy, 24'99);
  const TradeOrderInput sell_above = order(limit_sell, 25'01);
  const TradeOrderInput sell_at = order(limit_sell, 25'00);
  const TradeOrderInput stop_at = order(stop_loss, 25'00);
  const TradeOrderInput stop_below = order(stop_loss, 24'99);
  const TradeOrderInput elsewhere = order(limit_buy, 25'00, 4);
  for (const auto* input : {&buy_above, &buy_at, &buy_below, &sell_above, &sell_at, &stop_at,
                            &stop_below, &elsewhere}) {
    ASSERT_EQ(place(*input), Outcome::commit);
  }
  EXPECT_EQ(feed(25'00), 4U);
  for (const auto* input : {&buy_above, &buy_at, &sell_at, &stop_at}) {
    EXPECT_EQ(trade(input->trade).status, Status::submitted);
    EXPECT_EQ(trade(input->trade).date_us, 2'000'000'000'000U);
  }
  for (const auto* input : {&buy_below, &sell_above, &stop_below, &elsewhere}) {
    EXPECT_TRUE(pending(*input));
  }
  const LastTrade& last = *tables().last_trade.find_quiescent(make_key(3));
  EXPECT_EQ(last.price_cents, 25'00U);
  EXPECT_EQ(last.volume, 4000U);
  EXPECT_EQ(feed(25'00), 0U) << "they are submitted once";
  EXPECT_EQ(feed(20'00), 2U);
}

/// Entries of one security are merged: an order is submitted if any of their prices reaches it.
TEST_F(TpceTransactions, AFeedSubmitsWhatAnyOfItsPricesReaches) {
  using enum OrderType;
  std::vector<TradeOrderInput> reached;
  std::vector<TradeOrderInput> others;
  for (const OrderType type : {stop_loss, limit_sell, limit_buy}) {
    const bool sell = type == limit_sell;
    reached.push_back(order(type, sell ? 26'00 : 24'00));
    others.push_back(order(type, sell ? 26'01 : 23'99));
  }
  for (const TradeOrderInput& input : reached) ASSERT_EQ(place(input), Outcome::commit);
  for (const TradeOrderInput& input : others) ASSERT_EQ(place(input), Outcome::commit);
  EXPECT_EQ(feed(25'00, 24'00, 26'00), 3U);
  for (const TradeOrderInput& input : reached) EXPECT_FALSE(pending(input));
  for (const TradeOrderInput& input : others) EXPECT_TRUE(pending(input));
}

TEST_F(TpceTransactions, AFeedLeavesWhatIsTooMuchToTheNext) {
  constexpr std::uint32_t kOrders = 130;
  for (std::uint32_t i = 0; i < kOrders; ++i) {
    ASSERT_EQ(place(order(i % 3 == 0 ? OrderType::stop_loss : OrderType::limit_buy, 25'00)),
              Outcome::commit);
  }
  EXPECT_EQ(feed(25'00), 100U);
  EXPECT_EQ(feed(25'00), 30U);
  EXPECT_EQ(tables().request.count_quiescent(), 0U);
}

TEST_F(TpceTransactions, AnUpdateChangesExecutorsToAndFro) {
  TradeUpdateInput input{};
  input.frame = TradeUpdateInput::Frame::by_trade;
  for (std::size_t i = 0; i < input.trades.size(); ++i) {
    input.trades[i] = static_cast<std::uint32_t>(10 * i);
  }
  const auto executor = [&](std::uint32_t id) {
    return tables().trade.find_quiescent(make_key(id))->executor;
  };
  const ExecutorName before = executor(190);
  const ExecutorName untouched = executor(191);
  EXPECT_EQ(update(input), 20U);
  EXPECT_EQ(executor(190), with_other_initial(before));
  EXPECT_EQ(executor(191), untouched);
  EXPECT_EQ(update(input), 20U);
  EXPECT_EQ(executor(190), before);
}

TEST_F(TpceTransactions, AnUpdateOfAnAccountChangesHowTradesAreSettled) {
  const std::uint32_t account = trade(0).account;
  TradeUpdateInput input{};
  input.frame = TradeUpdateInput::Frame::by_account;
  input.number = account;
  input.last_trade = kScale.trades() - 1;
  const auto type = [&] { return tables().settlement.find_quiescent(make_key(0))->cash_type; };
  const CashTypes types = cash_types(trade(0).is_cash);
  EXPECT_EQ(type(), types.with_account);
  const std::uint32_t updated = update(input);
  EXPECT_GT(updated, 1U);
  EXPECT_LE(updated, 20U);
  EXPECT_EQ(type(), types.without);
  update(input);
  EXPECT_EQ(type(), types.with_account);
  input.first_trade = 1;
  update(input);
  EXPECT_EQ(type(), types.with_account) << "the search begins after it";
}

TEST_F(TpceTransactions, AnUpdateOfASecurityRenamesCashTransactions) {
  std::uint32_t id = 0;
  while (!trade(id).is_cash) ++id;
  TradeUpdateInput input{};
  input.frame = TradeUpdateInput::Frame::by_symbol;
  input.number = trade(id).security;
  input.first_trade = id;
  input.last_trade = kScale.trades() - 1;
  const auto name = [&] { return tables().cash.find_quiescent(make_key(id))->name; };
  const CashName before = name();
  EXPECT_FALSE(has_capital(before));
  EXPECT_GT(update(input), 1U);
  EXPECT_TRUE(has_capital(name()));
  update(input);
  EXPECT_EQ(name(), before);
}

TEST_F(TpceTransactions, AMixOfAllTypesCommits) {
  const auto counts = database_.run(3000);
  EXPECT_EQ(counts.aborts, 0);
  for (const int type : {0, 1, 2}) EXPECT_GT(counts.commits.at(type), 50);
  EXPECT_GT(counts.rollbacks.at(0), 0);
  EXPECT_EQ(counts.rollbacks.size(), 1U) << "only orders roll back";
}

}  // namespace
}  // namespace heddle::tpce
