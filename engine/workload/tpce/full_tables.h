#pragma once

#include <cstddef>
#include <cstdint>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/tpce/reference_schema.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"

namespace heddle::tpce {

/// The tables that only the types of the full mix use. Transactions write HOLDING_HISTORY and its
/// index, and no other.
template <class M>
struct FullTables {
  template <class V>
  using Hashed = Table<M, Key1, V, HashIndex>;
  template <class V>
  using Ordered = Table<M, Key1, V, OrderedIndex>;

  FullTables(Storage<M>& storage, const Scale& scale)
      : holding_history(storage, "HOLDING_HISTORY", scale.trades()),
        history_by_holding(storage, "HOLDING_HISTORY_H_T_ID_IDX", scale.trades()),
        customer_by_tax_id(storage, "CUSTOMER_TAX_ID_IDX", scale.customers),
        watch_item(storage, "WATCH_ITEM", std::size_t{scale.customers} * kMostWatched),
        sector(storage, "SECTOR", kSectors),
        industry(storage, "INDUSTRY", kIndustries),
        company_profile(storage, "COMPANY_PROFILE", scale.companies()),
        company_by_industry(storage, "COMPANY_IN_ID_IDX", scale.companies()),
        competitor(storage, "COMPANY_COMPETITOR", std::size_t{scale.companies()} * kCompetitors),
        address(storage, "ADDRESS", scale.companies() + kExchanges),
        zip_code(storage, "ZIP_CODE", kZipCodes),
        exchange(storage, "EXCHANGE", kExchanges),
        financial(storage, "FINANCIAL", std::size_t{scale.companies()} * kQuarters),
        news_of_company(storage, "NEWS_XREF", std::size_t{scale.companies()} * kNewsItems),
        news_item(storage, "NEWS_ITEM", std::size_t{scale.companies()} * kNewsItems),
        security_profile(storage, "SECURITY_PROFILE", scale.securities()),
        daily_market(storage, "DAILY_MARKET", std::size_t{scale.securities()} * kMarketDays) {}

  Ordered<HoldingHistory> holding_history;  ///< by trade, then by holding
  Ordered<IndexRow> history_by_holding;     ///< by holding, then by trade

  Hashed<IndexRow> customer_by_tax_id;
  Ordered<IndexRow> watch_item;  ///< by customer (each has one WATCH_LIST), then by security

  Hashed<Sector> sector;
  Hashed<Industry> industry;
  Hashed<CompanyProfile> company_profile;
  Ordered<IndexRow> company_by_industry;
  Ordered<IndexRow> competitor;
  Hashed<Address> address;  ///< of companies, then of exchanges
  Hashed<ZipCode> zip_code;
  Hashed<Exchange> exchange;
  Ordered<Financial> financial;
  Ordered<IndexRow> news_of_company;
  Hashed<NewsItem> news_item;
  Hashed<SecurityProfile> security_profile;
  Ordered<DailyMarket> daily_market;  ///< by security, then by day
};

}  // namespace heddle::tpce
