#pragma once

#include "model/access_id.h"
#include "model/signature.h"
#include "workload/tpce/states.h"

/// The 51 states of Trade-Result, as many of each table and in the order in which Polyjuice's
/// artifact has them. No published table decides about them: the paper never runs the type.
namespace heddle::tpce {

enum ResultState : AccessId {
  kTradeResultReadTrade = kStateCount,
  kTradeResultReadTradeType,
  kTradeResultReadAccount,

  kTradeResultReadSummary,
  kTradeResultInsertShortSummary,  // a sale of what the account doesn't hold
  kTradeResultInsertLongSummary,   // a purchase
  kTradeResultUpdateSummary,
  kTradeResultRemoveSummary,

  kTradeResultScanLatestLong,  // a sale closes holdings, the latest first
  kTradeResultReadLatestLong,
  kTradeResultUpdateLatestLong,
  kTradeResultRemoveLatestLong,
  kTradeResultRemoveLatestLongByAccount,
  kTradeResultScanEarliestLong,  // … or the earliest
  kTradeResultReadEarliestLong,
  kTradeResultUpdateEarliestLong,
  kTradeResultRemoveEarliestLong,
  kTradeResultRemoveEarliestLongByAccount,
  kTradeResultInsertShort,  // … or has none to close
  kTradeResultInsertShortByAccount,
  kTradeResultInsertShortRest,  // … or sells more than it closes
  kTradeResultInsertShortRestByAccount,

  kTradeResultScanLatestShort,  // a purchase does the same with what was sold short
  kTradeResultReadLatestShort,
  kTradeResultUpdateLatestShort,
  kTradeResultRemoveLatestShort,
  kTradeResultRemoveLatestShortByAccount,
  kTradeResultScanEarliestShort,
  kTradeResultReadEarliestShort,
  kTradeResultUpdateEarliestShort,
  kTradeResultRemoveEarliestShort,
  kTradeResultRemoveEarliestShortByAccount,
  kTradeResultInsertLong,
  kTradeResultInsertLongByAccount,
  kTradeResultInsertLongRest,
  kTradeResultInsertLongRestByAccount,

  kTradeResultInsertHoldingHistory,
  kTradeResultScanCustomerTaxrate,
  kTradeResultReadTaxrate,
  kTradeResultReadSecurity,
  kTradeResultReadCustomer,
  kTradeResultScanCommissionRate,
  kTradeResultReadOpenTrade,
  kTradeResultUpdateTrade,
  kTradeResultInsertHistory,
  kTradeResultReadBroker,
  kTradeResultUpdateBroker,
  kTradeResultInsertSettlement,
  kTradeResultReadBalance,
  kTradeResultUpdateBalance,
  kTradeResultInsertCash,

  kStateCountWithResult
};
static_assert(kStateCountWithResult == kStateCount + 51);

[[nodiscard]] inline TypeSpec trade_result_spec() {
  using enum AccessKind;
  constexpr bool kLoop = true;
  return {"trade_result",
          {{"read_trade", "TRADE", read},
           {"read_trade_type", "TRADE_TYPE", read},
           {"read_account", "CUSTOMER_ACCOUNT", read},
           {"read_summary", "HOLDING_SUMMARY", read},
           {"insert_short_summary", "HOLDING_SUMMARY", insert},
           {"insert_long_summary", "HOLDING_SUMMARY", insert},
           {"update_summary", "HOLDING_SUMMARY", update},
           {"remove_summary", "HOLDING_SUMMARY", remove},
           {"scan_latest_long", "HOLDING_CA_ID_IDX", scan},
           {"read_latest_long", "HOLDING", read, kLoop},
           {"update_latest_long", "HOLDING", update, kLoop},
           {"remove_latest_long", "HOLDING", remove, kLoop},
           {"remove_latest_long_by_account", "HOLDING_CA_ID_IDX", remove, kLoop},
           {"scan_earliest_long", "HOLDING_CA_ID_IDX", scan},
           {"read_earliest_long", "HOLDING", read, kLoop},
           {"update_earliest_long", "HOLDING", update, kLoop},
           {"remove_earliest_long", "HOLDING", remove, kLoop},
           {"remove_earliest_long_by_account", "HOLDING_CA_ID_IDX", remove, kLoop},
           {"insert_short", "HOLDING", insert},
           {"insert_short_by_account", "HOLDING_CA_ID_IDX", insert},
           {"insert_short_rest", "HOLDING", insert},
           {"insert_short_rest_by_account", "HOLDING_CA_ID_IDX", insert},
           {"scan_latest_short", "HOLDING_CA_ID_IDX", scan},
           {"read_latest_short", "HOLDING", read, kLoop},
           {"update_latest_short", "HOLDING", update, kLoop},
           {"remove_latest_short", "HOLDING", remove, kLoop},
           {"remove_latest_short_by_account", "HOLDING_CA_ID_IDX", remove, kLoop},
           {"scan_earliest_short", "HOLDING_CA_ID_IDX", scan},
           {"read_earliest_short", "HOLDING", read, kLoop},
           {"update_earliest_short", "HOLDING", update, kLoop},
           {"remove_earliest_short", "HOLDING", remove, kLoop},
           {"remove_earliest_short_by_account", "HOLDING_CA_ID_IDX", remove, kLoop},
           {"insert_long", "HOLDING", insert},
           {"insert_long_by_account", "HOLDING_CA_ID_IDX", insert},
           {"insert_long_rest", "HOLDING", insert},
           {"insert_long_rest_by_account", "HOLDING_CA_ID_IDX", insert},
           {"insert_holding_history", "HOLDING_HISTORY", insert, kLoop},
           {"scan_customer_taxrate", "CUSTOMER_TAXRATE", scan},
           {"read_taxrate", "TAXRATE", read, kLoop},
           {"read_security", "SECURITY", read},
           {"read_customer", "CUSTOMER", read},
           {"scan_commission_rate", "COMMISSION_RATE", scan},
           {"read_open_trade", "TRADE", read},
           {"update_trade", "TRADE", update},
           {"insert_history", "TRADE_HISTORY", insert},
           {"read_broker", "BROKER", read},
           {"update_broker", "BROKER", update},
           {"insert_settlement", "SETTLEMENT", insert},
           {"read_balance", "CUSTOMER_ACCOUNT", read},
           {"update_balance", "CUSTOMER_ACCOUNT", update},
           {"insert_cash", "CASH_TRANSACTION", insert}}};
}

/// Of the full mix.
[[nodiscard]] inline Signature full_signature() {
  Signature all = signature();
  all.types.push_back(trade_result_spec());
  return all;
}

}  // namespace heddle::tpce
