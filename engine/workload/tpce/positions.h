#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "model/access_id.h"
#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/schema.h"
#include "workload/tpce/tables.h"
#include "workload/tpce/trade_result_states.h"

namespace heddle::tpce {

/// What a trade does to the holdings of its account (Trade-Result, frame 2): it closes those of the
/// opposite sign, the latest or the earliest first, and opens one with the rest.
template <class Txn, class M>
class Positions {
 public:
  Positions(Txn& txn, Tables<M>& tables, FullTables<M>& full, std::uint32_t id,
            const TradeHead& trade, std::uint32_t price_cents, std::uint64_t date_us)
      : txn_(txn),
        tables_(tables),
        full_(full),
        id_(id),
        trade_(trade),
        price_cents_(price_cents),
        date_us_(date_us),
        sells_(is_sell(trade.type)),
        open_(static_cast<std::int32_t>(trade.quantity)) {}

  /// False: the transaction has to stop.
  bool change() {
    std::int64_t held = 0;
    if (!change_summary(held)) return false;
    const bool closes = sells_ ? held > 0 : held < 0;
    if (closes && !close(closing_states())) return false;
    if (open_ > 0 && !open(opening_states(closes))) return false;
    return insert_history();
  }

  /// What the account gains with the holdings it has closed; negative: loses.
  [[nodiscard]] std::int64_t profit_cents() const {
    const std::int64_t closed_at_cents = std::int64_t{closed_} * price_cents_;
    return sells_ ? closed_at_cents - opened_at_cents_ : opened_at_cents_ - closed_at_cents;
  }

 private:
  struct Closing {
    AccessId scan;
    AccessId read;
    AccessId update;
    AccessId remove;
    AccessId remove_by_account;
  };
  struct Opening {
    AccessId insert;
    AccessId insert_by_account;
  };
  struct Change {
    std::uint32_t holding;  ///< the trade that has opened it
    HoldingHistory history;
  };

  /// The shares with the sign that the trade adds them with.
  [[nodiscard]] std::int32_t added(std::int32_t shares) const { return sells_ ? -shares : shares; }

  [[nodiscard]] Closing closing_states() const {
    static constexpr Closing kLatestLong{kTradeResultScanLatestLong, kTradeResultReadLatestLong,
                                         kTradeResultUpdateLatestLong, kTradeResultRemoveLatestLong,
                                         kTradeResultRemoveLatestLongByAccount};
    static constexpr Closing kEarliestLong{
        kTradeResultScanEarliestLong, kTradeResultReadEarliestLong, kTradeResultUpdateEarliestLong,
        kTradeResultRemoveEarliestLong, kTradeResultRemoveEarliestLongByAccount};
    static constexpr Closing kLatestShort{
        kTradeResultScanLatestShort, kTradeResultReadLatestShort, kTradeResultUpdateLatestShort,
        kTradeResultRemoveLatestShort, kTradeResultRemoveLatestShortByAccount};
    static constexpr Closing kEarliestShort{
        kTradeResultScanEarliestShort, kTradeResultReadEarliestShort,
        kTradeResultUpdateEarliestShort, kTradeResultRemoveEarliestShort,
        kTradeResultRemoveEarliestShortByAccount};
    if (trade_.is_lifo) return sells_ ? kLatestLong : kLatestShort;
    return sells_ ? kEarliestLong : kEarliestShort;
  }
  [[nodiscard]] Opening opening_states(bool rest) const {
    if (rest) {
      return sells_ ? Opening{kTradeResultInsertShortRest, kTradeResultInsertShortRestByAccount}
                    : Opening{kTradeResultInsertLongRest, kTradeResultInsertLongRestByAccount};
    }
    return sells_ ? Opening{kTradeResultInsertShort, kTradeResultInsertShortByAccount}
                  : Opening{kTradeResultInsertLong, kTradeResultInsertLongByAccount};
  }

  /// @param held the account's shares before
  bool change_summary(std::int64_t& held) {
    const std::int32_t change = added(open_);
    const Key1 key = holding_summary_key(trade_.account, trade_.security);
    const auto summary = txn_.read(kTradeResultReadSummary, tables_.holding_summary, key);
    if (!summary) {
      return txn_.stop() != Outcome::abort &&
             txn_.insert(sells_ ? kTradeResultInsertShortSummary : kTradeResultInsertLongSummary,
                         tables_.holding_summary, key, {change});
    }
    held = summary->quantity;
    if (held + change == 0) {
      return txn_.remove(kTradeResultRemoveSummary, tables_.holding_summary, summary);
    }
    return txn_.update(kTradeResultUpdateSummary, tables_.holding_summary, summary,
                       [&](HoldingSummary& row) { row.quantity += change; });
  }

