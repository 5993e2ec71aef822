#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "model/signature.h"
#include "protocol/outcome.h"

namespace heddle::smallbank {

/// In the order of their states; `balance` only reads.
enum class Type : std::uint8_t {
  amalgamate,
  deposit_checking,
  send_payment,
  transact_savings,
  write_check,
  balance,
};
inline constexpr std::size_t kTypes = 6;
inline constexpr std::size_t kWritingTypes = 5;
inline constexpr std::array<std::string_view, kTypes> kTypeNames{
    "amalgamate", "deposit_checking", "send_payment", "transact_savings", "write_check", "balance"};

/// A transaction on two customers accesses their rows in one loop, in the order of their numbers.
enum State : AccessId {
  kAmalgamateReadAccount,
  kAmalgamateReadSavings,
  kAmalgamateUpdateSavings,
  kAmalgamateReadChecking,
  kAmalgamateUpdateChecking,

  kDepositCheckingReadAccount,
  kDepositCheckingReadChecking,
  kDepositCheckingUpdateChecking,

  kSendPaymentReadAccount,
  kSendPaymentReadChecking,
  kSendPaymentUpdateChecking,

  kTransactSavingsReadAccount,
  kTransactSavingsReadSavings,
  kTransactSavingsUpdateSavings,

  kWriteCheckReadAccount,
  kWriteCheckReadSavings,
  kWriteCheckReadChecking,
  kWriteCheckUpdateChecking,

  kBalanceReadAccount,
  kBalanceReadSavings,
  kBalanceReadChecking,
};

/// The signature of all six types.
[[nodiscard]] inline Signature signature() {
  using enum AccessKind;
  const auto account = [](bool loop) { return AccessSpec{"read_account", "ACCOUNTS", read, loop}; };
  const AccessSpec read_savings{"read_savings", "SAVINGS", read};
  const AccessSpec update_savings{"update_savings", "SAVINGS", update};
  const auto read_checking = [](bool loop) {
    return AccessSpec{"read_checking", "CHECKING", read, loop};
  };
  const auto update_checking = [](bool loop) {
    return AccessSpec{"update_checking", "CHECKING", update, loop};
  };
  return {
      "smallbank",
      {{"amalgamate",
        {account(true), read_savings, update_savings, read_checking(true), update_checking(true)}},
       {"deposit_checking", {account(false), read_checking(false), update_checking(false)}},
       {"send_payment", {account(true), read_checking(true), update_checking(true)}},
       {"transact_savings", {account(false), read_savings, update_savings}},
       {"write_check",
        {account(false), read_savings, read_checking(false), update_checking(false)}},
       {"balance", {account(false), read_savings, read_checking(false)}}}};
}

}  // namespace heddle::smallbank
