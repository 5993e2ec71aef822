#pragma once

#include <cstdint>
#include <optional>

#include "model/random.h"
#include "workload/smallbank/options.h"
#include "workload/smallbank/states.h"
#include "workload/zipf.h"

namespace heddle::smallbank {

struct Input {
  Type type;
  std::uint32_t customer;  ///< the customer's name
  std::uint32_t other;     ///< the second customer, if there is one: the receiver
  std::int64_t amount_cents;
};

/// The amounts are OLTP-Bench's except for two, without which the bank would be out of money after
/// seconds and most transactions would roll back. A deposit (there 1.30) outweighs a check with its
/// penalty, and TransactSavings (there always a withdrawal) deposits as often as it withdraws;
/// Alomari et al. leave both open.
inline constexpr std::int64_t kDeposit_cents = 6'00;
inline constexpr std::int64_t kPayment_cents = 5'00;
inline constexpr std::int64_t kTransaction_cents = 20'20;
inline constexpr std::int64_t kCheck_cents = 5'00;
inline constexpr std::int64_t kPenalty_cents = 1'00;

/// Draws inputs.
class InputGenerator {
 public:
  explicit InputGenerator(const SmallBankOptions& options) : options_(options) {
    if (options.skew == SmallBankOptions::Skew::zipf)
      zipf_.emplace(options.accounts, options.theta);
  }

  void generate(Random& random, Input& input) const {
    input.type = static_cast<Type>(options_.mix.draw(random));
    draw_customers(random, input);
    switch (input.type) {
      case Type::deposit_checking: input.amount_cents = kDeposit_cents; return;
      case Type::send_payment: input.amount_cents = kPayment_cents; return;
      case Type::transact_savings:
        input.amount_cents = random.below(2) == 0 ? kTransaction_cents : -kTransaction_cents;
        return;
      case Type::write_check: input.amount_cents = kCheck_cents; return;
      case Type::amalgamate:
      case Type::balance: input.amount_cents = 0; return;
    }
  }

 private:
  /// Two different customers; with a hotspot both are in it or, mostly, neither.
  void draw_customers(Random& random, Input& input) const {
    if (zipf_) {
      input.customer = static_cast<std::uint32_t>((*zipf_)(random));
      do {
        input.other = static_cast<std::uint32_t>((*zipf_)(random));
      } while (input.other == input.customer);
      return;
    }
    const bool hot = random.below(100) < static_cast<std::uint64_t>(options_.hot_share);
    const std::uint64_t among = hot ? options_.hot_accounts : options_.accounts;
    const std::uint64_t one = random.below(among);
    input.customer = static_cast<std::uint32_t>(one);
    input.other = static_cast<std::uint32_t>((one + 1 + random.below(among - 1)) % among);
  }

  SmallBankOptions options_;
  std::optional<Zipf> zipf_;
};

}  // namespace heddle::smallbank
