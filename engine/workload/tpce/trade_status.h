#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/query_inputs.h"
#include "workload/tpce/rows_in_range.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Trade-Status returns, as far as it is computed.
struct TradeStatusOutput {
  std::uint32_t trades = 0;
  std::uint32_t completed = 0;
};

/// The Trade-Status query: the states of an account's latest 50 trades.
template <class Txn, class M>
Outcome trade_status(Txn& txn, Tables<M>& tables, FullTables<M>& full,
                     const TradeStatusInput& input, TradeStatusOutput& output) {
  constexpr std::uint32_t kLatest = 50;
  RowsAheadInLoop<M> trades;
  const auto name = [&](const Key1&, const auto& row, auto fetch) {
    fetch(tables.trade, make_key(row->number), sizeof(Trade));
  };
  const auto visit = [&](const Key1&, const auto& row) {
    const auto trade = txn.read(kNoState, tables.trade, make_key(row->number), trades[0]);
    if (!trade) return false;
    ++output.trades;
    output.completed += trade->head.status == Status::completed;
    const auto type = txn.read(kNoState, tables.trade_type,
                               make_key(static_cast<std::uint64_t>(trade->head.type)));
    const auto security = txn.read(kNoState, tables.security, make_key(trade->head.security));
    return type && security && txn.read(kNoState, full.exchange, make_key(security->exchange));
  };
  if (!for_rows_in<IndexRow>(txn, tables.trade_by_account, pairs_of(input.account),
                             Order::descending, trades, name, visit, kLatest)) {
    return txn.stop();
  }
  const auto account =
      txn.template read<AccountHead>(kNoState, tables.account, make_key(input.account));
  if (!account) return txn.stop();
  const bool named = txn.read(kNoState, tables.customer, make_key(account->customer)) &&
                     txn.read(kNoState, tables.broker, make_key(account->broker));
  return named ? Outcome::commit : txn.stop();
}

}  // namespace heddle::tpce
