#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "workload/pair_key.h"
#include "workload/tpce/fees.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/names.h"
#include "workload/tpce/population.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/tables.h"
#include "workload/violations.h"

namespace heddle::tpce {

/// Checks the consistency conditions of the specification, those on BROKER and HOLDING_SUMMARY, and
/// what they leave unchecked: the states of each trade, the indexes, the texts that Trade-Update
/// changes, and the prices. Quiescent only.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, const Scale& scale, std::uint32_t entries_per_feed)
      : tables_(tables),
        scale_(scale),
        entries_per_feed_(entries_per_feed),
        brokers_(scale.brokers()),
        cash_cents_(scale.accounts()) {}

  /// Includes the tables of the full mix.
  void include(const FullTables<M>& full) { full_ = &full; }

  [[nodiscard]] std::vector<std::string> run() {
    collect_trades();
    check_index(
        "trades by account", tables_.trade_by_account, &Seen::by_account,
        [](const TradeHead& trade, std::uint64_t id) { return pair_key(trade.account, id); });
    check_index(
        "trades by security", tables_.trade_by_symbol, &Seen::by_symbol,
        [](const TradeHead& trade, std::uint64_t id) { return pair_key(trade.security, id); });
    check_requests();
    check_history();
    check_settlements();
    check_cash();
    check_trades();
    check_brokers();
    check_holdings();
    if (full_ != nullptr) check_holding_history();
    check_accounts();
    check_prices();
    return violations_.take();
  }

 private:
  /// A trade, and in which of the other tables it has been found.
  struct Seen {
    std::uint32_t id;
    TradeHead head;
    bool by_account = false;
    bool by_symbol = false;
    bool request = false;
    bool request_by_symbol = false;
    bool request_by_broker = false;
    bool settled = false;
    bool cash = false;
    std::uint8_t states = 0;  ///< a bit for each row of TRADE_HISTORY
    std::int64_t settled_cents = 0;
    std::int64_t moved = 0;  ///< shares, by HOLDING_HISTORY
  };
  struct BrokerSums {
    std::int64_t trades = 0;
    std::int64_t commission_cents = 0;
  };

  Seen* find(std::uint64_t id) {
    const auto found =
        std::lower_bound(trades_.begin(), trades_.end(), id,
                         [](const Seen& seen, std::uint64_t wanted) { return seen.id < wanted; });
    return found != trades_.end() && found->id == id ? &*found : nullptr;
  }
  [[nodiscard]] const Account* account(std::uint64_t number) const {
    return tables_.account.find_quiescent(make_key(number));
  }

  void collect_trades() {
    tables_.trade.for_each([&](const Key1& key, const Trade& row) {
      const auto id = static_cast<std::uint32_t>(key.words[0]);
      trades_.push_back({.id = id, .head = row.head});
      const Account* const owner = account(row.head.account);
      if (owner == nullptr || row.head.security >= scale_.securities()) {
        violations_.add("trades", "trade ", id,
                        " names an account or security that does not exist");
        return;
      }
      if (row.head.status == Status::completed) {
        BrokerSums& broker = brokers_[owner->head.broker];
        ++broker.trades;
        broker.commission_cents += row.head.commission_cents;
      }
      if (row.executor.view().empty() ||
          with_other_initial(with_other_initial(row.executor)) != row.executor) {
        violations_.add("executors", "trade ", id, " has the executor '", row.executor.view(), "'");
      }
    });
  }

  /// Every row of an index of trades leads to a trade that belongs there.
  template <class Index, class KeyOf>
  void check_index(const char* condition, const Index& index, bool Seen::* found, KeyOf key_of) {
    index.for_each([&](const Key1& key, const IndexRow& row) {
      Seen* const trade = find(row.number);
      if (trade == nullptr || key != key_of(trade->head, row.number)) {
        violations_.add(condition, "trade ", row.number, " does not belong under key ",
                        key.words[0]);
        return;
      }
      trade->*found = true;
    });
  }

  void check_requests() {
    tables_.request.for_each([&](const Key1& key, const TradeRequest& row) {
      Seen* const trade = find(key.words[0]);
      const Account* const owner = trade == nullptr ? nullptr : account(trade->head.account);
      if (owner == nullptr || row.security != trade->head.security ||
          row.quantity != trade->head.quantity || row.type != trade->head.type ||
          row.bid_price_cents != trade->head.bid_price_cents || row.broker != owner->head.broker) {
        violations_.add("requests", "that of trade ", key.words[0], " differs from the trade");
        return;
      }
      trade->request = true;
    });
    check_index("requests by security", tables_.request_by_symbol, &Seen::request_by_symbol,
                [](const TradeHead& trade, std::uint64_t id) {
                  return request_index_key(trade.security, trade.type, trade.bid_price_cents, id);
                });
    check_index("requests by broker", tables_.request_by_broker, &Seen::request_by_broker,
                [this](const TradeHead& trade, std::uint64_t id) {
                  const Account* const owner = account(trade.account);
                  return broker_request_key(owner == nullptr ? 0 : owner->head.broker,
                                            trade.security, id);
                });
  }

