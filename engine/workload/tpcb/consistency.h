#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "storage/key.h"
#include "workload/tpcb/inputs.h"
#include "workload/tpcb/options.h"
#include "workload/tpcb/schema.h"
#include "workload/tpcb/tables.h"
#include "workload/violations.h"

namespace heddle::tpcb {

/// Checks that each branch, teller and account has the sum of its rows of HISTORY, and that a
/// branch has the sum of its tellers: the consistency conditions of clause 2.3.2, for every row.
/// Quiescent only.
template <class M>
class ConsistencyCheck {
 public:
  ConsistencyCheck(const Tables<M>& tables, const TpcbOptions& options)
      : tables_(tables),
        accounts_(options.branches * options.accounts),
        tellers_(options.branches * kTellersPerBranch),
        branches_(options.branches) {}

  [[nodiscard]] std::vector<std::string> run() {
    add_history();
    compare("account", tables_.accounts, accounts_);
    compare("teller", tables_.tellers, tellers_);
    compare("branch", tables_.branches, branches_);
    return violations_.take();
  }

 private:
  using Sums = std::vector<std::int64_t>;

  void add_history() {
    tables_.history.for_each([&](const Key1& key, const History& row) {
      if (row.account >= accounts_.size() || row.teller >= tellers_.size()) {
        violations_.add("history", "row ", key.words[0], " names rows that do not exist");
        return;
      }
      accounts_[row.account] += row.delta_cents;
      tellers_[row.teller] += row.delta_cents;
      branches_[branch_of(row.teller)] += row.delta_cents;
    });
  }

  void compare(const char* what, const auto& table, const Sums& sums) {
    std::uint64_t rows = 0;
    table.for_each([&](const Key1& key, const Balance& row) {
      ++rows;
      const std::uint64_t number = key.words[0];
      if (number < sums.size() && row.cents == sums[number]) return;
      violations_.add(what, what, " ", number, " has ", row.cents, " cents, its HISTORY holds ",
                      number < sums.size() ? sums[number] : 0);
    });
    if (rows != sums.size()) {
      violations_.add("rows", "there are ", rows, " rows of ", sums.size(), " for each ", what);
    }
  }

  const Tables<M>& tables_;
  Sums accounts_;
  Sums tellers_;
  Sums branches_;
  Violations violations_;
};

}  // namespace heddle::tpcb
