#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "workload/smallbank/consistency.h"
#include "workload/smallbank/hints.h"
#include "workload/smallbank/inputs.h"
#include "workload/smallbank/options.h"
#include "workload/smallbank/states.h"
#include "workload/smallbank/tables.h"
#include "workload/smallbank/transaction.h"

namespace heddle {

/// SmallBank (Alomari et al., "The cost of serializability on platforms that use snapshot
/// isolation", ICDE 2008), with the mix and the hot accounts of OLTP-Bench (Difallah et al., VLDB
/// 2013): short transactions on the savings and checking accounts of one or two customers.
template <class M>
class SmallBank {
 public:
  using Options = SmallBankOptions;
  using Input = smallbank::Input;
  static constexpr std::string_view kName = "smallbank";

  static Signature signature(const Options& options) {
    return options.reads.decided(smallbank::signature(), smallbank::kWritingTypes);
  }

  static std::vector<std::string> type_names(const Options&) {
    return {smallbank::kTypeNames.begin(), smallbank::kTypeNames.end()};
  }

  SmallBank(Storage<M>& storage, const Options& options)
      : reads_(options.reads),
        customers_(options.accounts),
        tables_(storage, options.accounts, options.reads.on_snapshots),
        generator_(options) {}

  /// The seed determines the customers' initial balances.
  void load(std::uint64_t seed) {
    seed_ = seed;
    tables_.load(customers_, seed);
  }

  void generate(Random& random, int /*worker*/, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    generator_.generate(random, input);
  }

  static int type_of(const Input& input) { return static_cast<int>(input.type); }
  [[nodiscard]] bool is_snapshot(int type) const {
    return reads_.on_snapshots && type == static_cast<int>(smallbank::Type::balance);
  }

  void hints(const Input& input, Hints& hints) const {
    if (!is_snapshot(type_of(input))) smallbank::add_hints(input, hints);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    if (input.type == smallbank::Type::balance) return query(txn, input);
    return smallbank::Transaction(txn, tables_, input).run();
  }

  template <class Txn>
  Outcome query(Txn& txn, const Input& input) {
    return smallbank::read_balance(txn, tables_, input, reads_);
  }

  /// One line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return smallbank::ConsistencyCheck<M>(tables_, customers_, seed_).run();
  }

  [[nodiscard]] smallbank::Tables<M>& tables() { return tables_; }

 private:
  Reads reads_;
  std::uint64_t customers_;
  std::uint64_t seed_ = 0;
  smallbank::Tables<M> tables_;
  smallbank::InputGenerator generator_;
};

}  // namespace heddle
