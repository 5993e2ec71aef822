#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/query_inputs.h"
#include "workload/tpce/rows_in_range.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Market-Watch returns: the worth of all shares of the securities watched.
struct MarketWatchOutput {
  std::uint32_t securities = 0;
  std::int64_t then_cents = 0;  ///< on the day of the input
  std::int64_t now_cents = 0;
};

/// The Market-Watch query: how the securities on a watch list, of an account, or of
/// an industry have done since a day.
template <class Txn, class M>
class MarketWatchQuery {
 public:
  MarketWatchQuery(Txn& txn, Tables<M>& tables, FullTables<M>& full, const MarketWatchInput& input)
      : txn_(txn), tables_(tables), full_(full), in_(input) {}

  Outcome run(MarketWatchOutput& output) {
    output_ = &output;
    return watch_all() ? Outcome::commit : txn_.stop();
  }

 private:
  bool watch_all() {
    using enum MarketWatchInput::Of;
    switch (in_.of) {
      case watch_list:
        return for_rows_in<IndexRow>(
            txn_, full_.watch_item, pairs_of(in_.number), Order::ascending, ahead_,
            [this](const Key1&, const auto& row, auto fetch) { name(row->number, fetch); },
            [this](const Key1&, const auto& row) { return watch(row->number); });
      case account:
        return for_rows_in<HoldingSummary>(
            txn_, tables_.holding_summary,
            {holding_summary_key(in_.number, 0), holding_summary_key(in_.number, kLastSecurity)},
            Order::ascending, ahead_,
            [this](const Key1& key, const auto&, auto fetch) {
              name(key.words[0] & kLastSecurity, fetch);
            },
            [this](const Key1& key, const auto&) { return watch(key.words[0] & kLastSecurity); });
      case industry:
        return for_rows_in<IndexRow>(
            txn_, full_.company_by_industry, pairs_of(in_.number), Order::ascending,
            [this](const Key1&, const auto& row) { return watch_company(row->number); });
    }
    return false;
  }

  bool watch_company(std::uint64_t company) {
    return for_rows_in<IndexRow>(
        txn_, tables_.security_by_company,
        {security_of_company_key(company, 0),
         security_of_company_key(company, (1U << kIssueBits) - 1)},
        Order::ascending, ahead_,
        [this](const Key1&, const auto& row, auto fetch) { name(row->number, fetch); },
        [this](const Key1&, const auto& row) { return watch(row->number); });
  }

  /// Names the rows that watch() reads.
  template <class Fetch>
  void name(std::uint64_t security, const Fetch& fetch) const {
    fetch(tables_.last_trade, make_key(security), sizeof(LastTrade));
    fetch(full_.security_profile, make_key(security), sizeof(SecurityProfile));
    fetch(full_.daily_market, pair_key(security, in_.day), sizeof(DailyMarket));
  }

  bool watch(std::uint64_t security) {
    const auto last = txn_.read(kNoState, tables_.last_trade, make_key(security), ahead_[0]);
    if (!last) return false;
    const auto profile = txn_.read(kNoState, full_.security_profile, make_key(security), ahead_[1]);
    if (!profile) return false;
    const auto then =
        txn_.read(kNoState, full_.daily_market, pair_key(security, in_.day), ahead_[2]);
    if (!then) return false;
    const auto shares = static_cast<std::int64_t>(profile->shares);
    ++output_->securities;
    output_->then_cents += shares * then->close_cents;
    output_->now_cents += shares * last->price_cents;
    return true;
  }

  static constexpr std::uint64_t kLastSecurity = (1U << kSecurityBits) - 1;

  Txn& txn_;
  Tables<M>& tables_;
  FullTables<M>& full_;
  const MarketWatchInput& in_;
  MarketWatchOutput* output_ = nullptr;
  RowsAheadInLoop<M, 3> ahead_;  // for the security that is watched
};

}  // namespace heddle::tpce
