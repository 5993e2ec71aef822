#pragma once

#include <cstdint>

#include "workload/text.h"
#include "workload/tpce/names.h"
#include "workload/tpce/schema.h"

/// The rows of the tables that only the full mix uses (specification v1.14, clause 2.2).
namespace heddle::tpce {

inline constexpr std::uint32_t kSectors = 12;
inline constexpr std::uint32_t kIndustries = 102;
inline constexpr std::uint32_t kCompetitors = 3;    ///< of each company
inline constexpr std::uint32_t kQuarters = 20;      ///< for which a company has reported
inline constexpr std::uint32_t kNewsItems = 2;      ///< of each company
inline constexpr std::uint32_t kMarketDays = 1305;  ///< five years
inline constexpr std::uint32_t kLeastWatched = 50;
inline constexpr std::uint32_t kMostWatched = 150;
inline constexpr std::uint32_t kZipCodes = 14'741;

/// How a trade has changed a holding.
struct HoldingHistory {
  std::int32_t before;  ///< its quantity; 0: the trade has opened it
  std::int32_t after;   ///< 0: the trade has closed it
};

struct Sector {
  Text<32> name;
};

struct Industry {
  Text<56> name;
  std::uint64_t sector;
};
static_assert(sizeof(Industry) == 64);

/// The columns of COMPANY that only Security-Detail and searches by industry read.
struct alignas(8) CompanyProfile {
  std::uint32_t industry;
  std::uint32_t address;
  std::uint32_t open_day;
  Text<4> rating;
  PersonName ceo;
  Text<152> description;
};
static_assert(sizeof(CompanyProfile) == 208);

struct Address {
  Text<40> line;
  std::uint64_t zip_code;
};

struct ZipCode {
  Text<24> town;
  Text<24> division;
};

struct Exchange {
  Text<32> name;
  std::uint32_t securities;
  std::uint32_t open_minute;  ///< of the day
  std::uint32_t close_minute;
  std::uint32_t address;
};
static_assert(sizeof(Exchange) == 48);

/// One quarter of a company's reports; money in cents.
struct Financial {
  std::uint64_t start_day;
  std::int64_t revenue_cents;
  std::int64_t net_earnings_cents;
  std::int64_t earnings_per_share_cents;
  std::int64_t inventory_cents;
  std::int64_t assets_cents;
  std::int64_t liabilities_cents;
  std::int64_t shares;
};
static_assert(sizeof(Financial) == 64);

struct NewsItem {
  std::uint64_t day;
  Text<80> headline;
  Text<256> summary;
};
static_assert(sizeof(NewsItem) == 344);

/// The columns of SECURITY that Market-Watch and Security-Detail read.
struct SecurityProfile {
  std::uint64_t shares;
  std::uint32_t start_day;
  std::uint32_t dividend_cents;
  std::uint32_t year_high_cents;
  std::uint32_t year_low_cents;
};
static_assert(sizeof(SecurityProfile) == 24);

/// The trade of a security on one day.
struct DailyMarket {
  std::uint32_t close_cents;
  std::uint32_t high_cents;
  std::uint32_t low_cents;
  std::uint32_t volume;
};
static_assert(sizeof(DailyMarket) == 16);

/// What a customer is known by to the tax office.
constexpr std::uint64_t tax_id(std::uint64_t customer) { return 100'000'007 + customer * 37; }

/// The industries of a sector follow each other around.
constexpr std::uint32_t sector_of(std::uint32_t industry) { return industry % kSectors; }

}  // namespace heddle::tpce
