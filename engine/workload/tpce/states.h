#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/access_id.h"
#include "model/signature.h"

/// The types, and the 65 states of those three of TPC-E that Polyjuice runs (OSDI 2021, §7.4), in
/// the order of the accesses in its artifact: 30 of Trade-Order, 12 of Market-Feed, 23 of
/// Trade-Update.
namespace heddle::tpce {

/// Transaction types, in the order of their states; those without follow.
enum class Type : std::uint8_t {
  trade_order,
  market_feed,
  trade_update,
  trade_result,
  broker_volume,  // this and the following read snapshots
  customer_position,
  market_watch,
  security_detail,
  trade_lookup,
  trade_status
};
inline constexpr std::array<std::string_view, 10> kTypeNames{
    "trade_order",       "market_feed",  "trade_update",    "trade_result", "broker_volume",
    "customer_position", "market_watch", "security_detail", "trade_lookup", "trade_status"};
/// Those that Polyjuice runs are the first.
inline constexpr std::size_t kPolyjuiceTypes = 3;

constexpr bool reads_snapshot(Type type) { return type >= Type::broker_volume; }

enum State : AccessId {
  kTradeOrderReadAccount,
  kTradeOrderReadCustomer,
  kTradeOrderReadBroker,
  kTradeOrderReadPermission,
  kTradeOrderScanCompanyName,
  kTradeOrderScanIssue,
  kTradeOrderReadSecurityByIssue,
  kTradeOrderReadSecurityBySymbol,
  kTradeOrderReadCompany,
  kTradeOrderReadTradeType,
  kTradeOrderScanHoldingSummary,  // a margin order: what the account holds
  kTradeOrderReadHoldingSummary,
  kTradeOrderScanLong,  // a sale of what the account holds
  kTradeOrderReadLong,
  kTradeOrderScanShort,  // a purchase of what it has sold short
  kTradeOrderReadShort,
  kTradeOrderReadMarketPrice,  // of a market order
  kTradeOrderReadLastPrice,    // of an order with a limit
  kTradeOrderScanCustomerTaxrate,
  kTradeOrderReadTaxrate,
  kTradeOrderScanCommissionRate,
  kTradeOrderReadCharge,
  kTradeOrderInsertTrade,
  kTradeOrderInsertTradeByAccount,
  kTradeOrderInsertTradeBySymbol,
  kTradeOrderInsertRequest,
  kTradeOrderInsertRequestBySymbol,
  kTradeOrderInsertRequestByBroker,
  kTradeOrderInsertHistory,
  kTradeOrderReadBalance,  // of a margin order

  kMarketFeedReadLastTrade,
  kMarketFeedUpdateLastTrade,
  kMarketFeedScanStopLoss,
  kMarketFeedScanLimitSell,
  kMarketFeedScanLimitBuy,
  kMarketFeedReadRequest,
  kMarketFeedRemoveRequest,
  kMarketFeedRemoveRequestBySymbol,
  kMarketFeedRemoveRequestByBroker,
  kMarketFeedReadTrade,
  kMarketFeedUpdateTrade,
  kMarketFeedInsertHistory,

  kByTradeReadExecutor,  // frame 1 of Trade-Update
  kByTradeUpdateExecutor,
  kByTradeReadTrade,
  kByTradeScanHistory,
  kByTradeReadTradeType,
  kByTradeReadSettlement,
  kByTradeReadCash,
  kByAccountScanTrades,  // frame 2
  kByAccountReadTrade,
  kByAccountScanHistory,
  kByAccountReadCashType,
  kByAccountUpdateCashType,
  kByAccountReadSettlement,
  kByAccountReadCash,
  kBySymbolScanTrades,  // frame 3
  kBySymbolReadTrade,
  kBySymbolReadTradeType,
  kBySymbolReadSecurity,
  kBySymbolScanHistory,
  kBySymbolReadSettlement,
  kBySymbolReadCashName,
  kBySymbolUpdateCashName,
  kBySymbolReadCash,

