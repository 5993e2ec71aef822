#pragma once

#include <cstdint>

#include "model/random.h"

/// The rows of SmallBank. Money is in whole cents, so that the consistency conditions hold exactly.
/// In addition to its balance a row keeps the total of all deposits and, as negative amounts,
/// withdrawals, by their source. The benchmark has the balance alone, but then nothing could be
/// checked.
namespace heddle::smallbank {

/// The customer of a name. Key: the name, a number. Never written by transactions.
struct Account {
  std::uint64_t customer;
};
static_assert(sizeof(Account) == 8);

/// Key: the customer.
struct Savings {
  std::int64_t balance_cents;
  std::int64_t transacted_cents;
  std::int64_t amalgamated_cents;
};
static_assert(sizeof(Savings) == 24);

/// Key: the customer.
struct Checking {
  std::int64_t balance_cents;
  std::int64_t deposited_cents;
  std::int64_t paid_cents;  ///< by SendPayment: received from other customers, and sent to them
  std::int64_t checks_cents;
  std::int64_t amalgamated_cents;
};
static_assert(sizeof(Checking) == 40);

/// A customer's initial balance.
struct Opening {
  std::int64_t savings_cents;
  std::int64_t checking_cents;
};

[[nodiscard]] inline Opening opening_of(std::uint64_t seed, std::uint64_t customer) {
  constexpr std::int64_t kLeast_cents = 10'000'00;
  constexpr std::int64_t kMost_cents = 50'000'00;
  Random random = Random::stream(seed, customer);
  const std::int64_t savings_cents = random.between(kLeast_cents, kMost_cents);
  return {savings_cents, random.between(kLeast_cents, kMost_cents)};
}

}  // namespace heddle::smallbank
