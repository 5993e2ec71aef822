#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"
#include "workload/tpce/states.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Trade-Update returns, as far as it is computed.
struct TradeUpdateOutput {
  std::uint32_t updated = 0;  ///< trades
};

/// The Trade-Update transaction: small corrections of completed trades, found by their numbers
/// (frame 1), by account (frame 2) or by security (frame 3).
///
/// It goes table by table, each time over all trades, so that other transactions can follow it from
/// table to table.
template <class Txn, class M>
class TradeUpdateTransaction {
 public:
  TradeUpdateTransaction(Txn& txn, Tables<M>& tables, const TradeUpdateInput& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run(TradeUpdateOutput& output) {
    if (!run_frame()) return txn_.stop();
    output.updated = updated_;
    return Outcome::commit;
  }

 private:
  bool run_frame() {
    switch (in_.frame) {
      case TradeUpdateInput::Frame::by_trade: return by_trade();
      case TradeUpdateInput::Frame::by_account: return by_account();
      case TradeUpdateInput::Frame::by_symbol: return by_symbol();
    }
    return false;
  }

  // ---- the frames -------------------------------------------------------------------------------

  /// Changes T_EXEC_NAME.
  bool by_trade() {
    count_ = updated_ = kTradesPerUpdate;
    for (std::size_t i = 0; i < count_; ++i) trades_[i] = in_.trades[i];
    fetch_trades();
    return each(kByTradeReadTrade,
                [&](std::size_t i) {
                  const auto trade = txn_.read(kByTradeReadExecutor, tables_.trade,
                                               make_key(trades_[i]), trade_ahead(i));
                  return trade &&
                         txn_.update(
                             kByTradeUpdateExecutor, tables_.trade, trade,
                             [](Trade& row) { row.executor = with_other_initial(row.executor); }) &&
                         read_trade(kByTradeReadTrade, i);
                }) &&
           scan_histories(kByTradeScanHistory) && read_types(kByTradeReadTradeType) &&
           each(kByTradeReadSettlement,
                [&](std::size_t i) { return read_settlement(kByTradeReadSettlement, i); }) &&
           each(kByTradeReadCash, [&](std::size_t i) { return read_cash(kByTradeReadCash, i); });
  }

  /// Changes SE_CASH_TYPE.
  bool by_account() {
    if (!scan_trades(kByAccountScanTrades, tables_.trade_by_account)) return false;
    updated_ = count_;
    fetch_trades();
    return each(kByAccountReadTrade,
                [&](std::size_t i) { return read_trade(kByAccountReadTrade, i); }) &&
           scan_histories(kByAccountScanHistory) &&
           each(kByAccountReadSettlement,
                [&](std::size_t i) {
                  const auto settlement = txn_.read(kByAccountReadCashType, tables_.settlement,
                                                    make_key(trades_[i]), settlement_ahead(i));
                  return settlement &&
                         txn_.update(kByAccountUpdateCashType, tables_.settlement, settlement,
                                     [&](Settlement& row) {
                                       const CashTypes types = cash_types(heads_[i].is_cash);
                                       row.cash_type = row.cash_type == types.without
                                                           ? types.with_account
                                                           : types.without;
                                     }) &&
                         read_settlement(kByAccountReadSettlement, i);
                }) &&
           each(kByAccountReadCash,
                [&](std::size_t i) { return read_cash(kByAccountReadCash, i); });
  }

  /// Changes CT_NAME.
  bool by_symbol() {
    if (!scan_trades(kBySymbolScanTrades, tables_.trade_by_symbol)) return false;
    fetch_trades();
    return each(kBySymbolReadTrade,
                [&](std::size_t i) { return read_trade(kBySymbolReadTrade, i); }) &&
           read_types(kBySymbolReadTradeType) &&
           each(kBySymbolReadSecurity,
                [&](std::size_t i) {
                  securities_[i] = txn_.read(kBySymbolReadSecurity, tables_.security,
                                             make_key(heads_[i].security));
                  return static_cast<bool>(securities_[i]);
                }) &&
           scan_histories(kBySymbolScanHistory) &&
           each(kBySymbolReadSettlement,
                [&](std::size_t i) { return read_settlement(kBySymbolReadSettlement, i); }) &&
           each(kBySymbolReadCash, [&](std::size_t i) { return rename_cash(i); });
  }

  bool rename_cash(std::size_t i) {
    if (!heads_[i].is_cash) return true;
    const auto cash =
        txn_.read(kBySymbolReadCashName, tables_.cash, make_key(trades_[i]), cash_ahead(i));
    ++updated_;
    return cash &&
           txn_.update(kBySymbolUpdateCashName, tables_.cash, cash,
                       [&](CashTransaction& row) {
                         row.name = cash_name(types_[i]->name.view(), heads_[i].quantity,
                                              !has_capital(row.name), securities_[i]->name.view());
                       }) &&
           read_cash(kBySymbolReadCash, i);
  }

  // ---- the parts of frames ----------------------------------------------------------------------

  /// Calls f(i) for each trade until it returns false; `last` is the last state of the loop.
  template <class F>
  bool each(State last, F f) {
    for (std::size_t i = 0; i < count_; ++i) {
      if (!f(i)) return false;
    }
    txn_.passed(last);
    return true;
  }

  template <class Index>
  bool scan_trades(State state, Index& index) {
    return txn_.template scan<IndexRow>(state, index, pair_key(in_.number, in_.first_trade),
                                        pair_key(in_.number, in_.last_trade), Order::ascending,
                                        kTradesPerUpdate, [&](const Key1&, const auto& row) {
                                          trades_[count_++] = row->number;
                                          return true;
                                        });
  }

  /// Fetches the trades and their settlements, once their numbers are known.
  void fetch_trades() {
    trades_ahead_.fetch([this](auto ahead) {
      for (std::size_t i = 0; i < count_; ++i) {
        ahead(tables_.trade, make_key(trades_[i]), sizeof(Trade));
        ahead(tables_.settlement, make_key(trades_[i]), sizeof(Settlement));
      }
    });
  }
  /// Fetches the histories of the trades, and the cash transactions of those that have one.
  void fetch_histories_and_cash() {
    histories_and_cash_ahead_.fetch([this](auto ahead) {
      for (std::size_t i = 0; i < count_; ++i) {
        ahead(tables_.history, history_key(trades_[i], Status::pending), sizeof(TradeHistory));
        ahead(tables_.cash, make_key(trades_[i]), sizeof(CashTransaction));
      }
    });
  }
  [[nodiscard]] Record<M>* trade_ahead(std::size_t i) const { return trades_ahead_[2 * i]; }
  [[nodiscard]] Record<M>* settlement_ahead(std::size_t i) const {
    return trades_ahead_[2 * i + 1];
  }
  [[nodiscard]] Record<M>* cash_ahead(std::size_t i) const {
    return histories_and_cash_ahead_[2 * i + 1];
  }

  bool read_trade(State state, std::size_t i) {
    const auto trade =
        txn_.template read<TradeHead>(state, tables_.trade, make_key(trades_[i]), trade_ahead(i));
    if (!trade) return false;
    heads_[i] = *trade;
    return true;
  }

  bool scan_histories(State state) {
    fetch_histories_and_cash();
    return each(state, [&](std::size_t i) {
      return txn_.template scan<TradeHistory>(
          state, tables_.history, history_key(trades_[i], Status::pending),
          history_key(trades_[i], Status::completed), Order::ascending, kStatuses,
          [](const Key1&, const auto&) { return true; });
    });
  }

  bool read_types(State state) {
    return each(state, [&](std::size_t i) {
      types_[i] = txn_.read(state, tables_.trade_type,
                            make_key(static_cast<std::uint64_t>(heads_[i].type)));
      return static_cast<bool>(types_[i]);
    });
  }

  bool read_settlement(State state, std::size_t i) {
    return static_cast<bool>(
        txn_.read(state, tables_.settlement, make_key(trades_[i]), settlement_ahead(i)));
  }

  /// A trade on margin has no cash transaction.
  bool read_cash(State state, std::size_t i) {
    return !heads_[i].is_cash ||
           static_cast<bool>(txn_.read(state, tables_.cash, make_key(trades_[i]), cash_ahead(i)));
  }

  Txn& txn_;
  Tables<M>& tables_;
  const TradeUpdateInput& in_;
  RowsAhead<M> trades_ahead_;              // two per trade
  RowsAhead<M> histories_and_cash_ahead_;  // two per trade
  std::uint32_t count_ = 0;
  std::uint32_t updated_ = 0;
  // The first `count_` are set.
  std::array<std::uint64_t, kTradesPerUpdate> trades_;
  std::array<TradeHead, kTradesPerUpdate> heads_;
  std::array<Row<TradeType>, kTradesPerUpdate> types_;
  std::array<Row<Security>, kTradesPerUpdate> securities_;
};

}  // namespace heddle::tpce
