#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "model/random.h"
#include "workload/tpce/fees.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"
#include "workload/tpce/people.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// Runs the trades of the days before the run (clause 2.6), all of them completed: one after the
/// other, at equal intervals. What they leave behind are the holdings, the balances of the accounts
/// and the earnings of the brokers.
template <class M>
class InitialTrades {
 public:
  /// What trades leave with a broker.
  struct Earnings {
    std::int64_t trades = 0;
    std::int64_t commission_cents = 0;
  };

  /// @param full nullptr: there is no HOLDING_HISTORY
  /// @param broker_of of each account
  InitialTrades(Tables<M>& tables, FullTables<M>* full, const Scale& scale, std::uint64_t seed,
                const std::vector<std::uint32_t>& broker_of)
      : tables_(tables),
        full_(full),
        scale_(scale),
        random_(seed),
        broker_of_(broker_of),
        cash_cents_(scale.accounts()),
        earnings_(scale.brokers()) {}

  void load() {
    for (std::uint32_t trade = 0; trade < scale_.trades(); ++trade) load_trade(trade);
    load_holdings();
  }

  /// What the trades have paid into each account; negative: taken out.
  [[nodiscard]] const std::vector<std::int64_t>& cash_cents() const { return cash_cents_; }
  [[nodiscard]] const std::vector<Earnings>& earnings() const { return earnings_; }

 private:
  /// A trade goes through its states at these times before it is completed.
  static constexpr std::uint64_t kStep_us = 1'000'000;

  struct Position {
    std::uint32_t trade;
    std::int32_t quantity;
    std::uint32_t price_cents;
  };

  /// The mix of the types: 60 % market orders, half of them to sell, 20 % limit orders to buy, 10 %
  /// to sell, and 10 % stop-loss orders.
  OrderType random_type() {
    using enum OrderType;
    const std::uint64_t card = random_.below(10);
    return card < 3   ? market_buy
           : card < 6 ? market_sell
           : card < 8 ? limit_buy
           : card < 9 ? limit_sell
                      : stop_loss;
  }

  /// One of the securities that the account trades in, which are the same all the time.
  std::uint32_t random_security(std::uint32_t account) {
    Random of_account(account);
    const auto first = static_cast<std::uint32_t>(of_account.below(scale_.securities()));
    const std::uint32_t step = scale_.securities() / kSecuritiesPerAccount;
    const auto number = static_cast<std::uint32_t>(random_.below(kSecuritiesPerAccount));
    return (first + number * step) % scale_.securities();
  }