  kStateCount
};
static_assert(kMarketFeedReadLastTrade == 30 && kByTradeReadExecutor == 30 + 12 &&
              kStateCount == 30 + 12 + 23);

/// Of the mix of Polyjuice.
[[nodiscard]] inline Signature signature() {
  using enum AccessKind;
  constexpr bool kLoop = true;
  return {"tpce",
          {{"trade_order",
            {{"read_account", "CUSTOMER_ACCOUNT", read},
             {"read_customer", "CUSTOMER", read},
             {"read_broker", "BROKER", read},
             {"read_permission", "ACCOUNT_PERMISSION", read},
             {"scan_company_name", "COMPANY_NAME_IDX", scan},
             {"scan_issue", "SECURITY_CO_ID_IDX", scan},
             {"read_security_by_issue", "SECURITY", read},
             {"read_security_by_symbol", "SECURITY", read},
             {"read_company", "COMPANY", read},
             {"read_trade_type", "TRADE_TYPE", read},
             {"scan_holding_summary", "HOLDING_SUMMARY", scan},
             {"read_holding_summary", "HOLDING_SUMMARY", read},
             {"scan_long", "HOLDING_CA_ID_IDX", scan},
             {"read_long", "HOLDING", read, kLoop},
             {"scan_short", "HOLDING_CA_ID_IDX", scan},
             {"read_short", "HOLDING", read, kLoop},
             {"read_market_price", "LAST_TRADE", read},
             {"read_last_price", "LAST_TRADE", read},
             {"scan_customer_taxrate", "CUSTOMER_TAXRATE", scan},
             {"read_taxrate", "TAXRATE", read, kLoop},
             {"scan_commission_rate", "COMMISSION_RATE", scan},
             {"read_charge", "CHARGE", read},
             {"insert_trade", "TRADE", insert},
             {"insert_trade_by_account", "TRADE_CA_ID_IDX", insert},
             {"insert_trade_by_symbol", "TRADE_S_SYMB_IDX", insert},
             {"insert_request", "TRADE_REQUEST", insert},
             {"insert_request_by_symbol", "TRADE_REQUEST_S_SYMB_IDX", insert},
             {"insert_request_by_broker", "TRADE_REQUEST_B_ID_IDX", insert},
             {"insert_history", "TRADE_HISTORY", insert},
             {"read_balance", "CUSTOMER_ACCOUNT", read}}},
           {"market_feed",
            {{"read_last_trade", "LAST_TRADE", read, kLoop},
             {"update_last_trade", "LAST_TRADE", update, kLoop},
             {"scan_stop_loss", "TRADE_REQUEST_S_SYMB_IDX", scan, kLoop},
             {"scan_limit_sell", "TRADE_REQUEST_S_SYMB_IDX", scan, kLoop},
             {"scan_limit_buy", "TRADE_REQUEST_S_SYMB_IDX", scan, kLoop},
             {"read_request", "TRADE_REQUEST", read, kLoop},
             {"remove_request", "TRADE_REQUEST", remove, kLoop},
             {"remove_request_by_symbol", "TRADE_REQUEST_S_SYMB_IDX", remove, kLoop},
             {"remove_request_by_broker", "TRADE_REQUEST_B_ID_IDX", remove, kLoop},
             {"read_trade", "TRADE", read, kLoop},
             {"update_trade", "TRADE", update, kLoop},
             {"insert_history", "TRADE_HISTORY", insert, kLoop}}},
           {"trade_update",
            {{"by_trade_read_executor", "TRADE", read, kLoop},
             {"by_trade_update_executor", "TRADE", update, kLoop},
             {"by_trade_read_trade", "TRADE", read, kLoop},
             {"by_trade_scan_history", "TRADE_HISTORY", scan, kLoop},
             {"by_trade_read_trade_type", "TRADE_TYPE", read, kLoop},
             {"by_trade_read_settlement", "SETTLEMENT", read, kLoop},
             {"by_trade_read_cash", "CASH_TRANSACTION", read, kLoop},
             {"by_account_scan_trades", "TRADE_CA_ID_IDX", scan},
             {"by_account_read_trade", "TRADE", read, kLoop},
             {"by_account_scan_history", "TRADE_HISTORY", scan, kLoop},
             {"by_account_read_cash_type", "SETTLEMENT", read, kLoop},
             {"by_account_update_cash_type", "SETTLEMENT", update, kLoop},
             {"by_account_read_settlement", "SETTLEMENT", read, kLoop},
             {"by_account_read_cash", "CASH_TRANSACTION", read, kLoop},
             {"by_symbol_scan_trades", "TRADE_S_SYMB_IDX", scan},
             {"by_symbol_read_trade", "TRADE", read, kLoop},
             {"by_symbol_read_trade_type", "TRADE_TYPE", read, kLoop},
             {"by_symbol_read_security", "SECURITY", read, kLoop},
             {"by_symbol_scan_history", "TRADE_HISTORY", scan, kLoop},
             {"by_symbol_read_settlement", "SETTLEMENT", read, kLoop},
             {"by_symbol_read_cash_name", "CASH_TRANSACTION", read, kLoop},
             {"by_symbol_update_cash_name", "CASH_TRANSACTION", update, kLoop},
             {"by_symbol_read_cash", "CASH_TRANSACTION", read, kLoop}}}}};
}

}  // namespace heddle::tpce
