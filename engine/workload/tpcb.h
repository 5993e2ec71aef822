#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/key.h"
#include "storage/storage.h"
#include "workload/tpcb/consistency.h"
#include "workload/tpcb/inputs.h"
#include "workload/tpcb/options.h"
#include "workload/tpcb/schema.h"
#include "workload/tpcb/states.h"
#include "workload/tpcb/tables.h"

namespace heddle {

/// TPC-B (TPC Benchmark B, revision 2.0, 1994): one type, a deposit to or a withdrawal from an
/// account at a teller of a branch. All transactions of a branch write its row.
template <class M>
class Tpcb {
 public:
  using Options = TpcbOptions;
  using Input = tpcb::Input;
  static constexpr std::string_view kName = "tpcb";

  static Signature signature(const Options&) { return tpcb::signature(); }
  static std::vector<std::string> type_names(const Options&) { return {"account_update"}; }

  Tpcb(Storage<M>& storage, const Options& options)
      : options_(options), tables_(storage, options), generator_(options, storage.max_workers()) {}

  void load(std::uint64_t /*seed*/) { tables_.load(options_); }

  void generate(Random& random, int worker, int /*workers*/, std::uint64_t now_us,
                Input& input) const {
    generator_.generate(random, worker, now_us, input);
  }

  static int type_of(const Input&) { return 0; }
  [[nodiscard]] static bool is_snapshot(int /*type*/) { return false; }

  void hints(const Input& input, Hints& hints) const {
    hints.add(tpcb::kUpdateAccount, input.account);
    hints.add(tpcb::kUpdateTeller, input.teller);
    hints.add(tpcb::kUpdateBranch, tpcb::branch_of(input.teller));
    hints.add(tpcb::kInsertHistory, input.history);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& in) {
    using enum tpcb::State;
    const auto add = [&](AccessId read, AccessId update, auto& table, std::uint64_t key) {
      const auto row = txn.read(read, table, make_key(key));
      return row && txn.update(update, table, row,
                               [&](tpcb::Balance& balance) { balance.cents += in.delta_cents; });
    };
    if (!add(kReadAccount, kUpdateAccount, tables_.accounts, in.account) ||
        !add(kReadTeller, kUpdateTeller, tables_.tellers, in.teller) ||
        !add(kReadBranch, kUpdateBranch, tables_.branches, tpcb::branch_of(in.teller))) {
      return txn.stop();
    }
    const tpcb::History row{.account = in.account,
                            .teller = in.teller,
                            .delta_cents = in.delta_cents,
                            .time_us = in.time_us,
                            .filler = {}};
    return txn.insert(kInsertHistory, tables_.history, Key1{{in.history}}, row) ? Outcome::commit
                                                                                : txn.stop();
  }

  /// There is no snapshot type.
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }

  /// One line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return tpcb::ConsistencyCheck<M>(tables_, options_).run();
  }

  [[nodiscard]] tpcb::Tables<M>& tables() { return tables_; }

 private:
  Options options_;
  tpcb::Tables<M> tables_;
  tpcb::InputGenerator generator_;
};

}  // namespace heddle
