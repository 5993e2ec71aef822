#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/access_id.h"
#include "storage/node_version.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/tables.h"

/// Taxes and commissions, which Trade-Order estimates and Trade-Result settles.
namespace heddle::tpce {

/// The states that find out a customer's tax rates.
struct TaxStates {
  AccessId scan;
  AccessId read;
};

/// Finds the tax on a profit. False: the transaction has to stop.
template <class Txn, class M>
bool find_tax(Txn& txn, const TaxStates& states, Tables<M>& tables, std::uint64_t customer,
              std::int64_t profit_cents, std::int64_t& tax_cents) {
  std::array<std::uint64_t, 2> rates;
  std::size_t count = 0;
  if (!txn.template scan<CustomerTaxrate>(states.scan, tables.customer_taxrate,
                                          customer_taxrate_key(customer, 0),
                                          customer_taxrate_key(customer, 1), Order::ascending, 0,
                                          [&](const Key1&, const auto& row) {
                                            rates[count++] = row->rate;
                                            return true;
                                          })) {
    return false;
  }
  std::int64_t per_100_000 = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const auto rate = txn.read(states.read, tables.taxrate, make_key(rates[i]));
    if (!rate) return false;
    per_100_000 += static_cast<std::int64_t>(rate->per_100_000);
  }
  txn.passed(states.read);
  tax_cents = profit_cents * per_100_000 / 100'000;
  return true;
}

/// What a commission depends on.
struct CommissionClass {
  std::uint64_t tier;
  OrderType type;
  std::uint32_t exchange;
  std::uint32_t quantity;
};

/// Finds the commission in hundredths of a percent. False: the transaction has to stop.
template <class Txn, class M>
bool find_commission(Txn& txn, AccessId state, Tables<M>& tables, const CommissionClass& of,
                     std::uint32_t& basis_points) {
  bool found = false;
  return txn.template scan<CommissionRate>(
             state, tables.commission_rate, commission_rate_key(of.tier, of.type, of.exchange, 0),
             commission_rate_key(of.tier, of.type, of.exchange, of.quantity), Order::descending, 1,
             [&](const Key1&, const auto& row) {
               basis_points = row->basis_points;
               return found = true;
             }) &&
         found;
}

/// What a completed trade pays to its account; negative: takes from it.
constexpr std::int64_t settlement_cents(const TradeHead& trade, std::uint64_t tax_status) {
  const std::int64_t value_cents = std::int64_t{trade.quantity} * trade.trade_price_cents;
  const std::int64_t fees_cents = std::int64_t{trade.charge_cents} + trade.commission_cents;
  const std::int64_t withheld_cents = tax_status == kWithheld ? trade.tax_cents : 0;
  return (is_sell(trade.type) ? value_cents : -value_cents) - fees_cents - withheld_cents;
}

/// A trade is settled two days after it has been made.
inline constexpr std::uint64_t kDue_us = 2 * 8 * 3600 * std::uint64_t{1'000'000};

constexpr std::uint32_t commission_cents(std::uint32_t basis_points, std::uint32_t quantity,
                                         std::uint32_t price_cents) {
  return static_cast<std::uint32_t>(std::uint64_t{basis_points} * quantity * price_cents / 10'000);
}

}  // namespace heddle::tpce
