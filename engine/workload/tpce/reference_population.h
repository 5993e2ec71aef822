#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

#include "model/random.h"
#include "storage/key.h"
#include "workload/pair_key.h"
#include "workload/text.h"
#include "workload/tpce/full_tables.h"
#include "workload/tpce/names.h"
#include "workload/tpce/reference_schema.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"

namespace heddle::tpce {

/// Fills the tables of the full mix that no transaction writes (clause 2.6). The same seed gives
/// the same rows.
template <class M>
class ReferencePopulation {
 public:
  ReferencePopulation(FullTables<M>& full, const Scale& scale, std::uint64_t seed)
      : full_(full), scale_(scale), random_(seed) {}

  void load() {
    load_customers();
    load_industries();
    load_addresses();
    load_companies();
    load_securities();
  }

 private:
  /// Each customer watches 50 to 150 securities, or all if there are no more.
  void load_customers() {
    const std::uint32_t securities = scale_.securities();
    for (std::uint32_t customer = 0; customer < scale_.customers; ++customer) {
      full_.customer_by_tax_id.load(make_key(tax_id(customer)), {customer});
      const std::uint32_t watched = std::min(securities, between(kLeastWatched, kMostWatched));
      const std::uint32_t first = between(0, securities - 1);
      for (std::uint32_t i = 0; i < watched; ++i) {
        const std::uint32_t step = i * securities / watched;  // all are different
        const std::uint32_t security = (first + step) % securities;
        full_.watch_item.load(pair_key(customer, security), {security});
      }
    }
  }

  void load_industries() {
    for (std::uint32_t sector = 0; sector < kSectors; ++sector) {
      full_.sector.load(make_key(sector),
                        {(TextWriter<32>() << spelled(sector * 911).view() << " Sector").text()});
    }
    for (std::uint32_t industry = 0; industry < kIndustries; ++industry) {
      full_.industry.load(
          make_key(industry),
          {(TextWriter<56>() << spelled(industry * 613).view() << " Industry").text(),
           sector_of(industry)});
    }
  }

  void load_addresses() {
    for (std::uint32_t zip = 0; zip < kZipCodes; ++zip) {
      full_.zip_code.load(make_key(zip),
                          {(TextWriter<24>() << spelled(zip).view() << " Town").text(),
                           (TextWriter<24>() << spelled(zip / 300).view()).text()});
    }
    for (std::uint32_t address = 0; address < scale_.companies() + kExchanges; ++address) {
      full_.address.load(
          make_key(address),
          {(TextWriter<40>() << address % 997 << " " << spelled(address * 389).view() << " Street")
               .text(),
           between(0, kZipCodes - 1)});
    }
    constexpr std::array<std::string_view, kExchanges> kNames{"AMEX", "NASDAQ", "NYSE", "PCX"};
    for (std::uint32_t exchange = 0; exchange < kExchanges; ++exchange) {
      full_.exchange.load(make_key(exchange),
                          {Text<32>::of(kNames[exchange]), scale_.securities() / kExchanges,
                           9 * 60 + 30, 16 * 60, scale_.companies() + exchange});
    }
  }

  void load_companies() {
    for (std::uint32_t company = 0; company < scale_.companies(); ++company) {
      const std::uint32_t industry = between(0, kIndustries - 1);
      full_.company_profile.load(
          make_key(company),
          {.industry = industry,
           .address = company,
           .open_day = between(1, 50'000),
           .rating = Text<4>::of(company % 3 == 0 ? "AAA" : "BB+"),
           .ceo = person_name(company + scale_.customers),
           .description = (TextWriter<152>()
                           << company_name(company).view() << " makes " << spelled(industry).view())
                              .text()});
      full_.company_by_industry.load(pair_key(industry, company), {company});
      const std::uint32_t first = between(1, scale_.companies() - kCompetitors);
      for (std::uint32_t i = 0; i < kCompetitors; ++i) {
        const std::uint32_t other = (company + first + i) % scale_.companies();
        full_.competitor.load(pair_key(company, other), {other});
      }
      for (std::uint32_t quarter = 0; quarter < kQuarters; ++quarter)
        load_quarter(company, quarter);
      for (std::uint32_t i = 0; i < kNewsItems; ++i) load_news(company, kNewsItems * company + i);
    }
  }

  void load_quarter(std::uint32_t company, std::uint32_t quarter) {
    const std::int64_t revenue_cents = std::int64_t{between(100'000, 16'000'000)} * 100'00;
    const std::int64_t shares = between(400'000, 9'500'000);
    const std::int64_t earnings_cents = revenue_cents * between(1, 30) / 100;
    full_.financial.load(pair_key(company, quarter),
                         {.start_day = 91 * std::uint64_t{quarter},
                          .revenue_cents = revenue_cents,
                          .net_earnings_cents = earnings_cents,
                          .earnings_per_share_cents = earnings_cents / shares,
                          .inventory_cents = revenue_cents / 5,
                          .assets_cents = revenue_cents * 3,
                          .liabilities_cents = revenue_cents * 2,
                          .shares = shares});
  }

  void load_news(std::uint32_t company, std::uint32_t item) {
    const auto name = company_name(company);
    full_.news_of_company.load(pair_key(company, item), {item});
    full_.news_item.load(
        make_key(item),
        {between(0, kMarketDays - 1),
         (TextWriter<80>() << name.view() << " reports " << spelled(item).view()).text(),
         (TextWriter<256>() << "The board of " << name.view() << " has decided on "
                            << spelled(item * 269).view())
             .text()});
  }

  void load_securities() {
    for (std::uint32_t security = 0; security < scale_.securities(); ++security) {
      full_.security_profile.load(make_key(security), {.shares = between(4'000'000, 9'500'000),
                                                       .start_day = between(1, 50'000),
                                                       .dividend_cents = between(0, 10'00),
                                                       .year_high_cents = kMostPrice_cents,
                                                       .year_low_cents = kLeastPrice_cents});
      for (std::uint32_t day = 0; day < kMarketDays; ++day) {
        const std::uint32_t close_cents = between(kLeastPrice_cents, kMostPrice_cents);
        full_.daily_market.load(pair_key(security, day),
                                {.close_cents = close_cents,
                                 .high_cents = close_cents + close_cents / 20,
                                 .low_cents = close_cents - close_cents / 20,
                                 .volume = between(1'000, 10'000)});
      }
    }
  }

  std::uint32_t between(std::uint32_t lo, std::uint32_t hi) {
    return static_cast<std::uint32_t>(random_.between(lo, hi));
  }

  FullTables<M>& full_;
  Scale scale_;
  Random random_;
};

}  // namespace heddle::tpce