  bool close(const Closing& states) {
    std::array<Row<IndexRow>, kMostClosed> listed;
    std::array<Row<Holding>, kMostClosed> holdings;
    std::size_t count = 0;
    if (!txn_.template scan<IndexRow>(
            states.scan, tables_.holding_by_account,
            holding_index_key(trade_.account, trade_.security, 0),
            holding_index_key(trade_.account, trade_.security, kLastTrade),
            trade_.is_lifo ? Order::descending : Order::ascending, kMostClosed,
            [&](const Key1&, const auto& row) {
              listed[count++] = row;
              return true;
            })) {
      return false;
    }
    std::size_t used = 0;
    for (std::int32_t left = open_; used < count && left > 0; ++used) {
      holdings[used] = txn_.read(states.read, tables_.holding, make_key(listed[used]->number));
      if (!holdings[used]) return false;
      left -= std::abs(holdings[used]->quantity);
    }
    txn_.passed(states.read);
    for (std::size_t i = 0; i < used; ++i) {
      if (!close_one(states, holdings[i], listed[i])) return false;
    }
    txn_.passed(states.remove_by_account);
    return true;
  }

  bool close_one(const Closing& states, const Row<Holding>& holding, const Row<IndexRow>& listed) {
    const std::int32_t before = holding->quantity;
    const std::int32_t shares = std::min(open_, std::abs(before));
    const std::int32_t after = before + added(shares);
    closed_ += shares;
    opened_at_cents_ += std::int64_t{shares} * holding->price_cents;
    open_ -= shares;
    changes_[change_count_++] = {static_cast<std::uint32_t>(listed->number), {before, after}};
    if (after == 0) {
      return txn_.remove(states.remove, tables_.holding, holding) &&
             txn_.remove(states.remove_by_account, tables_.holding_by_account, listed);
    }
    return txn_.update(states.update, tables_.holding, holding,
                       [after](Holding& row) { row.quantity = after; });
  }

  bool open(const Opening& states) {
    const std::int32_t quantity = added(open_);
    changes_[change_count_++] = {id_, {0, quantity}};
    return txn_.insert(states.insert, tables_.holding, make_key(id_),
                       {.date_us = date_us_,
                        .account = trade_.account,
                        .security = trade_.security,
                        .quantity = quantity,
                        .price_cents = price_cents_}) &&
           txn_.insert(states.insert_by_account, tables_.holding_by_account,
                       holding_index_key(trade_.account, trade_.security, id_), {id_});
  }

  /// Its index has no state: nothing but Trade-Lookup reads it, on a snapshot.
  bool insert_history() {
    for (const Change& change : std::span(changes_).first(change_count_)) {
      if (!txn_.insert(kTradeResultInsertHoldingHistory, full_.holding_history,
                       pair_key(id_, change.holding), change.history) ||
          !txn_.insert(kNoState, full_.history_by_holding, pair_key(change.holding, id_), {id_})) {
        return false;
      }
    }
    txn_.passed(kTradeResultInsertHoldingHistory);
    return true;
  }

  /// Quantities are multiples of the smallest order, and so is what is left of a holding.
  static constexpr std::uint32_t kMostClosed = kMostQuantity / kLeastQuantity;
  static constexpr std::uint64_t kLastTrade = 0xffff'ffff;

  Txn& txn_;
  Tables<M>& tables_;
  FullTables<M>& full_;
  std::uint32_t id_;
  const TradeHead& trade_;
  std::uint32_t price_cents_;
  std::uint64_t date_us_;
  bool sells_;
  std::int32_t open_;  ///< shares that are not yet matched
  std::int32_t closed_ = 0;
  std::int64_t opened_at_cents_ = 0;             ///< of the shares closed
  std::array<Change, kMostClosed + 1> changes_;  // the first `change_count_` are set
  std::size_t change_count_ = 0;
};

}  // namespace heddle::tpce
