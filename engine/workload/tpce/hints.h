#pragma once

#include <cstdint>
#include <span>

#include "model/hints.h"
#include "workload/pair_key.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/states.h"
#include "workload/tpce/trade_result_states.h"

namespace heddle::tpce {

/// The securities of an order and of a feed; the trades of an update, or the start of its search;
/// the rows that a result changes.
inline void add_hints(const Input& input, Hints& hints) {
  using Frame = TradeUpdateInput::Frame;
  switch (input.type) {
    case Type::trade_order:
      hints.add(
          is_market(input.trade_order.type) ? kTradeOrderReadMarketPrice : kTradeOrderReadLastPrice,
          input.trade_order.security);
      return;
    case Type::market_feed:
      for (const Tick& tick : std::span(input.market_feed.ticks).first(input.market_feed.count)) {
        hints.add(kMarketFeedUpdateLastTrade, tick.security);
      }
      return;
    case Type::trade_update: {
      const TradeUpdateInput& update = input.trade_update;
      if (update.frame == Frame::by_trade) {
        for (const std::uint32_t trade : update.trades) hints.add(kByTradeUpdateExecutor, trade);
        return;
      }
      hints.add(update.frame == Frame::by_account ? kByAccountScanTrades : kBySymbolScanTrades,
                pair_key(update.number, update.first_trade).words[0]);
      return;
    }
    case Type::trade_result: {
      const SubmittedTrade& trade = input.trade_result.trade;
      hints.add(kTradeResultUpdateTrade, trade.trade);
      hints.add(kTradeResultReadSummary,
                holding_summary_key(trade.account, trade.security).words[0]);
      hints.add(kTradeResultUpdateBroker, trade.broker);
      return;
    }
    default: return;  // a type that reads a snapshot has none
  }
}

}  // namespace heddle::tpce
