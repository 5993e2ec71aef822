#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "protocol/outcome.h"
#include "storage/look_ahead.h"
#include "storage/node_version.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/keys.h"
#include "workload/tpce/query_inputs.h"
#include "workload/tpce/rows_in_range.h"
#include "workload/tpce/tables.h"

namespace heddle::tpce {

/// What Broker-Volume returns, as far as it is computed.
struct BrokerVolumeOutput {
  std::uint32_t requests = 0;  ///< of the sector
  std::int64_t volume_cents = 0;
};

/// The Broker-Volume query: what the orders of some brokers that wait for their
/// price are worth, in one sector.
template <class Txn, class M>
Outcome broker_volume(Txn& txn, Tables<M>& tables, FullTables<M>& full,
                      const BrokerVolumeInput& input, BrokerVolumeOutput& output) {
  if (!txn.read(kNoState, full.sector, make_key(input.sector))) return txn.stop();
  const auto in_sector = [&](std::uint64_t security, bool& found) {
    const auto issue = txn.read(kNoState, tables.security, make_key(security));
    if (!issue) return false;
    const auto company = txn.read(kNoState, full.company_profile, make_key(issue->company));
    if (!company) return false;
    const auto industry = txn.read(kNoState, full.industry, make_key(company->industry));
    found = industry && industry->sector == input.sector;
    return static_cast<bool>(industry);
  };
  constexpr std::uint64_t kLastSecurity = (1U << kSecurityBits) - 1;
  constexpr std::uint64_t kLastTrade = 0xffff'ffff;
  for (const std::uint32_t broker : std::span(input.brokers).first(input.count)) {
    if (!txn.read(kNoState, tables.broker, make_key(broker))) return txn.stop();
    const KeyRange requests{broker_request_key(broker, 0, 0),
                            broker_request_key(broker, kLastSecurity, kLastTrade)};
    RowsAheadInLoop<M> waiting;
    const bool complete = for_rows_in<IndexRow>(
        txn, tables.request_by_broker, requests, Order::ascending, waiting,
        [&](const Key1&, const auto& row, auto fetch) {
          fetch(tables.request, make_key(row->number), sizeof(TradeRequest));
        },
        [&](const Key1&, const auto& row) {
          const auto request =
              txn.read(kNoState, tables.request, make_key(row->number), waiting[0]);
          bool found = false;
          if (!request || !in_sector(request->security, found)) return false;
          if (!found) return true;
          ++output.requests;
          output.volume_cents += std::int64_t{request->quantity} * request->bid_price_cents;
          return true;
        });
    if (!complete) return txn.stop();
  }
  return Outcome::commit;
}

}  // namespace heddle::tpce
