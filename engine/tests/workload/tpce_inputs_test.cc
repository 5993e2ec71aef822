#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/random.h"
#include "workload/tpce/input_generator.h"
#include "workload/tpce/people.h"

namespace heddle::tpce {
namespace {

TpceOptions small(OptionMap more = {}) {
  more.insert({{"customers", "500"}, {"trade_days", "1"}});
  return TpceOptions::parse(more);
}

std::vector<Input> draw(const TpceOptions& options, std::size_t count, int worker = 0) {
  const InputGenerator generator(options, 4);
  Random random(7);
  std::vector<Input> inputs(count);
  for (std::size_t i = 0; i < count; ++i) generator.generate(random, worker, i, inputs[i]);
  return inputs;
}

std::vector<TradeOrderInput> orders_of(const std::vector<Input>& inputs) {
  std::vector<TradeOrderInput> orders;
  for (const Input& input : inputs) {
    if (input.type == Type::trade_order) orders.push_back(input.trade_order);
  }
  return orders;
}

class TpceFeeds : public testing::TestWithParam<std::uint32_t> {};

TEST_P(TpceFeeds, FollowTheirNumberOfOrders) {
  std::map<std::uint32_t, std::uint32_t> volumes;
  std::uint32_t queued = 0;
  for (const Input& input : draw(small({{"feed_entries", std::to_string(GetParam())}}), 20'000)) {
    EXPECT_EQ(input.type == Type::market_feed, queued == GetParam());
    if (input.type == Type::trade_order && !input.trade_order.rolls_back) {
      volumes[input.trade_order.security] += input.trade_order.quantity;
      ++queued;
    }
    if (input.type != Type::market_feed) continue;
    const MarketFeedInput& feed = input.market_feed;
    ASSERT_EQ(feed.count, volumes.size());
    std::uint32_t entries = 0;
    auto expected = volumes.begin();
    for (std::size_t i = 0; i < feed.count; ++i, ++expected) {
      const Tick& tick = feed.ticks[i];
      EXPECT_EQ(tick.security, expected->first) << "in ascending order";
      EXPECT_EQ(tick.volume, expected->second);
      EXPECT_LE(tick.lowest_cents, tick.price_cents);
      EXPECT_LE(tick.price_cents, tick.highest_cents);
      EXPECT_TRUE(tick.entries > 1 || tick.lowest_cents == tick.highest_cents);
      entries += tick.entries;
    }
    EXPECT_EQ(entries, GetParam());
    volumes.clear();
    queued = 0;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, TpceFeeds, testing::Values(1, 7, kMostEntriesPerFeed));

TEST(TpceInputs, HaveTheSharesThatAreStated) {
  for (const OptionMap& changed :
       {OptionMap{{"trade_update", "0"}}, OptionMap{{"trade_update", "20"}},
        OptionMap{{"trade_update", "50"}}, OptionMap{{"trade_update", "100"}},
        OptionMap{{"feed_entries", "1"}}}) {
    const TpceOptions options = small(changed);
    std::map<Type, double> counts;
    for (const Input& input : draw(options, 50'000)) ++counts[input.type];
    const InputGenerator generator(options, 1);
    double sum = 0;
    for (const Type type : {Type::trade_order, Type::market_feed, Type::trade_update}) {
      EXPECT_NEAR(generator.share(type), counts[type] / 50'000, 0.01);
      sum += generator.share(type);
    }
    EXPECT_DOUBLE_EQ(sum, 1);
  }
}

TEST(TpceInputs, ThetaSkewsTheSecurities) {
  const auto hottest = [](const char* theta) {
    std::map<std::uint32_t, double> counts;
    const auto orders = orders_of(draw(small({{"theta", theta}}), 40'000));
    for (const TradeOrderInput& order : orders) ++counts[order.security];
    return std::max_element(counts.begin(), counts.end(),
                            [](auto& one, auto& two) { return one.second < two.second; })
               ->second /
           static_cast<double>(orders.size());
  };
  EXPECT_LT(hottest("0"), 0.01);
  EXPECT_NEAR(hottest("3"), 1 / 1.20206, 0.01);  // of 1 + 1/8 + 1/27 + ...
}

TEST(TpceInputs, OrdersHaveALimitUnlessTheOptionSaysOtherwise) {
  std::map<OrderType, double> counts;
  const auto orders = orders_of(draw(small(), 20'000));
  for (const TradeOrderInput& order : orders) ++counts[order.type];
  const auto count = static_cast<double>(orders.size());
  EXPECT_EQ(counts.size(), 3U);
  EXPECT_NEAR(counts[OrderType::limit_buy] / count, 0.5, 0.02);
  EXPECT_NEAR(counts[OrderType::limit_sell] / count, 0.25, 0.02);
  for (const TradeOrderInput& order : orders_of(draw(small({{"market_orders", "100"}}), 1000))) {
    EXPECT_TRUE(is_market(order.type));
  }
}

TEST(TpceInputs, OrdersAreByTheOwnerOrAPermittedPerson) {
  const TpceOptions options = small();
  int others = 0;
  int rollbacks = 0;
  for (const TradeOrderInput& order : orders_of(draw(options, 20'000))) {
    rollbacks += order.rolls_back;
    EXPECT_LT(order.account % kAccountsReserved, accounts_of(customer_of(order.account)));
    if (order.by_owner) {
      EXPECT_EQ(order.executor, customer_of(order.account));
      continue;
    }
    ++others;
    const Permitted found = permitted(order.account, options.scale());
    const auto end = found.people.begin() + static_cast<std::ptrdiff_t>(found.count);
    EXPECT_NE(std::find(found.people.begin(), end, order.executor), end);
  }
  EXPECT_GT(others, 100);
  EXPECT_NEAR(rollbacks, 100, 50);
}

TEST(TpceInputs, NoTwoOrdersHaveTheSameTrade) {
  const TpceOptions options = small();
  const InputGenerator generator(options, 3);
  Random random(1);
  std::set<std::uint32_t> trades;
  std::size_t orders = 0;
  for (int i = 0; i < 3000; ++i) {
    Input input{};
    generator.generate(random, i % 3, 0, input);
    if (input.type != Type::trade_order) continue;
    ++orders;
    trades.insert(input.trade_order.trade);
  }
  EXPECT_EQ(trades.size(), orders);
  EXPECT_GE(*trades.begin(), options.scale().trades());
  EXPECT_LT(*trades.rbegin(), options.scale().trades() + orders + 3 * 64) << "nearly in order";
}

TEST(TpceInputs, UpdatesAreOfTradesBeforeTheRun) {
  const std::uint32_t trades = small().scale().trades();
  std::map<TradeUpdateInput::Frame, int> frames;
  for (const Input& input : draw(small({{"trade_update", "100"}}), 3000)) {
    const TradeUpdateInput& update = input.trade_update;
    ++frames[update.frame];
    if (update.frame != TradeUpdateInput::Frame::by_trade) {
      EXPECT_LE(update.first_trade, update.last_trade);
      EXPECT_EQ(update.last_trade, trades - 1);
      continue;
    }
    EXPECT_TRUE(std::is_sorted(update.trades.begin(), update.trades.end()));
    EXPECT_EQ(std::adjacent_find(update.trades.begin(), update.trades.end()), update.trades.end());
    EXPECT_LT(update.trades.back(), trades);
  }
  for (const auto& [frame, count] : frames) EXPECT_NEAR(count, 1000, 100);
}

}  // namespace
}  // namespace heddle::tpce
