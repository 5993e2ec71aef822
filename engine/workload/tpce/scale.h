#pragma once

#include <array>
#include <cstdint>

/// The sizes of the database, all derived from the number of customers (TPC-E specification v1.14,
/// clause 2.6). Everything is numbered from 0.
namespace heddle::tpce {

inline constexpr std::uint32_t kCustomerStep = 100;  // a broker serves this many customers
inline constexpr std::uint32_t kMostCustomers = 20'000;
inline constexpr std::uint32_t kMostTradeDays = 300;

/// Account numbers are reserved for this many accounts of a customer.
inline constexpr std::uint32_t kAccountsReserved = 10;
/// The securities that an account trades in before the run.
inline constexpr std::uint32_t kSecuritiesPerAccount = 10;

/// A ticker sends this many entries at once.
inline constexpr std::uint32_t kMostEntriesPerFeed = 20;

inline constexpr std::uint32_t kTiers = 3;
inline constexpr std::uint32_t kExchanges = 4;
inline constexpr std::uint32_t kNationalTaxRates = 10;
inline constexpr std::uint32_t kTaxRates = 320;

struct Scale {
  std::uint32_t customers;
  std::uint32_t trade_days;

  [[nodiscard]] constexpr std::uint32_t brokers() const { return customers / kCustomerStep; }
  [[nodiscard]] constexpr std::uint32_t companies() const { return customers / 2; }
  [[nodiscard]] constexpr std::uint32_t securities() const { return customers * 685 / 1000; }
  /// The account numbers, of which half are in use.
  [[nodiscard]] constexpr std::uint32_t accounts() const { return customers * kAccountsReserved; }
  /// The trades of the days before the run: one per second for every 500 customers.
  [[nodiscard]] constexpr std::uint32_t trades() const {
    return customers / kCustomerStep * (kDay_s / 5) * trade_days;
  }

  /// Times are microseconds of trading; the run begins when the last day before it ends.
  [[nodiscard]] constexpr std::uint64_t trade_time_us(std::uint32_t trade) const {
    return std::uint64_t{trade} * (5'000'000 * kCustomerStep / customers);
  }
  [[nodiscard]] constexpr std::uint64_t run_start_us() const {
    return std::uint64_t{trade_days} * kDay_s * 1'000'000;
  }

 private:
  static constexpr std::uint32_t kDay_s = 8 * 3600;
};

/// The tier of a customer, 0 to 2: a fifth of the customers in the first, three fifths in the
/// second, a fifth in the third.
constexpr std::uint32_t tier_of(std::uint32_t customer) {
  const std::uint32_t place = customer % 10;
  return place < 2 ? 0 : place < 8 ? 1 : 2;
}

/// The number of a customer's accounts, five on average: 1 to 4, 2 to 8 or 5 to 10 by tier.
constexpr std::uint32_t accounts_of(std::uint32_t customer) {
  constexpr std::array<std::uint32_t, kTiers> kFewest{1, 2, 5};
  constexpr std::array<std::uint32_t, kTiers> kMost{4, 8, 10};
  const std::uint32_t tier = tier_of(customer);
  return kFewest[tier] + customer / 10 % (kMost[tier] - kFewest[tier] + 1);
}

constexpr std::uint32_t account_number(std::uint32_t customer, std::uint32_t index) {
  return customer * kAccountsReserved + index;
}
constexpr std::uint32_t customer_of(std::uint32_t account) { return account / kAccountsReserved; }

/// The company of a security, and which of its issues the security is.
struct Issue {
  std::uint32_t company;
  std::uint32_t issue;
};
constexpr Issue issue_of(std::uint32_t security, const Scale& scale) {
  return {security % scale.companies(), security / scale.companies()};
}

}  // namespace heddle::tpce
