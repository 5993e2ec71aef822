#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/key.h"
#include "workload/smallbank/inputs.h"
#include "workload/smallbank/schema.h"
#include "workload/smallbank/tables.h"
#include "workload/violations.h"

namespace heddle::smallbank {

/// Checks that every cent is accounted for by its source, and that none is lost or doubled in a
/// transfer between customers. Quiescent only.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, std::uint64_t customers, std::uint64_t seed)
      : tables_(tables), customers_(customers), seed_(seed) {}

  [[nodiscard]] std::vector<std::string> run() {
    check_accounts();
    check_savings();
    check_checking();
    expect_none("payments", paid_cents_);
    expect_none("amalgamations", amalgamated_cents_);
    return violations_.take();
  }

 private:
  void expect_rows(const char* table, std::uint64_t rows) {
    if (rows != customers_) {
      violations_.add("rows", table, " has ", rows, " rows for ", customers_, " customers");
    }
  }

  /// The amounts that left accounts must equal those that entered others.
  void expect_none(const char* condition, std::int64_t cents) {
    if (cents != 0) violations_.add(condition, "transfers created ", cents, " cents");
  }

  void check_accounts() {
    std::uint64_t rows = 0;
    tables_.accounts.for_each([&](const Key1& name, const Account& row) {
      ++rows;
      if (row.customer != name.words[0]) {
        violations_.add("accounts", "name ", name.words[0], " stands for customer ", row.customer);
      }
    });
    expect_rows("ACCOUNTS", rows);
  }

  void check_savings() {
    std::uint64_t rows = 0;
    tables_.savings.for_each([&](const Key1& key, const Savings& row) {
      ++rows;
      amalgamated_cents_ += row.amalgamated_cents;
      const std::int64_t due_cents = opening_of(seed_, key.words[0]).savings_cents +
                                     row.transacted_cents + row.amalgamated_cents;
      if (row.balance_cents != due_cents || row.transacted_cents % kTransaction_cents != 0) {
        violations_.add("savings", "customer ", key.words[0], " has ", row.balance_cents,
                        " cents, by its deposits and withdrawals ", due_cents);
      }
      if (row.balance_cents < 0) {
        violations_.add("overdrafts", "customer ", key.words[0], " has ", row.balance_cents,
                        " cents of savings");
      }
    });
    expect_rows("SAVINGS", rows);
  }

  void check_checking() {
    std::uint64_t rows = 0;
    tables_.checking.for_each([&](const Key1& key, const Checking& row) {
      ++rows;
      paid_cents_ += row.paid_cents;
      amalgamated_cents_ += row.amalgamated_cents;
      const std::int64_t due_cents = opening_of(seed_, key.words[0]).checking_cents +
                                     row.deposited_cents + row.paid_cents + row.checks_cents +
                                     row.amalgamated_cents;
      if (row.balance_cents != due_cents || row.deposited_cents % kDeposit_cents != 0 ||
          row.checks_cents > 0) {
        violations_.add("checking", "customer ", key.words[0], " has ", row.balance_cents,
                        " cents, by its deposits and withdrawals ", due_cents);
      }
    });
    expect_rows("CHECKING", rows);
  }

  const Tables<M>& tables_;
  std::uint64_t customers_;
  std::uint64_t seed_;
  std::int64_t paid_cents_ = 0;
  std::int64_t amalgamated_cents_ = 0;
  Violations violations_;
};

}  // namespace heddle::smallbank