  void load_trade(std::uint32_t id) {
    const std::uint32_t account = random_account(random_, scale_);
    const std::uint32_t security = random_security(account);
    const OrderType type = random_type();
    const std::uint32_t quantity = kLeastQuantity << random_.below(4);
    const auto price_cents =
        static_cast<std::uint32_t>(random_.between(kLeastPrice_cents, kMostPrice_cents));
    const std::int64_t value_cents = std::int64_t{quantity} * price_cents;
    const std::uint64_t date_us = scale_.trade_time_us(id);
    Trade trade{.head = {.date_us = date_us,
                         .account = account,
                         .security = security,
                         .quantity = quantity,
                         .bid_price_cents = price_cents,
                         .trade_price_cents = price_cents,
                         .charge_cents = static_cast<std::uint32_t>(random_.between(1'00, 10'00)),
                         .commission_cents = static_cast<std::uint32_t>(
                             value_cents * random_.between(10, 100) / 10'000),
                         .tax_cents = 0,
                         .status = Status::completed,
                         .type = type,
                         .is_cash = random_.below(100) >= 8,
                         .is_lifo = random_.below(100) < 35},
                .executor = executor_name(person_name(customer_of(account)))};
    trade_positions(id, trade.head);
    const std::int64_t amount_cents = settlement_cents(trade.head, kUntaxed);

    tables_.trade.load(make_key(id), trade);
    tables_.trade_by_account.load(pair_key(account, id), {id});
    tables_.trade_by_symbol.load(pair_key(security, id), {id});
    load_history(id, trade.head);
    tables_.settlement.load(make_key(id), {date_us + kDue_us, amount_cents,
                                           cash_types(trade.head.is_cash).with_account});
    if (trade.head.is_cash) {
      tables_.cash.load(make_key(id), {date_us, amount_cents,
                                       cash_name(kOrderTypeNames[static_cast<std::size_t>(type)],
                                                 quantity, false, name_of(security).view())});
      cash_cents_[account] += amount_cents;
    }
    Earnings& earnings = earnings_[broker_of_[account]];
    ++earnings.trades;
    earnings.commission_cents += trade.head.commission_cents;
  }

  void load_history(std::uint32_t id, const TradeHead& trade) {
    // The first trades begin at 0, so there is no earlier time.
    const auto before = [&](std::uint64_t steps) {
      return trade.date_us - std::min(trade.date_us, steps * kStep_us);
    };
    if (!is_market(trade.type)) tables_.history.load(history_key(id, Status::pending), {before(2)});
    tables_.history.load(history_key(id, Status::submitted), {before(1)});
    tables_.history.load(history_key(id, Status::completed), {trade.date_us});
  }

  [[nodiscard]] SecurityName name_of(std::uint32_t security) const {
    const Issue issue = issue_of(security, scale_);
    return security_name(issue.company, issue.issue);
  }

  /// Closes holdings of the opposite sign, the latest or the earliest first, and opens one with the
  /// rest.
  void trade_positions(std::uint32_t id, const TradeHead& trade) {
    std::vector<Position>& positions = positions_[static_cast<std::uint32_t>(
        holding_summary_key(trade.account, trade.security).words[0])];
    auto open = static_cast<std::int32_t>(trade.quantity);
    const std::int32_t sign = is_sell(trade.type) ? -1 : 1;
    while (open > 0 && !positions.empty()) {
      const auto at = trade.is_lifo ? positions.end() - 1 : positions.begin();
      const std::int32_t closable = -sign * at->quantity;
      if (closable <= 0) break;  // all holdings of an account have one sign
      const std::int32_t closed = std::min(open, closable);
      const std::int32_t before = at->quantity;
      at->quantity += sign * closed;
      load_change(id, at->trade, {before, at->quantity});
      open -= closed;
      if (at->quantity == 0) positions.erase(at);
    }
    if (open == 0) return;
    positions.push_back({id, sign * open, trade.trade_price_cents});
    load_change(id, id, {0, sign * open});
  }

  void load_change(std::uint32_t id, std::uint32_t holding, const HoldingHistory& change) {
    if (full_ == nullptr) return;
    full_->holding_history.load(pair_key(id, holding), change);
    full_->history_by_holding.load(pair_key(holding, id), {id});
  }

  void load_holdings() {
    for (const auto& [key, positions] : positions_) {
      if (positions.empty()) continue;
      std::int64_t quantity = 0;
      for (const Position& position : positions) {
        quantity += position.quantity;
        tables_.holding.load(make_key(position.trade),
                             {.date_us = scale_.trade_time_us(position.trade),
                              .account = key >> kSecurityBits,
                              .security = key & ((1U << kSecurityBits) - 1),
                              .quantity = position.quantity,
                              .price_cents = position.price_cents});
        tables_.holding_by_account.load(pair_key(key, position.trade), {position.trade});
      }
      tables_.holding_summary.load(make_key(key), {quantity});
    }
  }

  Tables<M>& tables_;
  FullTables<M>* full_;
  Scale scale_;
  Random random_;
  const std::vector<std::uint32_t>& broker_of_;
  std::vector<std::int64_t> cash_cents_;
  std::vector<Earnings> earnings_;
  std::map<std::uint32_t, std::vector<Position>> positions_;  // by the key of HOLDING_SUMMARY
};

}  // namespace heddle::tpce
