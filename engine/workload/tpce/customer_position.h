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
#include "workload/tpce/scale.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Customer-Position returns, as far as it is computed.
struct CustomerPositionOutput {
  std::uint32_t accounts = 0;
  std::int64_t cash_cents = 0;
  std::int64_t assets_cents = 0;  ///< the value of what the accounts hold, at the last prices
  std::uint32_t states = 0;       ///< rows of TRADE_HISTORY of the latest trades
};

/// Adds up what an account holds, at the last prices. False: a row is missing.
template <class Txn, class M>
bool add_assets(Txn& txn, Tables<M>& tables, std::uint32_t account, std::int64_t& assets_cents) {
  constexpr std::uint64_t kLastSecurity = (1U << kSecurityBits) - 1;
  const KeyRange held{holding_summary_key(account, 0), holding_summary_key(account, kLastSecurity)};
  RowsAheadInLoop<M> prices;
  return for_rows_in<HoldingSummary>(
      txn, tables.holding_summary, held, Order::ascending, prices,
      [&](const Key1& key, const auto&, auto fetch) {
        fetch(tables.last_trade, make_key(key.words[0] & kLastSecurity), sizeof(LastTrade));
      },
      [&](const Key1& key, const auto& row) {
        const auto last = txn.read(kNoState, tables.last_trade,
                                   make_key(key.words[0] & kLastSecurity), prices[0]);
        if (!last) return false;
        assets_cents += row->quantity * last->price_cents;
        return true;
      });
}

/// Reads the states of an account's latest ten trades. False: a row is missing.
template <class Txn, class M>
bool read_latest_trades(Txn& txn, Tables<M>& tables, std::uint32_t account,
                        CustomerPositionOutput& output) {
  constexpr std::uint32_t kLatest = 10;
  RowsAheadInLoop<M, 2> trades;
  return for_rows_in<IndexRow>(
      txn, tables.trade_by_account, pairs_of(account), Order::descending, trades,
      [&](const Key1&, const auto& row, auto fetch) {
        fetch(tables.trade, make_key(row->number), sizeof(TradeHead));
        fetch(tables.history, history_key(row->number, Status::pending), sizeof(TradeHistory));
      },
      [&](const Key1&, const auto& row) {
        return txn.template read<TradeHead>(kNoState, tables.trade, make_key(row->number),
                                            trades[0]) &&
               txn.template scan<TradeHistory>(
                   kNoState, tables.history, history_key(row->number, Status::pending),
                   history_key(row->number, Status::completed), Order::descending, kStatuses,
                   [&](const Key1&, const auto&) {
                     ++output.states;
                     return true;
                   });
      },
      kLatest);
}

/// The Customer-Position query: what a customer's accounts are worth, and the latest
/// trades of one of them.
template <class Txn, class M>
Outcome customer_position(Txn& txn, Tables<M>& tables, FullTables<M>& full,
                          const CustomerPositionInput& input, CustomerPositionOutput& output) {
  std::uint64_t customer = input.customer;
  if (input.by_tax_id) {
    const auto found = txn.read(kNoState, full.customer_by_tax_id, make_key(tax_id(customer)));
    if (!found) return txn.stop();
    customer = found->number;
  }
  if (!txn.read(kNoState, tables.customer, make_key(customer))) return txn.stop();
  const auto number_of = [customer](std::uint32_t i) {
    return account_number(static_cast<std::uint32_t>(customer), i);
  };
  RowsAhead<M> ahead;
  ahead.fetch([&](auto fetch) {
    for (std::uint32_t i = 0; i < kAccountsReserved; ++i) {
      fetch(tables.account, make_key(number_of(i)), sizeof(Account));
      fetch(tables.holding_summary, holding_summary_key(number_of(i), 0), 0);  // its leaf
    }
  });
  for (std::uint32_t i = 0; i < kAccountsReserved; ++i) {
    const std::uint32_t number = number_of(i);
    const auto account =
        txn.read(kNoState, tables.account, make_key(number), ahead[std::size_t{2} * i]);
    if (!account) break;  // a customer's accounts have the first numbers
    ++output.accounts;
    output.cash_cents += account->balance_cents;
    if (!add_assets(txn, tables, number, output.assets_cents)) return txn.stop();
  }
  if (input.history && !read_latest_trades(txn, tables, input.account, output)) return txn.stop();
  return Outcome::commit;
}

}  // namespace heddle::tpce
