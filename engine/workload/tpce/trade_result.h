#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/key.h"
#include "workload/tpce/fees.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/inputs.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"
#include "workload/tpce/positions.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/tables.h"
#include "workload/tpce/trade_result_states.h"

namespace heddle::tpce {

/// What Trade-Result returns, as far as it is computed.
struct TradeResultOutput {
  std::int64_t profit_cents = 0;  ///< with the holdings closed
  std::int64_t tax_cents = 0;
  std::int64_t amount_cents = 0;  ///< what the trade pays to the account; negative: takes
};

/// The Trade-Result transaction: the market has made a trade that was submitted. It changes the
/// account's holdings, settles the trade with its taxes and fees, and credits the broker.
///
/// It rolls back if the trade is not submitted: MarketExchange says when that happens.
template <class Txn, class M>
class TradeResultTransaction {
 public:
  TradeResultTransaction(Txn& txn, Tables<M>& tables, FullTables<M>& full,
                         const TradeResultInput& input)
      : txn_(txn), tables_(tables), full_(full), in_(input), id_(input.trade.trade) {}

  Outcome run(TradeResultOutput& output) {
    if (!find_trade()) return txn_.stop();
    if (trade_.status != Status::submitted) return Outcome::rollback;
    Positions<Txn, M> positions(txn_, tables_, full_, id_, trade_, in_.trade.price_cents,
                                in_.date_us);
    if (!positions.change()) return txn_.stop();
    output.profit_cents = positions.profit_cents();
    if (!find_tax(output) || !find_commission()) return txn_.stop();
    if (!complete(output) || !credit_broker() || !settle(output)) return txn_.stop();
    return Outcome::commit;
  }

 private:
  // ---- frame 1: the trade and its account -------------------------------------------------------

  bool find_trade() {
    const auto trade =
        txn_.template read<TradeHead>(kTradeResultReadTrade, tables_.trade, make_key(id_));
    if (!trade) return false;
    trade_ = *trade;
    if (trade_.status != Status::submitted) return true;
    const auto type = txn_.read(kTradeResultReadTradeType, tables_.trade_type,
                                make_key(static_cast<std::uint64_t>(trade_.type)));
    if (!type) return false;
    type_ = *type;
    const auto account = txn_.template read<AccountHead>(kTradeResultReadAccount, tables_.account,
                                                         make_key(trade_.account));
    if (!account) return false;
    account_ = *account;
    return true;
  }

  // ---- frames 3 and 4: taxes and fees -----------------------------------------------------------

  bool find_tax(TradeResultOutput& output) {
    if (output.profit_cents <= 0 || account_.tax_status == kUntaxed) return true;
    return tpce::find_tax(txn_, {kTradeResultScanCustomerTaxrate, kTradeResultReadTaxrate}, tables_,
                          account_.customer, output.profit_cents, output.tax_cents);
  }

  bool find_commission() {
    const auto security =
        txn_.read(kTradeResultReadSecurity, tables_.security, make_key(trade_.security));
    if (!security) return false;
    security_name_ = security->name;
    const auto customer =
        txn_.read(kTradeResultReadCustomer, tables_.customer, make_key(account_.customer));
    if (!customer) return false;
    std::uint32_t basis_points = 0;
    if (!tpce::find_commission(txn_, kTradeResultScanCommissionRate, tables_,
                               {customer->tier, trade_.type, security->exchange, trade_.quantity},
                               basis_points)) {
      return false;
    }
    commission_cents_ = commission_cents(basis_points, trade_.quantity, in_.trade.price_cents);
    return true;
  }

  // ---- frames 5 and 6: the end of the trade -----------------------------------------------------

  bool complete(const TradeResultOutput& output) {
    const auto trade =
        txn_.template read<TradeHead>(kTradeResultReadOpenTrade, tables_.trade, make_key(id_));
    return trade &&
           txn_.update(kTradeResultUpdateTrade, tables_.trade, trade,
                       [&](TradeHead& row) {
                         row.date_us = in_.date_us;
                         row.status = Status::completed;
                         row.trade_price_cents = in_.trade.price_cents;
                         row.commission_cents = commission_cents_;
                         row.tax_cents = static_cast<std::uint32_t>(output.tax_cents);
                       }) &&
           txn_.insert(kTradeResultInsertHistory, tables_.history,
                       history_key(id_, Status::completed), {in_.date_us});
  }

  bool credit_broker() {
    const auto broker =
        txn_.read(kTradeResultReadBroker, tables_.broker, make_key(account_.broker));
    return broker &&
           txn_.update(kTradeResultUpdateBroker, tables_.broker, broker, [this](Broker& row) {
             ++row.trades;
             row.commission_cents += commission_cents_;
           });
  }

  bool settle(TradeResultOutput& output) {
    TradeHead done = trade_;
    done.trade_price_cents = in_.trade.price_cents;
    done.commission_cents = commission_cents_;
    done.tax_cents = static_cast<std::uint32_t>(output.tax_cents);
    output.amount_cents = settlement_cents(done, account_.tax_status);
    if (!txn_.insert(kTradeResultInsertSettlement, tables_.settlement, make_key(id_),
                     {in_.date_us + kDue_us, output.amount_cents,
                      cash_types(trade_.is_cash).with_account})) {
      return false;
    }
    if (!trade_.is_cash) return true;
    const auto account =
        txn_.read(kTradeResultReadBalance, tables_.account, make_key(trade_.account));
    return account &&
           txn_.update(kTradeResultUpdateBalance, tables_.account, account,
                       [&](Account& row) { row.balance_cents += output.amount_cents; }) &&
           txn_.insert(
               kTradeResultInsertCash, tables_.cash, make_key(id_),
               {in_.date_us, output.amount_cents,
                cash_name(type_.name.view(), trade_.quantity, false, security_name_.view())});
  }

  Txn& txn_;
  Tables<M>& tables_;
  FullTables<M>& full_;
  const TradeResultInput& in_;
  std::uint32_t id_;
  TradeHead trade_{};
  TradeType type_{};
  AccountHead account_{};
  SecurityName security_name_{};
  std::uint32_t commission_cents_ = 0;
};

}  // namespace heddle::tpce
