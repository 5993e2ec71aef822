#pragma once

#include <cstddef>
#include <cstdint>

#include "workload/text.h"

/// The rows of the tables of TPC-E that its trades use (specification v1.14, clause 2.2).
///
/// Money is in whole cents, so that the consistency conditions hold exactly. Securities are known
/// by their numbers, which stand for S_SYMB. Columns that no transaction reads are left out.
namespace heddle::tpce {

/// TRADE_TYPE: market orders, then those that wait for a price.
enum class OrderType : std::uint8_t { market_buy, market_sell, stop_loss, limit_sell, limit_buy };
inline constexpr std::uint32_t kOrderTypes = 5;
inline constexpr OrderType kFirstLimitType = OrderType::stop_loss;

constexpr bool is_market(OrderType type) { return type < kFirstLimitType; }
constexpr bool is_sell(OrderType type) {
  return type != OrderType::market_buy && type != OrderType::limit_buy;
}

/// STATUS_TYPE, in the order in which a trade goes through them; market orders begin as submitted.
enum class Status : std::uint8_t { pending, submitted, completed };
inline constexpr std::uint32_t kStatuses = 3;

/// The range of prices of the market emulator, and the numbers of shares in an order.
inline constexpr std::uint32_t kLeastPrice_cents = 20'00;
inline constexpr std::uint32_t kMostPrice_cents = 30'00;
inline constexpr std::uint32_t kLeastQuantity = 100;
inline constexpr std::uint32_t kMostQuantity = 800;

using CompanyName = Text<24>;
using SecurityName = Text<32>;
using ExecutorName = Text<48>;
using CashName = Text<64>;
using CashType = Text<16>;

struct PersonName {
  Text<16> first;
  Text<24> last;

  bool operator==(const PersonName&) const = default;
};

// ---- customers ----------------------------------------------------------------------------------

struct Customer {
  PersonName name;
  std::uint64_t tier;
};
static_assert(sizeof(Customer) == 48);

inline constexpr std::uint64_t kUntaxed = 0;
inline constexpr std::uint64_t kWithheld = 1;

struct AccountHead {
  std::uint32_t broker;
  std::uint32_t customer;
  std::uint64_t tax_status;  ///< kUntaxed; kWithheld: taxed, withheld; 2: taxed, not withheld
};
static_assert(sizeof(AccountHead) == 16);

struct Account {
  AccountHead head;
  std::int64_t balance_cents;
};
static_assert(sizeof(Account) == 24);

/// A person other than the owner who may trade for an account.
struct AccountPermission {
  PersonName name;
};
static_assert(sizeof(AccountPermission) == 40);

struct CustomerTaxrate {
  std::uint64_t rate;  ///< its number
};

struct Taxrate {
  std::uint64_t per_100_000;
};

struct HoldingSummary {
  std::int64_t quantity;  ///< negative: sold short
};

struct Holding {
  std::uint64_t date_us;
  std::uint32_t account;
  std::uint32_t security;
  std::int32_t quantity;
  std::uint32_t price_cents;
};
static_assert(sizeof(Holding) == 24);

/// A row of an index: the number of what it leads to.
struct IndexRow {
  std::uint64_t number;
};

// ---- brokers ------------------------------------------------------------------------------------

struct Broker {
  Text<24> name;
  std::int64_t trades;            ///< completed
  std::int64_t commission_cents;  ///< earned with them
};
static_assert(sizeof(Broker) == 40);

struct TradeType {
  Text<14> name;
  bool is_sell;
  bool is_market;
};
static_assert(sizeof(TradeType) == 16);

struct Charge {
  std::uint64_t cents;
};

struct CommissionRate {
  std::uint32_t to_quantity;
  std::uint32_t basis_points;
};

/// Every column of a trade but T_EXEC_NAME.
struct alignas(8) TradeHead {
  std::uint64_t date_us;
  std::uint32_t account;
  std::uint32_t security;
  std::uint32_t quantity;
  std::uint32_t bid_price_cents;
  std::uint32_t trade_price_cents;  ///< 0 until the trade is completed
  std::uint32_t charge_cents;
  std::uint32_t commission_cents;
  std::uint32_t tax_cents;
  Status status;
  OrderType type;
  bool is_cash;
  bool is_lifo;
};
static_assert(sizeof(TradeHead) == 48);

struct Trade {
  TradeHead head;
  ExecutorName executor;
};
static_assert(sizeof(Trade) == 96);

struct alignas(8) TradeRequest {
  std::uint32_t security;
  std::uint32_t quantity;
  std::uint32_t bid_price_cents;
  std::uint32_t broker;
  OrderType type;
};
static_assert(sizeof(TradeRequest) == 24);

struct TradeHistory {
  std::uint64_t date_us;
};

struct Settlement {
  std::uint64_t due_us;
  std::int64_t amount_cents;
  CashType cash_type;
};
static_assert(sizeof(Settlement) == 32);

struct CashTransaction {
  std::uint64_t date_us;
  std::int64_t amount_cents;
  CashName name;
};
static_assert(sizeof(CashTransaction) == 80);

// ---- market -------------------------------------------------------------------------------------

struct Company {
  CompanyName name;
};

struct Security {
  std::uint32_t company;
  std::uint32_t exchange;
  SecurityName name;
};
static_assert(sizeof(Security) == 40);

struct LastTrade {
  std::uint64_t date_us;
  std::uint32_t price_cents;
  std::uint32_t open_price_cents;
  std::uint64_t volume;
  std::uint64_t entries;  ///< of tickers, since the population; only the consistency check needs it
};
static_assert(sizeof(LastTrade) == 32);

}  // namespace heddle::tpce
