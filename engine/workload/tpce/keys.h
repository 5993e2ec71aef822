#pragma once

#include <bit>
#include <cstdint>
#include <cstring>

#include "storage/key.h"
#include "workload/pair_key.h"
#include "workload/tpce/scale.h"
#include "workload/tpce/schema.h"

/// Keys, packed into one word each, the most significant column highest:
///
///     account 18 bits | security 14 | trade 32
///
/// Trades are numbered in the order of their times. Where the specification orders an index by
/// T_DTS, this one is ordered by T_ID.
namespace heddle::tpce {

inline constexpr int kAccountBits = 18;
inline constexpr int kSecurityBits = 14;
inline constexpr int kTradeBits = 32;
inline constexpr int kPriceBits = 16;
inline constexpr int kIssueBits = 3;
inline constexpr int kStatusBits = 2;
inline constexpr int kOrderTypeBits = 2;
inline constexpr int kPersonBits = 32;
inline constexpr int kQuantityBits = 16;

inline constexpr Scale kLargest{kMostCustomers, kMostTradeDays};
static_assert(kLargest.accounts() <= 1U << kAccountBits);
static_assert(kLargest.securities() <= 1U << kSecurityBits);
static_assert(kAccountBits + kSecurityBits + kTradeBits == 64);
static_assert(kSecurityBits + kOrderTypeBits + kPriceBits + kTradeBits == 64);
static_assert(kMostPrice_cents < 1U << kPriceBits);
static_assert(kMostQuantity < 1U << kQuantityBits);
static_assert(kStatuses <= 1U << kStatusBits);

constexpr Key1 permission_key(std::uint64_t account, std::uint64_t person) {
  return {{account << kPersonBits | person}};
}

/// The start of a company's name, which no two companies share.
inline Key1 company_name_key(const CompanyName& name) {
  std::uint64_t word = 0;
  std::memcpy(&word, name.chars.data(), sizeof(word));
  if constexpr (std::endian::native == std::endian::little) word = __builtin_bswap64(word);
  return {{word}};
}

constexpr Key1 security_of_company_key(std::uint64_t company, std::uint64_t issue) {
  return {{company << kIssueBits | issue}};
}

/// The key of HOLDING_SUMMARY, and the start of the keys of HOLDING's index.
constexpr Key1 holding_summary_key(std::uint64_t account, std::uint64_t security) {
  return {{account << kSecurityBits | security}};
}
constexpr Key1 holding_index_key(std::uint64_t account, std::uint64_t security,
                                 std::uint64_t trade) {
  return pair_key(holding_summary_key(account, security).words[0], trade);
}

constexpr Key1 customer_taxrate_key(std::uint64_t customer, std::uint64_t number) {
  return {{customer << 1 | number}};
}

constexpr Key1 commission_rate_key(std::uint64_t tier, OrderType type, std::uint64_t exchange,
                                   std::uint64_t from_quantity) {
  const std::uint64_t group =
      (tier * kOrderTypes + static_cast<std::uint64_t>(type)) * kExchanges + exchange;
  return {{group << kQuantityBits | from_quantity}};
}

constexpr Key1 charge_key(std::uint64_t tier, OrderType type) {
  return {{tier * kOrderTypes + static_cast<std::uint64_t>(type)}};
}

/// TRADE_HISTORY: the states of a trade, in the order in which it goes through them.
constexpr Key1 history_key(std::uint64_t trade, Status status) {
  return {{trade << kStatusBits | static_cast<std::uint64_t>(status)}};
}

/// TRADE_REQUEST by security, type and price. Market orders make no request, so the types fit two
/// bits.
constexpr Key1 request_index_key(std::uint64_t security, OrderType type, std::uint64_t price_cents,
                                 std::uint64_t trade) {
  const auto kind = static_cast<std::uint64_t>(type) - static_cast<std::uint64_t>(kFirstLimitType);
  return pair_key((security << kOrderTypeBits | kind) << kPriceBits | price_cents, trade);
}

/// TRADE_REQUEST by broker and security.
constexpr Key1 broker_request_key(std::uint64_t broker, std::uint64_t security,
                                  std::uint64_t trade) {
  return pair_key(broker << kSecurityBits | security, trade);
}

}  // namespace heddle::tpce
