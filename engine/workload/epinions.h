#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/hints.h"
#include "model/random.h"
#include "model/signature.h"
#include "protocol/outcome.h"
#include "storage/storage.h"
#include "workload/epinions/consistency.h"
#include "workload/epinions/hints.h"
#include "workload/epinions/inputs.h"
#include "workload/epinions/options.h"
#include "workload/epinions/queries.h"
#include "workload/epinions/states.h"
#include "workload/epinions/tables.h"
#include "workload/epinions/updates.h"

namespace heddle {

/// Epinions (OLTP-Bench: Difallah et al., VLDB 2013): a product-review site with five transaction
/// types that read and four that make one change, with few popular users and items, as in the SMF
/// paper (VLDB 2024, §5).
template <class M>
class Epinions {
 public:
  using Options = EpinionsOptions;
  using Input = epinions::Input;
  static constexpr std::string_view kName = "epinions";

  static Signature signature(const Options& options) {
    return options.reads.decided(epinions::signature(), epinions::kWritingTypes);
  }

  static std::vector<std::string> type_names(const Options&) {
    return {epinions::kTypeNames.begin(), epinions::kTypeNames.end()};
  }

  Epinions(Storage<M>& storage, const Options& options)
      : options_(options), tables_(storage, options), generator_(options) {}

  /// The seed determines the reviewers, the trust edges, and every text and rating.
  void load(std::uint64_t seed) { tables_.load(options_, seed); }

  void generate(Random& random, int /*worker*/, int /*workers*/, std::uint64_t /*now_us*/,
                Input& input) const {
    generator_.generate(random, tables_.reviewers, tables_.trusted, input);
  }

  static int type_of(const Input& input) { return static_cast<int>(input.type); }
  [[nodiscard]] bool is_snapshot(int type) const {
    return options_.reads.on_snapshots && only_reads(type);
  }

  void hints(const Input& input, Hints& hints) const {
    if (!is_snapshot(type_of(input))) epinions::add_hints(input, hints);
  }

  template <class Txn>
  Outcome execute(Txn& txn, const Input& input) {
    if (only_reads(type_of(input))) return query(txn, input);
    return epinions::run_update(txn, tables_, input);
  }

  template <class Txn>
  Outcome query(Txn& txn, const Input& input) {
    return epinions::Queries(txn, tables_, input, options_.reads).run();
  }

  /// One line per violation. Quiescent only.
  [[nodiscard]] std::vector<std::string> check() const {
    return epinions::ConsistencyCheck<M>(tables_, options_).run();
  }

  [[nodiscard]] epinions::Tables<M>& tables() { return tables_; }

 private:
  static bool only_reads(int type) { return type >= static_cast<int>(epinions::kWritingTypes); }

  Options options_;
  epinions::Tables<M> tables_;
  epinions::InputGenerator generator_;
};

}  // namespace heddle
