#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/tpce/exchange.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/states.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// The orders that one feed submits; it leaves the others to the next.
inline constexpr std::size_t kMostOrdersPerFeed = 100;

/// What Market-Feed returns to the market.
struct MarketFeedOutput {
  std::uint32_t submitted = 0;  ///< the orders whose limits the prices have reached
  std::array<SubmittedTrade, kMostOrdersPerFeed> trades;  ///< they; the first `submitted` are set
};

/// The Market-Feed transaction: new prices, which submit the orders that waited for them.
///
/// It goes table by table, each time over all securities or orders, so that other transactions can
/// follow it from table to table.
template <class Txn, class M>
class MarketFeedTransaction {
 public:
  MarketFeedTransaction(Txn& txn, Tables<M>& tables, const MarketFeedInput& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run(MarketFeedOutput& output) {
    if (!set_prices() || !find_orders() || !remove_requests(output) || !submit(output)) {
      return txn_.stop();
    }
    output.submitted = static_cast<std::uint32_t>(count_);
    return Outcome::commit;
  }

 private:
  [[nodiscard]] std::span<const Tick> ticks() const {
    return std::span(in_.ticks).first(in_.count);
  }
  [[nodiscard]] auto orders() const { return std::span(orders_).first(count_); }

  bool set_prices() {
    RowsAhead<M> prices;
    prices.fetch([this](auto ahead) {
      for (const Tick& tick : ticks()) {
        ahead(tables_.last_trade, make_key(tick.security), sizeof(LastTrade));
      }
    });
    for (std::size_t i = 0; i < ticks().size(); ++i) {
      const Tick& tick = ticks()[i];
      const auto last = txn_.read(kMarketFeedReadLastTrade, tables_.last_trade,
                                  make_key(tick.security), prices[i]);
      if (!last) return false;
      if (!txn_.update(kMarketFeedUpdateLastTrade, tables_.last_trade, last, [&](LastTrade& row) {
            row.date_us = in_.date_us;
            row.price_cents = tick.price_cents;
            row.volume += tick.volume;
            row.entries += tick.entries;
          })) {
        return false;
      }
    }
    txn_.passed(kMarketFeedUpdateLastTrade);
    return true;
  }

  /// A stop-loss order waits for a price that is as low as its limit, or lower; so does an order to
  /// buy. One to sell waits for a price that is as high.
  bool find_orders() {
    RowsAhead<M> leaves;
    leaves.fetch([this](auto ahead) {
      for (const Tick& tick : ticks()) {
        for (const OrderType type :
             {OrderType::stop_loss, OrderType::limit_sell, OrderType::limit_buy}) {
          ahead(tables_.request_by_symbol, request_index_key(tick.security, type, 0, 0), 0);
        }
      }
    });
    for (const Tick& tick : ticks()) {
      if (!find(kMarketFeedScanStopLoss, tick, OrderType::stop_loss, tick.lowest_cents,
                kMostPrice_cents) ||
          !find(kMarketFeedScanLimitSell, tick, OrderType::limit_sell, 0, tick.highest_cents) ||
          !find(kMarketFeedScanLimitBuy, tick, OrderType::limit_buy, tick.lowest_cents,
                kMostPrice_cents)) {
        return false;
      }
    }
    txn_.passed(kMarketFeedScanLimitBuy);
    return true;
  }

  bool find(State state, const Tick& tick, OrderType type, std::uint32_t least_cents,
            std::uint32_t most_cents) {
    if (count_ == kMostOrdersPerFeed) return true;
    constexpr std::uint64_t kLastTrade = 0xffff'ffff;
    return txn_.template scan<IndexRow>(
        state, tables_.request_by_symbol, request_index_key(tick.security, type, least_cents, 0),
        request_index_key(tick.security, type, most_cents, kLastTrade), Order::ascending,
        static_cast<std::uint32_t>(kMostOrdersPerFeed - count_), [&](const Key1&, const auto& row) {
          orders_[count_++] = row;
          return true;
        });
  }

  bool remove_requests(MarketFeedOutput& output) {
    rows_.fetch([this](auto ahead) {
      for (const Row<IndexRow>& order : orders()) {
        ahead(tables_.request, make_key(order->number), sizeof(TradeRequest));
        ahead(tables_.trade, make_key(order->number), sizeof(TradeHead));
        ahead(tables_.history, history_key(order->number, Status::submitted), 0);  // its leaf
      }
    });
    for (std::size_t i = 0; i < count_; ++i) {
      const Row<IndexRow>& order = orders_[i];
      const auto request =
          txn_.read(kMarketFeedReadRequest, tables_.request, make_key(order->number), rows_[3 * i]);
      if (!request) return false;
      output.trades[i] = {.trade = static_cast<std::uint32_t>(order->number),
                          .account = 0,  // it is known when the trade has been read
                          .security = request->security,
                          .broker = request->broker,
                          .quantity = request->quantity,
                          .price_cents = request->bid_price_cents};
      const auto by_broker =
          txn_.read(kNoState, tables_.request_by_broker,
                    broker_request_key(request->broker, request->security, order->number));
      if (!by_broker) return false;
      if (!txn_.remove(kMarketFeedRemoveRequest, tables_.request, request) ||
          !txn_.remove(kMarketFeedRemoveRequestBySymbol, tables_.request_by_symbol, order) ||
          !txn_.remove(kMarketFeedRemoveRequestByBroker, tables_.request_by_broker, by_broker)) {
        return false;
      }
    }
    txn_.passed(kMarketFeedRemoveRequestByBroker);
    return true;
  }

  bool submit(MarketFeedOutput& output) {
    for (std::size_t i = 0; i < count_; ++i) {
      const auto trade = txn_.template read<TradeHead>(
          kMarketFeedReadTrade, tables_.trade, make_key(orders_[i]->number), rows_[3 * i + 1]);
      if (!trade) return false;
      output.trades[i].account = trade->account;
      if (!txn_.update(kMarketFeedUpdateTrade, tables_.trade, trade, [&](TradeHead& row) {
            row.date_us = in_.date_us;
            row.status = Status::submitted;
          })) {
        return false;
      }
    }
    txn_.passed(kMarketFeedUpdateTrade);
    for (const Row<IndexRow>& order : orders()) {
      if (!txn_.insert(kMarketFeedInsertHistory, tables_.history,
                       history_key(order->number, Status::submitted), {in_.date_us})) {
        return false;
      }
    }
    txn_.passed(kMarketFeedInsertHistory);
    return true;
  }

  Txn& txn_;
  Tables<M>& tables_;
  const MarketFeedInput& in_;
  std::array<Row<IndexRow>, kMostOrdersPerFeed> orders_;  // the first `count_` are set
  std::size_t count_ = 0;
  RowsAhead<M> rows_;  // three per order
};

}  // namespace heddle::tpce