  void check_history() {
    tables_.history.for_each([&](const Key1& key, const TradeHistory&) {
      const std::uint64_t id = key.words[0] >> kStatusBits;
      Seen* const trade = find(id);
      if (trade == nullptr) {
        violations_.add("history", "trade ", id, " does not exist");
        return;
      }
      trade->states |= static_cast<std::uint8_t>(1U << (key.words[0] & ((1U << kStatusBits) - 1)));
    });
  }

  void check_settlements() {
    tables_.settlement.for_each([&](const Key1& key, const Settlement& row) {
      Seen* const trade = find(key.words[0]);
      if (trade == nullptr) {
        violations_.add("settlements", "trade ", key.words[0], " does not exist");
        return;
      }
      trade->settled = true;
      trade->settled_cents = row.amount_cents;
      const CashTypes types = cash_types(trade->head.is_cash);
      if (row.cash_type != types.with_account && row.cash_type != types.without) {
        violations_.add("settlements", "trade ", key.words[0], " is settled with '",
                        row.cash_type.view(), "'");
      }
      const Account* const owner = account(trade->head.account);
      if (owner != nullptr &&
          row.amount_cents != settlement_cents(trade->head, owner->head.tax_status)) {
        violations_.add("settlements", "trade ", key.words[0], " is settled with ",
                        row.amount_cents, " cents, which is not its value without fees and taxes");
      }
    });
  }

  void check_cash() {
    tables_.cash.for_each([&](const Key1& key, const CashTransaction& row) {
      Seen* const trade = find(key.words[0]);
      if (trade == nullptr || row.name != expected_name(trade->head, has_capital(row.name)) ||
          row.amount_cents != trade->settled_cents) {
        violations_.add("cash", "trade ", key.words[0], " is paid as '", row.name.view(), "'");
        return;
      }
      trade->cash = true;
      if (trade->head.account < cash_cents_.size()) {
        cash_cents_[trade->head.account] += row.amount_cents;
      }
    });
  }

  [[nodiscard]] CashName expected_name(const TradeHead& trade, bool capital) const {
    const Issue issue = issue_of(trade.security, scale_);
    return cash_name(kOrderTypeNames[static_cast<std::size_t>(trade.type)], trade.quantity, capital,
                     security_name(issue.company, issue.issue).view());
  }

  /// The tables that a trade is in follow from its status.
  void check_trades() {
    for (const Seen& trade : trades_) {
      if (!trade.by_account || !trade.by_symbol) {
        violations_.add("trades", "trade ", trade.id, " is missing in an index");
      }
      const bool pending = trade.head.status == Status::pending;
      if (trade.request != pending || trade.request_by_symbol != pending ||
          trade.request_by_broker != pending || (pending && is_market(trade.head.type))) {
        violations_.add("requests", "trade ", trade.id, " is ", pending ? "" : "not ",
                        "pending; TRADE_REQUEST or an index says otherwise");
      }
      const auto status = static_cast<unsigned>(trade.head.status);
      const unsigned up_to = (2U << status) - 1;
      if (trade.states != (is_market(trade.head.type) ? up_to & ~1U : up_to)) {
        violations_.add("history", "trade ", trade.id, " has the status ", status,
                        " and the past states ", unsigned{trade.states}, ", as bits");
      }
      const bool completed = trade.head.status == Status::completed;
      if (trade.settled != completed || trade.cash != (completed && trade.head.is_cash)) {
        violations_.add("settlements", "trade ", trade.id, " is ", completed ? "" : "not ",
                        "completed; SETTLEMENT or CASH_TRANSACTION says otherwise");
      }
    }
  }

  /// B_NUM_TRADES and B_COMM_TOTAL are those of the broker's completed trades.
  void check_brokers() {
    tables_.broker.for_each([&](const Key1& key, const Broker& row) {
      const BrokerSums& sums = brokers_[key.words[0]];
      if (row.trades != sums.trades || row.commission_cents != sums.commission_cents) {
        violations_.add("brokers", "broker ", key.words[0], " has ", row.trades, " trades, ",
                        row.commission_cents, " cents; by TRADE ", sums.trades, ", ",
                        sums.commission_cents);
      }
    });
  }

