#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "workload/bomb/changes.h"
#include "workload/bomb/consistency.h"
#include "workload/bomb/costing.h"
#include "workload/bomb/hints.h"
#include "workload/bomb/inputs.h"
#include "workload/bomb/options.h"
#include "workload/bomb/states.h"
#include "workload/bomb/tables.h"

namespace heddle {

/// BoMB (bill of materials benchmark: Nemoto et al., Oze, PVLDB 18(8), 2025): one long updating
/// transaction, which computes the costs of a factory's products, among five short ones, which
/// change what it reads.
template <class M>
class Bomb {
 public:
  using Options = BombOptions;
  using Input = bomb::Input;
  static constexpr std::string_view kName = "bomb";

  static Signature signature(const Options&) { return bomb::signature(); }
  static std::vector<std::string> type_names(const Options&) {
    return {bomb::kTypeNames.begin(), bomb::kTypeNames.end()};
  }

  Bomb(Storage<M>& storage, const Options& options)
      : options_(options), tables_(storage, options), generator_(options, storage.max_workers()) {}

  /// The seed determines the trees and the products.
  void load(std::uint64_t seed) { tables_.load(options_, seed); }

  void generate(Random& random, int worker, int workers, std::uint64_t /*now_us*/,
                Input& input) const {
    generator_.generate(random, worker, workers, tables_.items, input);
  }

  /// A long transaction that starves holds up the workers of its type only, so what the others draw
  /// meanwhile says nothing of a mix.
  [[nodiscard]] std::optional<double> weight(int type) const { return generator_.weight(type); }

  static int type_of(const Input& input) { return static_cast<int>(input.type); }
  [[nodiscard]] static bool is_snapshot(int /*type*/) { return false; }

  void hints(const Input& input, Hints& hints) const { bomb::add_hints(input, options_, hints); }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    if (input.type == bomb::Type::update_product_cost) {
      return bomb::Costing(txn, tables_, input).run();
    }
    return bomb::Changes(txn, tables_, input, options_).run();
  }

  /// There is no snapshot type.
  template <class Txn>
  Outcome query(Txn&, const Input&) {
    return Outcome::rollback;
  }

  /// One line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return bomb::ConsistencyCheck<M>(tables_, options_).run();
  }

  [[nodiscard]] bomb::Tables<M>& tables() { return tables_; }

 private:
  Options options_;
  bomb::Tables<M> tables_;
  bomb::InputGenerator generator_;
};

}  // namespace heddle
