#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "model/random.h"
#include "workload/tpce/scale.h"

namespace heddle::tpce {

/// Draws a customer. Of the transactions a tenth is for the first tier, six tenths for the second,
/// three tenths for the third, so that a customer of a higher tier trades more.
inline std::uint32_t random_customer(Random& random, const Scale& scale) {
  const std::uint64_t bits = random.next();
  const std::uint32_t share = Random::scale(static_cast<std::uint32_t>(bits), 100);
  const std::uint32_t place = share < 10   ? share / 5
                              : share < 70 ? 2 + (share - 10) / 10
                                           : 8 + (share - 70) / 15;
  const std::uint32_t ten =
      Random::scale(static_cast<std::uint32_t>(bits >> 32), scale.customers / 10);
  return 10 * ten + place;
}

/// Draws an account of a random customer.
inline std::uint32_t random_account(Random& random, const Scale& scale) {
  const std::uint32_t customer = random_customer(random, scale);
  return account_number(customer, static_cast<std::uint32_t>(random.below(accounts_of(customer))));
}

/// The people other than the owner who may trade for an account: none for 60 % of the accounts, one
/// for 38 %, two for 2 %.
struct Permitted {
  std::size_t count = 0;
  std::array<std::uint32_t, 2> people;
};
inline Permitted permitted(std::uint32_t account, const Scale& scale) {
  Random random(account);
  const std::uint64_t share = random.below(100);
  Permitted found{.count = share < 60 ? 0U : share < 98 ? 1U : 2U, .people = {}};
  const auto first = static_cast<std::uint32_t>(random.below(scale.customers - 2));
  // Neither the owner nor twice the same.
  for (std::size_t i = 0; i < found.count; ++i) {
    found.people[i] =
        (customer_of(account) + 1 + first + static_cast<std::uint32_t>(i)) % scale.customers;
  }
  return found;
}

}  // namespace heddle::tpce
