#pragma once

#include <cstdint>

#include "storage/hash_index.h"
#include "storage/key.h"
#include "storage/ordered_index.h"
#include "storage/storage.h"
#include "storage/table.h"
#include "workload/tpcb/inputs.h"
#include "workload/tpcb/options.h"
#include "workload/tpcb/schema.h"

namespace heddle::tpcb {

/// The four tables of TPC-B.
template <class M>
struct Tables {
  Tables(Storage<M>& storage, const TpcbOptions& options)
      : accounts(storage, "ACCOUNTS", options.branches * options.accounts),
        tellers(storage, "TELLERS", options.branches * kTellersPerBranch),
        branches(storage, "BRANCHES", options.branches),
        history(storage, "HISTORY", options.branches * options.accounts) {
    accounts.skip_snapshots();
    tellers.skip_snapshots();
    branches.skip_snapshots();
    history.skip_snapshots();
    history.set_partition_shift(kHistoryBits);
  }

  void load(const TpcbOptions& options) {
    fill(accounts, options.branches * options.accounts);
    fill(tellers, options.branches * kTellersPerBranch);
    fill(branches, options.branches);
  }

  Table<M, Key1, Balance, HashIndex> accounts;
  Table<M, Key1, Balance, HashIndex> tellers;
  Table<M, Key1, Balance, HashIndex> branches;
  Table<M, Key1, History, OrderedIndex> history;

 private:
  static void fill(auto& table, std::uint64_t rows) {
    for (std::uint64_t row = 0; row < rows; ++row) table.load(make_key(row), Balance{});
  }
};

}  // namespace heddle::tpcb
