#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "model/random.h"
#include "workload/tpce/exchange.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/mixes.h"
#include "workload/tpce/names.h"
#include "workload/tpce/options.h"
#include "workload/tpce/people.h"
#include "workload/tpce/query_generator.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/states.h"
#include "workload/tpce/ticker.h"
#include "workload/zipf.h"

namespace heddle::tpce {

/// Draws inputs. The orders of a worker make the entries of its ticker; when they fill a
/// Market-Feed, that is the worker's next transaction.
///
/// In the full mix the trades that transactions have submitted are completed next, and each trade
/// makes two entries, as the emulator of the specification does: one when it is completed, and one
/// when it is ordered, which for an order with a limit has the price that it waits for.
class InputGenerator {
 public:
  InputGenerator(const TpceOptions& options, int max_workers)
      : scale_(options.scale()),
        zipf_(scale_.securities(), options.theta),
        scatter_(scale_.securities()),
        full_(options.is_full()),
        updates_(static_cast<std::uint64_t>(options.trade_update)),
        market_orders_(static_cast<std::uint64_t>(options.market_orders)),
        feed_entries_(options.feed_entries),
        workers_(static_cast<std::size_t>(max_workers)),
        exchange_(full_ ? workers_.size() : 0) {}

  void generate(Random& random, int worker, std::uint64_t now_us, Input& input) const {
    assert(0 <= worker && static_cast<std::size_t>(worker) < workers_.size());
    Worker& own = workers_[static_cast<std::size_t>(worker)];
    const std::uint64_t date_us = scale_.run_start_us() + now_us;
    const Sender sender{static_cast<std::uint32_t>(worker), own.drawn++};
    if (own.ticker.entries() == feed_entries_) {
      input.type = Type::market_feed;
      input.market_feed.date_us = date_us;
      input.market_feed.sender = sender;
      return own.ticker.drain(input.market_feed);
    }
    if (full_ && next_result(own, sender.worker, date_us, input)) return;
    input.type = random_type(random);
    if (reads_snapshot(input.type)) return query(random, input);
    if (input.type == Type::trade_update) return trade_update(random, input.trade_update);
    trade_order(random, date_us, input.trade_order);
    input.trade_order.sender = sender;
    input.trade_order.trade = next_trade(sender.worker, own.orders++);
    // An order that rolls back never gets to the market.
    if (!input.trade_order.rolls_back) add_entry(random, own.ticker, input.trade_order);
  }

  /// A type's share of all transactions in the long run.
  [[nodiscard]] double share(Type type) const {
    constexpr double kKept = 1 - 1 / static_cast<double>(kOrdersPerRollback);
    const auto entries = static_cast<double>(feed_entries_);
    if (full_) return full_share(type, kKept, entries);
    const double updates = static_cast<double>(updates_) / 100;
    const double feeds = (1 - updates) * kKept / entries;
    const double all = 1 + feeds;
    switch (type) {
      case Type::trade_order: return (1 - updates) / all;
      case Type::market_feed: return feeds / all;
      case Type::trade_update: return updates / all;
      default: return 0;
    }
  }

  /// Where transactions of the full mix submit trades.
  [[nodiscard]] MarketExchange& exchange() { return exchange_; }

 private:
  static constexpr std::uint64_t kOrdersPerRollback = 100;

  /// What a worker's draws depend on; on its own cache lines, because the worker changes it.
  struct alignas(64) Worker {
    std::uint64_t orders = 0;
    std::uint32_t drawn = 0;
    Ticker ticker;
    std::deque<SubmittedTrade> submitted;
  };

  /// Takes the oldest of the trades that await their Trade-Results. False: there is none.
  bool next_result(Worker& own, std::uint32_t worker, std::uint64_t date_us, Input& input) const {
    if (own.submitted.empty()) exchange_.collect(worker, own.submitted);
    if (own.submitted.empty()) return false;
    const SubmittedTrade trade = own.submitted.front();
    own.submitted.pop_front();
    input.type = Type::trade_result;
    input.trade_result = {date_us, trade};
    own.ticker.add(trade.security, trade.price_cents, trade.quantity);
    return true;
  }

  Type random_type(Random& random) const {
    if (full_) return full_type(random);
    return random.below(100) < updates_ ? Type::trade_update : Type::trade_order;
  }

  /// The next T_ID. A worker takes them in blocks, as from a sequence with a cache: the numbers of
  /// all workers together are nearly in the order of time, and are not the same for two of them.
  [[nodiscard]] std::uint32_t next_trade(std::uint32_t worker, std::uint64_t order) const {
    constexpr std::uint64_t kBlock = 64;
    const std::uint64_t block = order / kBlock * workers_.size() + worker;
    return static_cast<std::uint32_t>(scale_.trades() + block * kBlock + order % kBlock);
  }

  static std::uint32_t random_price_cents(Random& random) {
    return static_cast<std::uint32_t>(random.between(kLeastPrice_cents, kMostPrice_cents));
  }

