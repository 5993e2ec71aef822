#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "workload/tpce/exchange.h"
#include "workload/tpce/query_inputs.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/states.h"

/// The inputs of transactions (clause 3.3). They contain all random values and times, so that a
/// transaction can be run again with the same effect.
namespace heddle::tpce {

/// The trades that one transaction processes.
inline constexpr std::size_t kTradesPerUpdate = 20;

struct TradeOrderInput {
  std::uint64_t date_us;
  Sender sender;        ///< to the market, with Trade-Results
  std::uint32_t trade;  ///< T_ID of the new row
  std::uint32_t account;
  std::uint32_t security;  ///< with `by_company`, the procedure has to find it
  std::uint32_t executor;  ///< a person
  std::uint32_t quantity;
  std::uint32_t price_cents;  ///< the limit; of a market order, what the market makes it at
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
  Sender sender;  ///< to the market, with Trade-Results
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

struct TradeResultInput {
  std::uint64_t date_us;
  SubmittedTrade trade;
};

struct TradeLookupInput {
  bool holdings;  ///< those that the first trade found has changed (frame 4)
  TradeUpdateInput search;
};

struct Input {
  Type type;
  union {  // the member is selected by `type`
    TradeOrderInput trade_order;
    MarketFeedInput market_feed;
    TradeUpdateInput trade_update;
    TradeResultInput trade_result;
    BrokerVolumeInput broker_volume;
    CustomerPositionInput customer_position;
    MarketWatchInput market_watch;
    SecurityDetailInput security_detail;
    TradeLookupInput trade_lookup;
    TradeStatusInput trade_status;
  };
};

}  // namespace heddle::tpce
