#pragma once

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/random.h"
#include "workload/tpce/names.h"
#include "workload/tpce/options.h"
#include "workload/tpce/people.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/states.h"
#include "workload/zipf.h"

/// The inputs of transactions (clause 3.3). They contain all random values and times, so that a
/// transaction can be run again with the same effect.
namespace heddle::tpce {

/// The trades that one transaction processes.
inline constexpr std::size_t kTradesPerUpdate = 20;

struct TradeOrderInput {
  std::uint64_t date_us;
  std::uint32_t trade;  ///< T_ID of the new row
  std::uint32_t account;
  std::uint32_t security;  ///< with `by_company`, the procedure has to find it
  std::uint32_t executor;  ///< a person
  std::uint32_t quantity;
  std::uint32_t price_cents;  ///< the limit
  OrderType type;
  bool by_owner;
  bool by_company;
  bool is_margin;
  bool is_lifo;
  bool rolls_back;
  std::uint8_t issue;   ///< with `by_company`
  CompanyName company;  ///< with `by_company`
};

/// The entries of a ticker for one security. The effect is that of processing them one by one.
struct Tick {
  std::uint32_t security;
  std::uint32_t price_cents;  ///< of the last entry
  std::uint32_t lowest_cents;
  std::uint32_t highest_cents;
  std::uint32_t volume;
  std::uint32_t entries;
};

struct MarketFeedInput {
  std::uint64_t date_us;
  std::uint32_t count;
  std::array<Tick, kMostEntriesPerFeed> ticks;  ///< in the order of the securities
};

struct TradeUpdateInput {
  enum class Frame : std::uint8_t { by_trade, by_account, by_symbol };

  Frame frame;
  std::uint32_t number;       ///< an account or a security
  std::uint32_t first_trade;  ///< with a number, the trade at which the search begins
  std::uint32_t last_trade;   ///< … and ends
  std::array<std::uint32_t, kTradesPerUpdate> trades;  ///< by trade: ascending
};

struct Input {
  Type type;
  union {  // the member is selected by `type`
    TradeOrderInput trade_order;
    MarketFeedInput market_feed;
    TradeUpdateInput trade_update;
  };
};

/// Draws inputs. The orders of a worker make the entries of its ticker; when they fill a
/// Market-Feed, that is the worker's next transaction.
class InputGenerator {
 public:
  InputGenerator(const TpceOptions& options, int max_workers)
      : scale_(options.scale()),
        zipf_(scale_.securities(), options.theta),
        scatter_(scale_.securities()),
        updates_(static_cast<std::uint64_t>(options.trade_update)),
        market_orders_(static_cast<std::uint64_t>(options.market_orders)),
        feed_entries_(options.feed_entries),
        workers_(static_cast<std::size_t>(max_workers)) {}

  void generate(Random& random, int worker, std::uint64_t now_us, Input& input) const {
    assert(0 <= worker && static_cast<std::size_t>(worker) < workers_.size());
    Worker& own = workers_[static_cast<std::size_t>(worker)];
    const std::uint64_t date_us = scale_.run_start_us() + now_us;
    if (own.entries == feed_entries_) {
      input.type = Type::market_feed;
      return market_feed(own, date_us, input.market_feed);
    }
    if (random.below(100) < updates_) {
      input.type = Type::trade_update;
      return trade_update(random, input.trade_update);
    }
    input.type = Type::trade_order;
    trade_order(random, date_us, input.trade_order);
    input.trade_order.trade = next_trade(static_cast<std::uint32_t>(worker), own.orders++);
    // An order that rolls back never gets to the market.
    if (!input.trade_order.rolls_back) add_entry(random, own, input.trade_order);
  }

  /// A type's share of all transactions in the long run.
  [[nodiscard]] double share(Type type) const {
    const double updates = static_cast<double>(updates_) / 100;
    const double feeds = (1 - updates) * (1 - 1 / static_cast<double>(kOrdersPerRollback)) /
                         static_cast<double>(feed_entries_);
    const double all = 1 + feeds;
    switch (type) {
      case Type::trade_order: return (1 - updates) / all;
      case Type::market_feed: return feeds / all;
      case Type::trade_update: return updates / all;
    }
    return 0;
  }

 private:
  static constexpr std::uint64_t kOrdersPerRollback = 100;

  /// What a worker's draws depend on; on its own cache lines, because the worker changes it.
  struct alignas(64) Worker {
    std::uint64_t orders = 0;
    std::size_t entries = 0;
    std::size_t count = 0;  ///< of ticks
    std::array<Tick, kMostEntriesPerFeed> ticks;
  };

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

  [[nodiscard]] OrderType random_type(Random& random) const {
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
    input.type = random_type(random);
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

  /// The market sells the security at a price that does not depend on the order.
  static void add_entry(Random& random, Worker& own, const TradeOrderInput& order) {
    const std::uint32_t price_cents = random_price_cents(random);
    ++own.entries;
    const auto end = own.ticks.begin() + static_cast<std::ptrdiff_t>(own.count);
    const auto at = std::lower_bound(
        own.ticks.begin(), end, order.security,
        [](const Tick& tick, std::uint32_t security) { return tick.security < security; });
    if (at != end && at->security == order.security) {
      at->price_cents = price_cents;
      at->lowest_cents = std::min(at->lowest_cents, price_cents);
      at->highest_cents = std::max(at->highest_cents, price_cents);
      at->volume += order.quantity;
      ++at->entries;
      return;
    }
    std::move_backward(at, end, end + 1);
    *at = {order.security, price_cents, price_cents, price_cents, order.quantity, 1};
    ++own.count;
  }

  static void market_feed(Worker& own, std::uint64_t date_us, MarketFeedInput& input) {
    input.date_us = date_us;
    input.count = static_cast<std::uint32_t>(own.count);
    input.ticks = own.ticks;
    own.entries = 0;
    own.count = 0;
  }

  /// All of the trades before the run are settled, so that they can be changed.
  void trade_update(Random& random, TradeUpdateInput& input) const {
    using enum TradeUpdateInput::Frame;
    const std::uint64_t card = random.below(100);
    input.frame = card < 33 ? by_trade : card < 66 ? by_account : by_symbol;
    const auto trades = scale_.trades();
    if (input.frame == by_trade) {
      for (std::size_t i = 0; i < kTradesPerUpdate; ++i) add_trade(random, trades, i, input.trades);
      return;
    }
    input.number = input.frame == by_account
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
  std::uint64_t updates_;
  std::uint64_t market_orders_;
  std::size_t feed_entries_;
  /// A worker writes only its own element: generating is const towards everything shared.
  mutable std::vector<Worker> workers_;
};

}  // namespace heddle::tpce