  [[nodiscard]] OrderType random_order_type(Random& random) const {
    const std::uint64_t card = random.below(4);
    if (market_orders_ > 0 && random.below(100) < market_orders_) {
      return card < 2 ? OrderType::market_buy : OrderType::market_sell;
    }
    return card < 2   ? OrderType::limit_buy
           : card < 3 ? OrderType::limit_sell
                      : OrderType::stop_loss;
  }

  void trade_order(Random& random, std::uint64_t date_us, TradeOrderInput& input) const {
    input.date_us = date_us;
    input.account = random_account(random, scale_);
    const Permitted others = permitted(input.account, scale_);
    input.by_owner = others.count == 0 || random.below(100) < 90;
    input.executor =
        input.by_owner ? customer_of(input.account) : others.people[random.below(others.count)];
    input.security = static_cast<std::uint32_t>(scatter_(zipf_(random)));
    input.type = random_order_type(random);
    input.quantity = kLeastQuantity << random.below(4);
    input.price_cents = random_price_cents(random);
    input.is_margin = random.below(100) < 8;
    input.is_lifo = random.below(100) < 35;
    input.rolls_back = random.below(kOrdersPerRollback) == 0;
    input.by_company = random.below(100) < 40;
    if (input.by_company) {
      const Issue issue = issue_of(input.security, scale_);
      input.issue = static_cast<std::uint8_t>(issue.issue);
      input.company = company_name(issue.company);
    }
  }

  /// The market sells the security at a price that does not depend on the order. In the full mix
  /// the entry makes it reach the limit of an order that has one; for a market order, which the
  /// market makes without it, another security is sold.
  void add_entry(Random& random, Ticker& ticker, const TradeOrderInput& order) const {
    if (!full_) return ticker.add(order.security, random_price_cents(random), order.quantity);
    if (!is_market(order.type))
      return ticker.add(order.security, order.price_cents, order.quantity);
    const auto security = static_cast<std::uint32_t>(random.below(scale_.securities()));
    ticker.add(security, random_price_cents(random), kLeastQuantity << random.below(4));
  }

  void query(Random& random, Input& input) const {
    switch (input.type) {
      case Type::broker_volume: return draw(random, scale_, input.broker_volume);
      case Type::customer_position: return draw(random, scale_, input.customer_position);
      case Type::market_watch: return draw(random, scale_, input.market_watch);
      case Type::security_detail: return draw(random, scale_, input.security_detail);
      case Type::trade_lookup: return trade_lookup(random, input.trade_lookup);
      case Type::trade_status: return draw(random, scale_, input.trade_status);
      default: assert(false && "the type writes");
    }
  }

  void trade_update(Random& random, TradeUpdateInput& input) const {
    using enum TradeUpdateInput::Frame;
    const std::uint64_t card = random.below(100);
    search(random, card < 33 ? by_trade : card < 66 ? by_account : by_symbol, input);
  }

  void trade_lookup(Random& random, TradeLookupInput& input) const {
    using enum TradeUpdateInput::Frame;
    const std::uint64_t card = random.below(100);
    input.holdings = card >= 90;
    const bool of_account = input.holdings || (30 <= card && card < 60);
    search(random, of_account ? by_account : card < 30 ? by_trade : by_symbol, input.search);
  }

  /// All of the trades before the run are settled, so that they can be changed.
  void search(Random& random, TradeUpdateInput::Frame frame, TradeUpdateInput& input) const {
    input.frame = frame;
    const auto trades = scale_.trades();
    if (frame == TradeUpdateInput::Frame::by_trade) {
      for (std::size_t i = 0; i < kTradesPerUpdate; ++i) add_trade(random, trades, i, input.trades);
      return;
    }
    input.number = frame == TradeUpdateInput::Frame::by_account
                       ? random_account(random, scale_)
                       : static_cast<std::uint32_t>(random.below(scale_.securities()));
    input.first_trade = static_cast<std::uint32_t>(random.below(trades));
    input.last_trade = trades - 1;
  }

  /// Adds a trade that is not among the first `count`, which stay in ascending order.
  static void add_trade(Random& random, std::uint32_t trades, std::size_t count,
                        std::array<std::uint32_t, kTradesPerUpdate>& chosen) {
    const auto end = chosen.begin() + static_cast<std::ptrdiff_t>(count);
    for (;;) {
      const auto trade = static_cast<std::uint32_t>(random.below(trades));
      const auto at = std::lower_bound(chosen.begin(), end, trade);
      if (at != end && *at == trade) continue;
      std::move_backward(at, end, end + 1);
      *at = trade;
      return;
    }
  }

  Scale scale_;
  Zipf zipf_;
  Scatter scatter_;
  bool full_;
  std::uint64_t updates_;
  std::uint64_t market_orders_;
  std::size_t feed_entries_;
  /// A worker writes only its own element: generating is const towards everything shared.
  mutable std::vector<Worker> workers_;
  mutable MarketExchange exchange_;
};

}  // namespace heddle::tpce
