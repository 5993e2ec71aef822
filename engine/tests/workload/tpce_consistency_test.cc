#include <string>

#include <gtest/gtest.h>

#include "alone.h"
#include "damage.h"
#include "workload/tpce.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"

/// Every condition is made to fail: a check that cannot fail proves nothing.
namespace heddle::tpce {
namespace {

using test::Alone;

class TpceConsistency : public test::Damage<Tpce> {
 protected:
  TpceConsistency() : Damage(database_) { database_.run(400); }

  /// A trade of the run that waits for its price.
  Key1 pending() {
    Key1 found{};
    tables().request.for_each([&](const Key1& key, const TradeRequest&) { found = key; });
    return found;
  }
  TradeHead head(const Key1& trade) { return tables().trade.find_quiescent(trade)->head; }

  Alone<Tpce> database_{TpceOptions::parse({{"customers", "100"}, {"trade_days", "1"}})};
};

TEST_F(TpceConsistency, HoldsAfterARun) { EXPECT_EQ(violated(), Names{}); }

TEST_F(TpceConsistency, LostCommission) {
  damage(tables().broker, make_key(0), [](Broker& row) { --row.commission_cents; });
  EXPECT_EQ(violated(), (Names{"brokers"}));
}

TEST_F(TpceConsistency, LostTradeOfABroker) {
  damage(tables().broker, make_key(0), [](Broker& row) { ++row.trades; });
  EXPECT_EQ(violated(), (Names{"brokers"}));
}

TEST_F(TpceConsistency, LostShares) {
  Key1 key{};
  tables().holding.for_each([&](const Key1& each, const Holding&) { key = each; });
  damage(tables().holding, key, [](Holding& row) { row.quantity += 100; });
  EXPECT_EQ(violated(), (Names{"holdings"}));
  remove(tables().holding, key);
  EXPECT_EQ(violated(), (Names{"holdings"}));
}

TEST_F(TpceConsistency, LostCash) {
  damage(tables().account, make_key(account_number(9, 0)),
         [](Account& row) { --row.balance_cents; });
  EXPECT_EQ(violated(), (Names{"accounts"}));
}

TEST_F(TpceConsistency, LostIndexEntries) {
  const TradeHead trade = head(make_key(5));
  remove(tables().trade_by_account, pair_key(trade.account, 5));
  EXPECT_EQ(violated(), (Names{"trades"}));
  insert(tables().trade_by_account, pair_key(trade.account + 1, 5), {5});
  EXPECT_EQ(violated(), (Names{"trades", "trades by account"}));
}

TEST_F(TpceConsistency, TradeInTheIndexOfAnotherSecurity) {
  insert(tables().trade_by_symbol, pair_key(head(make_key(5)).security + 1, 5), {5});
  EXPECT_EQ(violated(), (Names{"trades by security"}));
}

TEST_F(TpceConsistency, LostRequest) {
  remove(tables().request, pending());
  EXPECT_EQ(violated(), (Names{"requests"}));
}

TEST_F(TpceConsistency, RequestThatStayedInAnIndex) {
  const TradeHead trade = head(make_key(5));
  insert(tables().request_by_symbol,
         request_index_key(trade.security, OrderType::limit_buy, trade.bid_price_cents, 5), {5});
  EXPECT_FALSE(violated().empty());
}

TEST_F(TpceConsistency, OrderThatIsSubmittedWithoutAHistory) {
  damage(tables().trade, pending(), [](Trade& row) { row.head.status = Status::submitted; });
  EXPECT_EQ(violated(), (Names{"history", "requests"}));
}

TEST_F(TpceConsistency, LostHistory) {
  remove(tables().history, history_key(5, Status::submitted));
  EXPECT_EQ(violated(), (Names{"history"}));
}

TEST_F(TpceConsistency, LostSettlement) {
  remove(tables().settlement, make_key(5));
  const Names names = violated();
  EXPECT_NE(std::find(names.begin(), names.end(), "settlements"), names.end());
}

TEST_F(TpceConsistency, MixedTexts) {
  damage(tables().settlement, make_key(5),
         [](Settlement& row) { row.cash_type = CashType::of("Cash Margin"); });
  EXPECT_EQ(violated(), (Names{"settlements"}));
}

TEST_F(TpceConsistency, WrongNameOfACashTransaction) {
  Key1 key{};
  tables().cash.for_each([&](const Key1& each, const CashTransaction&) { key = each; });
  damage(tables().cash, key, [](CashTransaction& row) { row.name.chars[0] = '?'; });
  EXPECT_EQ(violated(), (Names{"accounts", "cash", "settlements"}));
}

TEST_F(TpceConsistency, ExecutorWithoutAName) {
  damage(tables().trade, make_key(5), [](Trade& row) { row.executor = ExecutorName::of("X"); });
  EXPECT_EQ(violated(), (Names{"executors"}));
}

TEST_F(TpceConsistency, LostEntryOfAFeed) {
  damage(tables().last_trade, make_key(7), [](LastTrade& row) {
    ++row.entries;
    row.volume += 100;
  });
  EXPECT_EQ(violated(), (Names{"prices"}));
}

TEST_F(TpceConsistency, PriceOutOfRange) {
  damage(tables().last_trade, make_key(7), [](LastTrade& row) { row.price_cents = 30'01; });
  EXPECT_EQ(violated(), (Names{"prices"}));
}

/// Those that only the full mix has rows for.
class TpceFullConsistency : public test::Damage<Tpce> {
 protected:
  TpceFullConsistency() : Damage(database_) { database_.run(400); }

  FullTables<ThreadsMachine>& full() { return *database_.workload().full_tables(); }
  /// One that has closed a holding.
  Key1 closing() {
    Key1 found{};
    full().holding_history.for_each([&](const Key1& key, const HoldingHistory& row) {
      if (row.after == 0) found = key;
    });
    return found;
  }

  Alone<Tpce> database_{
      TpceOptions::parse({{"customers", "100"}, {"trade_days", "1"}, {"mix", "full"}})};
};

TEST_F(TpceFullConsistency, HoldsAfterARun) { EXPECT_EQ(violated(), Names{}); }

TEST_F(TpceFullConsistency, LostChangeOfAHolding) {
  remove(full().holding_history, closing());
  EXPECT_EQ(violated(), (Names{"holding history"}));
}

TEST_F(TpceFullConsistency, ChangeThatIsNotInTheIndex) {
  const Key1 key = closing();
  remove(full().history_by_holding, pair_key(second_of(key), first_of(key)));
  EXPECT_EQ(violated(), (Names{"holding history"}));
}

TEST_F(TpceFullConsistency, HoldingThatChangedWithoutATrade) {
  damage(full().holding_history, closing(), [](HoldingHistory& row) { row.after += 100; });
  EXPECT_EQ(violated(), (Names{"holding history"}));
}

TEST_F(TpceFullConsistency, TradeThatIsSettledAtAnotherPrice) {
  damage(tables().trade, make_key(5), [](Trade& row) { ++row.head.trade_price_cents; });
  EXPECT_EQ(violated(), (Names{"settlements"}));
}

TEST_F(TpceFullConsistency, TaxThatWasNotWithheld) {
  Key1 key{};
  tables().trade.for_each([&](const Key1& each, const Trade& row) {
    const Account& owner = *tables().account.find_quiescent(make_key(row.head.account));
    if (row.head.status == Status::completed && owner.head.tax_status == kWithheld) key = each;
  });
  damage(tables().trade, key, [](Trade& row) { ++row.head.tax_cents; });
  EXPECT_EQ(violated(), (Names{"settlements"}));
}

}  // namespace
}  // namespace heddle::tpce
