#pragma once

#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "storage/node_version.h"
#include "workload/pair_key.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/query_inputs.h"
#include "workload/tpce/rows_in_range.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Security-Detail returns, as far as it is computed.
struct SecurityDetailOutput {
  std::uint32_t last_price_cents = 0;
  std::uint32_t competitors = 0;
  std::uint32_t quarters = 0;
  std::uint32_t days = 0;
  std::uint32_t news = 0;
};

/// The Security-Detail query: what is known of a security and its company.
template <class Txn, class M>
class SecurityDetailQuery {
 public:
  SecurityDetailQuery(Txn& txn, Tables<M>& tables, FullTables<M>& full,
                      const SecurityDetailInput& input)
      : txn_(txn), tables_(tables), full_(full), in_(input) {}

  Outcome run(SecurityDetailOutput& output) {
    return read_security(output) && read_company() && read_reports(output) && read_news(output)
               ? Outcome::commit
               : txn_.stop();
  }

 private:
  bool read_security(SecurityDetailOutput& output) {
    const auto security = txn_.read(kNoState, tables_.security, make_key(in_.security));
    if (!security) return false;
    company_ = security->company;
    const auto last = txn_.read(kNoState, tables_.last_trade, make_key(in_.security));
    if (!last) return false;
    output.last_price_cents = last->price_cents;
    if (!txn_.read(kNoState, full_.security_profile, make_key(in_.security))) return false;
    const auto exchange = txn_.read(kNoState, full_.exchange, make_key(security->exchange));
    return exchange && read_address(exchange->address);
  }

  bool read_company() {
    if (!txn_.read(kNoState, tables_.company, make_key(company_))) return false;
    const auto profile = txn_.read(kNoState, full_.company_profile, make_key(company_));
    return profile && read_address(profile->address);
  }

  bool read_address(std::uint32_t number) {
    const auto address = txn_.read(kNoState, full_.address, make_key(number));
    return address && txn_.read(kNoState, full_.zip_code, make_key(address->zip_code));
  }

  bool read_reports(SecurityDetailOutput& output) {
    return for_rows_in<IndexRow>(txn_, full_.competitor, pairs_of(company_), Order::ascending,
                                 [&](const Key1&, const auto& row) {
                                   ++output.competitors;
                                   return read_competitor(row->number);
                                 }) &&
           for_rows_in<Financial>(txn_, full_.financial, pairs_of(company_), Order::ascending,
                                  [&](const Key1&, const auto&) {
                                    ++output.quarters;
                                    return true;
                                  }) &&
           for_rows_in<DailyMarket>(
               txn_, full_.daily_market,
               {pair_key(in_.security, in_.first_day), last_pair(in_.security)}, Order::ascending,
               [&](const Key1&, const auto&) {
                 ++output.days;
                 return true;
               },
               in_.days);
  }

  bool read_competitor(std::uint64_t company) {
    if (!txn_.read(kNoState, tables_.company, make_key(company))) return false;
    const auto profile = txn_.read(kNoState, full_.company_profile, make_key(company));
    return profile && txn_.read(kNoState, full_.industry, make_key(profile->industry));
  }

  bool read_news(SecurityDetailOutput& output) {
    return for_rows_in<IndexRow>(
        txn_, full_.news_of_company, pairs_of(company_), Order::ascending,
        [&](const Key1&, const auto& row) {
          ++output.news;
          return static_cast<bool>(txn_.read(kNoState, full_.news_item, make_key(row->number)));
        });
  }

  Txn& txn_;
  Tables<M>& tables_;
  FullTables<M>& full_;
  const SecurityDetailInput& in_;
  std::uint32_t company_ = 0;
};

}  // namespace heddle::tpce
