#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/outcome.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/rows_in_range.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Trade-Lookup returns, as far as it is computed.
struct TradeLookupOutput {
  std::uint32_t trades = 0;
  std::uint32_t changes = 0;  ///< of holdings (frame 4)
};

/// The Trade-Lookup query: completed trades, found as Trade-Update finds them (frames
/// 1 to 3), or what became of the holdings that a trade has changed (frame 4).
template <class Txn, class M>
class TradeLookupQuery {
 public:
  TradeLookupQuery(Txn& txn, Tables<M>& tables, FullTables<M>& full, const TradeLookupInput& input)
      : txn_(txn), tables_(tables), full_(full), in_(input) {}

  Outcome run(TradeLookupOutput& output) {
    if (!find_trades()) return txn_.stop();
    if (in_.holdings) return read_holdings(output) ? Outcome::commit : txn_.stop();
    for (std::size_t i = 0; i < count_; ++i) {
      ahead_.turn(i, count_, [this](std::size_t j, auto fetch) {
        const Key1 key = make_key(trades_[j]);
        fetch(tables_.trade, key, sizeof(Trade));
        fetch(tables_.settlement, key, sizeof(Settlement));
        fetch(tables_.cash, key, sizeof(CashTransaction));
        fetch(tables_.history, history_key(trades_[j], Status::pending), sizeof(TradeHistory));
      });
      if (!read_trade(trades_[i])) return txn_.stop();
    }
    output.trades = count_;
    return Outcome::commit;
  }

 private:
  using Frame = TradeUpdateInput::Frame;

  bool find_trades() {
    const TradeUpdateInput& search = in_.search;
    if (search.frame == Frame::by_trade) {
      for (const std::uint32_t trade : search.trades) trades_[count_++] = trade;
      return true;
    }
    return search.frame == Frame::by_account ? find(tables_.trade_by_account)
                                             : find(tables_.trade_by_symbol);
  }

  template <class Index>
  bool find(Index& index) {
    const TradeUpdateInput& search = in_.search;
    return txn_.template scan<IndexRow>(
        kNoState, index, pair_key(search.number, search.first_trade),
        pair_key(search.number, search.last_trade), Order::ascending,
        in_.holdings ? 1 : kTradesPerUpdate, [this](const Key1&, const auto& row) {
          trades_[count_++] = row->number;
          return true;
        });
  }

  bool read_trade(std::uint64_t id) {
    const auto trade = txn_.read(kNoState, tables_.trade, make_key(id), ahead_[0]);
    if (!trade) return false;
    const auto type = txn_.read(kNoState, tables_.trade_type,
                                make_key(static_cast<std::uint64_t>(trade->head.type)));
    if (!type || !txn_.read(kNoState, tables_.settlement, make_key(id), ahead_[1])) return false;
    if (trade->head.is_cash && !txn_.read(kNoState, tables_.cash, make_key(id), ahead_[2])) {
      return false;
    }
    if (in_.search.frame == Frame::by_symbol &&
        !txn_.read(kNoState, tables_.security, make_key(trade->head.security))) {
      return false;
    }
    return txn_.template scan<TradeHistory>(
        kNoState, tables_.history, history_key(id, Status::pending),
        history_key(id, Status::completed), Order::ascending, kStatuses,
        [](const Key1&, const auto&) { return true; });
  }

  /// Reads at most twenty changes of the holdings that the trade found has changed.
  bool read_holdings(TradeLookupOutput& output) {
    if (count_ == 0) return true;
    output.trades = 1;
    return for_rows_in<HoldingHistory>(
        txn_, full_.holding_history, pairs_of(trades_[0]), Order::ascending,
        [&](const Key1& key, const auto&) { return read_changes(second_of(key), output.changes); });
  }

  bool read_changes(std::uint64_t holding, std::uint32_t& changes) {
    const std::uint32_t left = kTradesPerUpdate - changes;
    if (left == 0) return true;
    return for_rows_in<IndexRow>(
        txn_, full_.history_by_holding, pairs_of(holding), Order::ascending,
        [&](const Key1& key, const auto&) {
          ++changes;
          return static_cast<bool>(
              txn_.read(kNoState, full_.holding_history, pair_key(second_of(key), first_of(key))));
        },
        left);
  }

  Txn& txn_;
  Tables<M>& tables_;
  FullTables<M>& full_;
  const TradeLookupInput& in_;
  std::uint32_t count_ = 0;
  std::array<std::uint64_t, kTradesPerUpdate> trades_;  // the first `count_` are set
  RowsAheadInLoop<M, 4> ahead_;
};

}  // namespace heddle::tpce
