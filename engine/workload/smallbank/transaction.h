#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "protocol/outcome.h"
#include "protocol/row.h"
#include "storage/key.h"
#include "workload/smallbank/inputs.h"
#include "workload/smallbank/schema.h"
#include "workload/smallbank/states.h"
#include "workload/smallbank/tables.h"

namespace heddle::smallbank {

/// The five types that write (Alomari et al., ICDE 2008, §3.1).
template <class Txn, class M>
class Transaction {
 public:
  Transaction(Txn& txn, Tables<M>& tables, const Input& input)
      : txn_(txn), tables_(tables), in_(input) {}

  Outcome run() {
    switch (in_.type) {
      case Type::amalgamate: return amalgamate();
      case Type::deposit_checking: return deposit_checking();
      case Type::send_payment: return send_payment();
      case Type::transact_savings: return transact_savings();
      case Type::write_check: return write_check();
      case Type::balance: break;
    }
    return Outcome::rollback;  // reads: see read_balance()
  }

 private:
  static constexpr std::size_t kFrom = 0;
  static constexpr std::size_t kTo = 1;

  Outcome ended(bool done) const { return done ? Outcome::commit : txn_.stop(); }

  /// Moves all money of a customer to another's checking account.
  Outcome amalgamate() {
    if (!look_up_both(kAmalgamateReadAccount)) return txn_.stop();
    const auto savings = txn_.read(kAmalgamateReadSavings, tables_.savings, make_key(ids_[kFrom]));
    if (!savings) return txn_.stop();
    const std::int64_t saved_cents = savings->balance_cents;
    if (!txn_.update(kAmalgamateUpdateSavings, tables_.savings, savings, [](Savings& row) {
          row.amalgamated_cents -= row.balance_cents;
          row.balance_cents = 0;
        })) {
      return txn_.stop();
    }
    if (!read_both(kAmalgamateReadChecking)) return txn_.stop();
    const std::int64_t checking_cents = rows_[kFrom]->balance_cents;
    return ended(update_both(kAmalgamateUpdateChecking, [&](std::size_t who, Checking& row) {
      const std::int64_t change = who == kFrom ? -checking_cents : saved_cents + checking_cents;
      row.amalgamated_cents += change;
      row.balance_cents += change;
    }));
  }

  Outcome deposit_checking() {
    if (!look_up(kDepositCheckingReadAccount)) return txn_.stop();
    return ended(change_checking(kDepositCheckingReadChecking, kDepositCheckingUpdateChecking,
                                 in_.amount_cents, &Checking::deposited_cents));
  }

  /// Transfers from a checking account to another; it must not be overdrawn.
  Outcome send_payment() {
    if (!look_up_both(kSendPaymentReadAccount) || !read_both(kSendPaymentReadChecking)) {
      return txn_.stop();
    }
    if (rows_[kFrom]->balance_cents < in_.amount_cents) return Outcome::rollback;
    return ended(update_both(kSendPaymentUpdateChecking, [&](std::size_t who, Checking& row) {
      const std::int64_t change = who == kFrom ? -in_.amount_cents : in_.amount_cents;
      row.paid_cents += change;
      row.balance_cents += change;
    }));
  }

  /// Deposits to the savings account or withdraws from it; it must not be overdrawn.
  Outcome transact_savings() {
    if (!look_up(kTransactSavingsReadAccount)) return txn_.stop();
    const auto savings =
        txn_.read(kTransactSavingsReadSavings, tables_.savings, make_key(ids_[kFrom]));
    if (!savings) return txn_.stop();
    if (savings->balance_cents + in_.amount_cents < 0) return Outcome::rollback;
    return ended(
        txn_.update(kTransactSavingsUpdateSavings, tables_.savings, savings, [&](Savings& row) {
          row.transacted_cents += in_.amount_cents;
          row.balance_cents += in_.amount_cents;
        }));
  }

  /// A customer whose total balance is less than the check pays a penalty.
  Outcome write_check() {
    if (!look_up(kWriteCheckReadAccount)) return txn_.stop();
    const auto savings = txn_.read(kWriteCheckReadSavings, tables_.savings, make_key(ids_[kFrom]));
    if (!savings) return txn_.stop();
    const auto checking =
        txn_.read(kWriteCheckReadChecking, tables_.checking, make_key(ids_[kFrom]));
    if (!checking) return txn_.stop();
    const bool covered = savings->balance_cents + checking->balance_cents >= in_.amount_cents;
    const std::int64_t cost_cents = in_.amount_cents + (covered ? 0 : kPenalty_cents);
    return ended(
        txn_.update(kWriteCheckUpdateChecking, tables_.checking, checking, [&](Checking& row) {
          row.checks_cents -= cost_cents;
          row.balance_cents -= cost_cents;
        }));
  }

  bool look_up(AccessId state, std::size_t who = kFrom) {
    const auto account =
        txn_.read(state, tables_.accounts, make_key(who == kFrom ? in_.customer : in_.other));
    if (account) ids_[who] = account->customer;
    return static_cast<bool>(account);
  }

  bool look_up_both(AccessId state) {
    if (!look_up(state, kFrom) || !look_up(state, kTo)) return false;
    txn_.passed(state);
    return true;
  }

  /// The customers in the order of their numbers, so that two-phase locking avoids aborts.
  [[nodiscard]] std::array<std::size_t, 2> in_order() const {
    return ids_[kFrom] < ids_[kTo] ? std::array{kFrom, kTo} : std::array{kTo, kFrom};
  }

  bool read_both(AccessId state) {
    for (const std::size_t who : in_order()) {
      rows_[who] = txn_.read(state, tables_.checking, make_key(ids_[who]));
      if (!rows_[who]) return false;
    }
    txn_.passed(state);
    return true;
  }

  template <class F>
  bool update_both(AccessId state, F change) {
    for (const std::size_t who : in_order()) {
      if (!txn_.update(state, tables_.checking, rows_[who],
                       [&](Checking& row) { change(who, row); })) {
        return false;
      }
    }
    txn_.passed(state);
    return true;
  }

  bool change_checking(AccessId read, AccessId update, std::int64_t change_cents,
                       std::int64_t Checking::* account) {
    const auto checking = txn_.read(read, tables_.checking, make_key(ids_[kFrom]));
    return checking && txn_.update(update, tables_.checking, checking, [&](Checking& row) {
      row.*account += change_cents;
      row.balance_cents += change_cents;
    });
  }

  Txn& txn_;
  Tables<M>& tables_;
  const Input& in_;
  std::array<std::uint64_t, 2> ids_{};
  std::array<Row<Checking>, 2> rows_{};
};

/// BALANCE: the sum of a customer's two accounts.
template <class Txn, class M>
Outcome read_balance(Txn& txn, Tables<M>& tables, const Input& input, Reads reads) {
  const auto account =
      txn.read(reads.state(kBalanceReadAccount), tables.accounts, make_key(input.customer));
  if (!account) return txn.stop();
  const Key1 key = make_key(account->customer);
  if (!txn.read(reads.state(kBalanceReadSavings), tables.savings, key)) return txn.stop();
  return txn.read(reads.state(kBalanceReadChecking), tables.checking, key) ? Outcome::commit
                                                                           : txn.stop();
}

}  // namespace heddle::smallbank
