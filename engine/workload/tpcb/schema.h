#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

/// The rows of TPC-B. Balances begin at zero and are whole cents, so that the consistency
/// conditions hold exactly. Fillers bring the rows to the least sizes of clause 3.2.
namespace heddle::tpcb {

inline constexpr std::uint64_t kTellersPerBranch = 10;

/// Of a branch (key: its number), a teller (branch · 10 + number) or an account (branch · accounts
/// of a branch + number).
struct Balance {
  static constexpr std::size_t kFiller = 96;

  std::int64_t cents;
  std::array<std::byte, kFiller> filler;
};
static_assert(sizeof(Balance) == 104);

/// Key: history_key().
struct History {
  static constexpr std::size_t kFiller = 24;

  std::uint64_t account;
  std::uint64_t teller;
  std::int64_t delta_cents;
  std::uint64_t time_us;
  std::array<std::byte, kFiller> filler;
};
static_assert(sizeof(History) == 56);

}  // namespace heddle::tpcb