  /// HS_QTY is the sum of H_QTY, which is never 0, and HOLDING's index agrees.
  void check_holdings() {
    std::vector<std::uint64_t> listed;  // HOLDING_SUMMARY's keys, ascending
    std::vector<std::int64_t> missing;  // their quantities, less those of the holdings
    tables_.holding_summary.for_each([&](const Key1& key, const HoldingSummary& row) {
      listed.push_back(key.words[0]);
      missing.push_back(row.quantity);
      if (row.quantity == 0) violations_.add("holdings", "summary ", key.words[0], " is empty");
    });
    std::size_t holdings = 0;
    tables_.holding.for_each([&](const Key1& key, const Holding& row) {
      ++holdings;
      const Key1 summary = holding_summary_key(row.account, row.security);
      const auto at = std::lower_bound(listed.begin(), listed.end(), summary.words[0]);
      const IndexRow* const entry = tables_.holding_by_account.find_quiescent(
          holding_index_key(row.account, row.security, key.words[0]));
      if (at == listed.end() || *at != summary.words[0] || entry == nullptr ||
          entry->number != key.words[0]) {
        violations_.add("holdings", "that of trade ", key.words[0],
                        " has no summary, or is not in the index");
        return;
      }
      missing[static_cast<std::size_t>(at - listed.begin())] -= row.quantity;
    });
    for (std::size_t i = 0; i < listed.size(); ++i) {
      if (missing[i] != 0) {
        violations_.add("holdings", "summary ", listed[i], " has ", missing[i],
                        " shares more than its holdings");
      }
    }
    if (tables_.holding_by_account.count_quiescent() != holdings) {
      violations_.add("holdings", "the index has rows without a holding");
    }
  }

  /// The changes by a completed trade add up to its shares; those of a holding to H_QTY, or to 0 if
  /// it is closed.
  void check_holding_history() {
    full_->holding_history.for_each([&](const Key1& key, const HoldingHistory& row) {
      Seen* const trade = find(first_of(key));
      const IndexRow* const entry =
          full_->history_by_holding.find_quiescent(pair_key(second_of(key), first_of(key)));
      if (trade == nullptr || entry == nullptr || entry->number != first_of(key)) {
        violations_.add("holding history", "trade ", first_of(key),
                        " does not exist, or is not in the index");
        return;
      }
      trade->moved += row.after - row.before;
    });
    for (const Seen& trade : trades_) {
      const bool completed = trade.head.status == Status::completed;
      const std::int64_t shares = completed ? trade.head.quantity : 0;
      if (trade.moved != (is_sell(trade.head.type) ? -shares : shares)) {
        violations_.add("holding history", "trade ", trade.id, " has moved ", trade.moved,
                        " shares, and not ", shares);
      }
    }
    check_chains();
  }

  void check_chains() {
    std::size_t entries = 0;
    std::map<std::uint64_t, std::int64_t> left;  // by holding: the changes of its quantity
    full_->history_by_holding.for_each([&](const Key1& key, const IndexRow& row) {
      ++entries;
      const HoldingHistory* const change =
          full_->holding_history.find_quiescent(pair_key(row.number, first_of(key)));
      if (change != nullptr) left[first_of(key)] += change->after - change->before;
    });
    if (entries != full_->holding_history.count_quiescent()) {
      violations_.add("holding history", "the index has rows without one");
    }
    tables_.holding.for_each(
        [&](const Key1& key, const Holding& row) { left[key.words[0]] -= row.quantity; });
    for (const auto& [holding, missing] : left) {
      if (missing != 0) {
        violations_.add("holding history", "holding ", holding, " has ", missing,
                        " shares less than its changes leave");
      }
    }
  }

  void check_accounts() {
    tables_.account.for_each([&](const Key1& key, const Account& row) {
      const std::int64_t due_cents = kOpeningBalance_cents + cash_cents_[key.words[0]];
      if (row.balance_cents != due_cents) {
        violations_.add("accounts", "account ", key.words[0], " has ", row.balance_cents,
                        " cents, by its cash transactions ", due_cents);
      }
    });
  }

  /// Every feed has the same number of entries, so that a lost or doubled update shows in their
  /// sum.
  void check_prices() {
    std::uint64_t entries = 0;
    tables_.last_trade.for_each([&](const Key1& key, const LastTrade& row) {
      entries += row.entries;
      if (row.price_cents < kLeastPrice_cents || row.price_cents > kMostPrice_cents ||
          row.volume < row.entries * kLeastQuantity || row.volume > row.entries * kMostQuantity) {
        violations_.add("prices", "security ", key.words[0], " costs ", row.price_cents, " cents; ",
                        row.entries, " entries made a volume of ", row.volume);
      }
    });
    if (entries % entries_per_feed_ != 0) {
      violations_.add("prices", entries, " entries, not a multiple of ", entries_per_feed_);
    }
  }

  const Tables<M>& tables_;
  const FullTables<M>* full_ = nullptr;
  Scale scale_;
  std::uint32_t entries_per_feed_;
  std::vector<Seen> trades_;  // in the order of their numbers
  std::vector<BrokerSums> brokers_;
  std::vector<std::int64_t> cash_cents_;  // of each account
  Violations violations_;
};

}  // namespace heddle::tpce
