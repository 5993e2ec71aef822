#pragma once

#include <cstddef>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"

namespace heddle::tpce {

/// The tables of TPC-E that its trades use, and secondary indexes, named by their columns.
///
/// Tables that never grow have a hash index; tables that grow, or are scanned, have an ordered one.
template <class M>
struct Tables {
  template <class V>
  using Hashed = Table<M, Key1, V, HashIndex>;
  template <class V>
  using Ordered = Table<M, Key1, V, OrderedIndex>;

  Tables(Storage<M>& storage, const Scale& scale)
      : customer(storage, "CUSTOMER", scale.customers),
        account(storage, "CUSTOMER_ACCOUNT", scale.accounts() / 2),
        permission(storage, "ACCOUNT_PERMISSION", scale.accounts() / 2),
        customer_taxrate(storage, "CUSTOMER_TAXRATE", 2 * std::size_t{scale.customers}),
        taxrate(storage, "TAXRATE", kTaxRates),
        holding_summary(storage, "HOLDING_SUMMARY", scale.accounts()),
        holding(storage, "HOLDING", scale.trades()),
        holding_by_account(storage, "HOLDING_CA_ID_IDX", scale.trades()),
        broker(storage, "BROKER", scale.brokers()),
        trade_type(storage, "TRADE_TYPE", kOrderTypes),
        charge(storage, "CHARGE", std::size_t{kTiers} * kOrderTypes),
        commission_rate(storage, "COMMISSION_RATE", std::size_t{kTiers} * kOrderTypes * kExchanges),
        trade(storage, "TRADE", scale.trades()),
        trade_by_account(storage, "TRADE_CA_ID_IDX", scale.trades()),
        trade_by_symbol(storage, "TRADE_S_SYMB_IDX", scale.trades()),
        request(storage, "TRADE_REQUEST", scale.trades()),
        request_by_symbol(storage, "TRADE_REQUEST_S_SYMB_IDX", scale.trades()),
        request_by_broker(storage, "TRADE_REQUEST_B_ID_IDX", scale.trades()),
        history(storage, "TRADE_HISTORY", scale.trades()),
        settlement(storage, "SETTLEMENT", scale.trades()),
        cash(storage, "CASH_TRANSACTION", scale.trades()),
        company(storage, "COMPANY", scale.companies()),
        company_by_name(storage, "COMPANY_NAME_IDX", scale.companies()),
        security(storage, "SECURITY", scale.securities()),
        security_by_company(storage, "SECURITY_CO_ID_IDX", scale.securities()),
        last_trade(storage, "LAST_TRADE", scale.securities()) {}

  /// Calls f(table) for each.
  template <class F>
  void for_each(F f) {
    const auto call = [&f](auto&... tables) { (f(tables), ...); };
    call(customer, account, permission, customer_taxrate, taxrate, holding_summary, holding,
         holding_by_account, broker, trade_type, charge, commission_rate, trade, trade_by_account,
         trade_by_symbol, request, request_by_symbol, request_by_broker, history, settlement, cash,
         company, company_by_name, security, security_by_company, last_trade);
  }

  Hashed<Customer> customer;
  Hashed<Account> account;
  Hashed<AccountPermission> permission;
  Ordered<CustomerTaxrate> customer_taxrate;
  Hashed<Taxrate> taxrate;
  Ordered<HoldingSummary> holding_summary;
  Ordered<Holding> holding;
  Ordered<IndexRow> holding_by_account;

  Hashed<Broker> broker;
  Hashed<TradeType> trade_type;
  Hashed<Charge> charge;
  Ordered<CommissionRate> commission_rate;
  Ordered<Trade> trade;
  Ordered<IndexRow> trade_by_account;
  Ordered<IndexRow> trade_by_symbol;
  Ordered<TradeRequest> request;
  Ordered<IndexRow> request_by_symbol;
  Ordered<IndexRow> request_by_broker;
  Ordered<TradeHistory> history;
  Ordered<Settlement> settlement;
  Ordered<CashTransaction> cash;

  Hashed<Company> company;
  Ordered<IndexRow> company_by_name;
  Hashed<Security> security;
  Ordered<IndexRow> security_by_company;
  Hashed<LastTrade> last_trade;
};

}  // namespace heddle::tpce
