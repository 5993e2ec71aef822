#pragma once

#include <cstdint>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/smallbank/schema.h"

namespace heddle::smallbank {

/// The three tables of SmallBank.
template <class M>
struct Tables {
  Tables(Storage<M>& storage, std::uint64_t customers, bool snapshots)
      : accounts(storage, "ACCOUNTS", customers),
        savings(storage, "SAVINGS", customers),
        checking(storage, "CHECKING", customers) {
    if (snapshots) return;
    accounts.skip_snapshots();
    savings.skip_snapshots();
    checking.skip_snapshots();
  }

  void load(std::uint64_t customers, std::uint64_t seed) {
    for (std::uint64_t customer = 0; customer < customers; ++customer) {
      const Opening opening = opening_of(seed, customer);
      accounts.load(make_key(customer), Account{customer});
      savings.load(
          make_key(customer),
          {.balance_cents = opening.savings_cents, .transacted_cents = 0, .amalgamated_cents = 0});
      checking.load(make_key(customer), {.balance_cents = opening.checking_cents,
                                         .deposited_cents = 0,
                                         .paid_cents = 0,
                                         .checks_cents = 0,
                                         .amalgamated_cents = 0});
    }
  }

  Table<M, Key1, Account, HashIndex> accounts;
  Table<M, Key1, Savings, HashIndex> savings;
  Table<M, Key1, Checking, HashIndex> checking;
};

}  // namespace heddle::smallbank
