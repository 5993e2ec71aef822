#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "protocol/outcome.h"
#include "storage/node_version.h"
#include "workload/tpce/fees.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"
#include "workload/tpce/states.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Trade-Order returns to its customer, as far as it is computed.
struct TradeOrderOutput {
  std::uint32_t price_cents = 0;  ///< of a market order, the last price; else the limit
  std::int64_t buy_value_cents = 0;
  std::int64_t sell_value_cents = 0;
  std::int64_t tax_cents = 0;
  std::int64_t assets_cents = 0;  ///< of a margin order
  std::uint32_t broker = 0;       ///< who brings the order to the market
};

/// The Trade-Order transaction: a customer, or a permitted person, orders a trade.
template <class Txn, class M>
class TradeOrderTransaction {
 public:
  TradeOrderTransaction(Txn& txn, Tables<M>& tables, const TradeOrderInput& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run(TradeOrderOutput& output) {
    if (!identify() || !find_security()) return txn_.stop();
    if (in_.is_margin && !add_up_assets(output)) return txn_.stop();
    if (!match_holdings() || !read_price(output) || !estimate_tax(output)) return txn_.stop();
    if (!set_fees() || !insert_trade(output)) return txn_.stop();
    if (in_.is_margin && !add_balance(output)) return txn_.stop();
    output.broker = account_.broker;
    return in_.rolls_back ? Outcome::rollback : Outcome::commit;
  }

 private:
  // ---- frames 1 and 2: the account, and who trades for it ---------------------------------------

  bool identify() {
    const auto account = txn_.template read<AccountHead>(kTradeOrderReadAccount, tables_.account,
                                                         make_key(in_.account));
    if (!account) return false;
    account_ = *account;
    const auto customer =
        txn_.read(kTradeOrderReadCustomer, tables_.customer, make_key(account_.customer));
    if (!customer) return false;
    tier_ = customer->tier;
    executor_ = executor_name(customer->name);
    if (!txn_.read(kTradeOrderReadBroker, tables_.broker, make_key(account_.broker))) return false;
    if (in_.by_owner) return true;
    const PersonName name = person_name(in_.executor);
    executor_ = executor_name(name);
    const auto permission = txn_.read(kTradeOrderReadPermission, tables_.permission,
                                      permission_key(in_.account, in_.executor));
    return permission && permission->name == name;
  }

  // ---- frame 3: what the trade will cost --------------------------------------------------------

  bool find_security() {
    if (in_.by_company ? !find_issue() : !find_symbol()) return false;
    const auto type = txn_.read(kTradeOrderReadTradeType, tables_.trade_type,
                                make_key(static_cast<std::uint64_t>(in_.type)));
    if (!type) return false;
    type_ = *type;
    return true;
  }

  bool find_issue() {
    std::uint64_t company = 0;
    const Key1 name = company_name_key(in_.company);
    if (!find_number(kTradeOrderScanCompanyName, tables_.company_by_name, name, company)) {
      return false;
    }
    std::uint64_t number = 0;
    if (!find_number(kTradeOrderScanIssue, tables_.security_by_company,
                     security_of_company_key(company, in_.issue), number)) {
      return false;
    }
    security_ = static_cast<std::uint32_t>(number);
    return read_security(kTradeOrderReadSecurityByIssue);
  }

  bool find_symbol() {
    security_ = in_.security;
    return read_security(kTradeOrderReadSecurityBySymbol) &&
           txn_.read(kTradeOrderReadCompany, tables_.company, make_key(company_));
  }

  bool read_security(State state) {
    const auto security = txn_.read(state, tables_.security, make_key(security_));
    if (!security) return false;
    exchange_ = security->exchange;
    company_ = security->company;
    return true;
  }

  /// Looks up one key of an index.
  template <class Index>
  bool find_number(State state, Index& index, const Key1& key, std::uint64_t& number) {
    bool found = false;
    return txn_.template scan<IndexRow>(state, index, key, key, Order::ascending, 1,
                                        [&](const Key1&, const auto& row) {
                                          number = row->number;
                                          return found = true;
                                        }) &&
           found;
  }

  /// The value of what the account holds, at the last prices, which no policy decides about.
  bool add_up_assets(TradeOrderOutput& output) {
    std::array<Position, kMostPositions> positions;
    std::size_t count = 0;
    if (!txn_.template scan<HoldingSummary>(
            kTradeOrderScanHoldingSummary, tables_.holding_summary,
            holding_summary_key(in_.account, 0), holding_summary_key(in_.account, kLastSecurity),
            Order::ascending, kMostPositions, [&](const Key1& key, const auto& row) {
              positions[count++] = {key.words[0] & kLastSecurity, row->quantity};
              return true;
            })) {
      return false;
    }
    for (std::size_t i = 0; i < count; ++i) {
      const auto last = txn_.read(kNoState, tables_.last_trade, make_key(positions[i].security));
      if (!last) return false;
      output.assets_cents += positions[i].quantity * last->price_cents;
    }
    return true;
  }

  /// The holdings that the order closes: a sale those that the account has, a purchase those that
  /// it has sold short.
  bool match_holdings() {
    const auto summary = txn_.read(kTradeOrderReadHoldingSummary, tables_.holding_summary,
                                   holding_summary_key(in_.account, security_));
    if (!summary) return txn_.stop() != Outcome::abort;  // none
    if (type_.is_sell && summary->quantity > 0) {
      return close(kTradeOrderScanLong, kTradeOrderReadLong);
    }
    if (!type_.is_sell && summary->quantity < 0) {
      return close(kTradeOrderScanShort, kTradeOrderReadShort);
    }
    return true;
  }

  bool close(State scan, State read) {
    std::array<std::uint64_t, kMostClosed> holdings;
    std::size_t count = 0;
    if (!txn_.template scan<IndexRow>(scan, tables_.holding_by_account,
                                      holding_index_key(in_.account, security_, 0),
                                      holding_index_key(in_.account, security_, kLastTrade),
                                      in_.is_lifo ? Order::descending : Order::ascending,
                                      kMostClosed, [&](const Key1&, const auto& row) {
                                        holdings[count++] = row->number;
                                        return true;
                                      })) {
      return false;
    }
    for (std::size_t i = 0; i < count && closed_ < in_.quantity; ++i) {
      const auto holding = txn_.read(read, tables_.holding, make_key(holdings[i]));
      if (!holding) return false;
      const auto held = static_cast<std::uint32_t>(std::abs(holding->quantity));
      const std::uint32_t taken = std::min(in_.quantity - closed_, held);
      closed_ += taken;
      opened_at_cents_ += std::int64_t{taken} * holding->price_cents;
    }
    txn_.passed(read);
    return true;
  }

  bool read_price(TradeOrderOutput& output) {
    const auto last =
        txn_.read(type_.is_market ? kTradeOrderReadMarketPrice : kTradeOrderReadLastPrice,
                  tables_.last_trade, make_key(security_));
    if (!last) return false;
    output.price_cents = type_.is_market ? last->price_cents : in_.price_cents;
    const std::int64_t closed_at_cents = std::int64_t{closed_} * output.price_cents;
    output.buy_value_cents = type_.is_sell ? opened_at_cents_ : closed_at_cents;
    output.sell_value_cents = type_.is_sell ? closed_at_cents : opened_at_cents_;
    return true;
  }

  /// The tax on the profit, if there is one and it is taxed.
  bool estimate_tax(TradeOrderOutput& output) {
    const std::int64_t profit_cents = output.sell_value_cents - output.buy_value_cents;
    if (profit_cents <= 0 || account_.tax_status == kUntaxed) return true;
    return find_tax(txn_, {kTradeOrderScanCustomerTaxrate, kTradeOrderReadTaxrate}, tables_,
                    account_.customer, profit_cents, output.tax_cents);
  }

  bool set_fees() {
    if (!find_commission(txn_, kTradeOrderScanCommissionRate, tables_,
                         {tier_, in_.type, exchange_, in_.quantity}, basis_points_)) {
      return false;
    }
    const auto charge =
        txn_.read(kTradeOrderReadCharge, tables_.charge, charge_key(tier_, in_.type));
    if (!charge) return false;
    charge_cents_ = static_cast<std::uint32_t>(charge->cents);
    return true;
  }

  // ---- frame 4: the order -----------------------------------------------------------------------

  bool insert_trade(const TradeOrderOutput& output) {
    const Status status = type_.is_market ? Status::submitted : Status::pending;
    const Trade row{.head = {.date_us = in_.date_us,
                             .account = in_.account,
                             .security = security_,
                             .quantity = in_.quantity,
                             .bid_price_cents = output.price_cents,
                             .trade_price_cents = 0,
                             .charge_cents = charge_cents_,
                             .commission_cents =
                                 commission_cents(basis_points_, in_.quantity, output.price_cents),
                             .tax_cents = 0,
                             .status = status,
                             .type = in_.type,
                             .is_cash = !in_.is_margin,
                             .is_lifo = in_.is_lifo},
                    .executor = executor_};
    return txn_.insert(kTradeOrderInsertTrade, tables_.trade, make_key(in_.trade), row) &&
           txn_.insert(kTradeOrderInsertTradeByAccount, tables_.trade_by_account,
                       pair_key(in_.account, in_.trade), {in_.trade}) &&
           txn_.insert(kTradeOrderInsertTradeBySymbol, tables_.trade_by_symbol,
                       pair_key(security_, in_.trade), {in_.trade}) &&
           (type_.is_market || insert_request(output.price_cents)) &&
           txn_.insert(kTradeOrderInsertHistory, tables_.history, history_key(in_.trade, status),
                       {in_.date_us});
  }

  bool insert_request(std::uint32_t limit_cents) {
    const TradeRequest row{.security = security_,
                           .quantity = in_.quantity,
                           .bid_price_cents = limit_cents,
                           .broker = account_.broker,
                           .type = in_.type};
    return txn_.insert(kTradeOrderInsertRequest, tables_.request, make_key(in_.trade), row) &&
           txn_.insert(kTradeOrderInsertRequestBySymbol, tables_.request_by_symbol,
                       request_index_key(security_, in_.type, limit_cents, in_.trade),
                       {in_.trade}) &&
           txn_.insert(kTradeOrderInsertRequestByBroker, tables_.request_by_broker,
                       broker_request_key(account_.broker, security_, in_.trade), {in_.trade});
  }

  /// Read last, as in Polyjuice's artifact: the balance is the part of the assets that changes.
  bool add_balance(TradeOrderOutput& output) {
    const auto account = txn_.read(kTradeOrderReadBalance, tables_.account, make_key(in_.account));
    if (!account) return false;
    output.assets_cents += account->balance_cents;
    return true;
  }

  /// Every holding has at least the shares of the smallest order.
  static constexpr std::uint32_t kMostClosed = kMostQuantity / kLeastQuantity;
  static constexpr std::uint32_t kMostPositions = 64;
  static constexpr std::uint64_t kLastSecurity = (1U << kSecurityBits) - 1;
  static constexpr std::uint64_t kLastTrade = 0xffff'ffff;

  struct Position {
    std::uint64_t security;
    std::int64_t quantity;
  };

  Txn& txn_;
  Tables<M>& tables_;
  const TradeOrderInput& in_;
  AccountHead account_{};
  TradeType type_{};
  ExecutorName executor_{};
  std::uint64_t tier_ = 0;
  std::uint32_t security_ = 0;
  std::uint32_t company_ = 0;
  std::uint32_t exchange_ = 0;
  std::uint32_t closed_ = 0;  ///< shares of holdings that the order closes
  std::int64_t opened_at_cents_ = 0;
  std::uint32_t basis_points_ = 0;
  std::uint32_t charge_cents_ = 0;
};

}  // namespace heddle::tpce
